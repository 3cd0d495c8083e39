"""Merge known facts that state the same into one, without losing their content or evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memgraph.models import Evidence, Fact, Merge
from memgraph.rules.add import is_placeholder
from memgraph.rules.draft import Draft
from memgraph.rules.support import Support
from memgraph.text.admission import problem_of
from memgraph.text.normalize import fact_key


def ground_merges(draft: Draft) -> Draft:
    """Refuse merges of facts that the prompt did not show, or whose wording adds or loses something.

    The wording may have only the names, numbers and words of its facts, and has to have those of each of them.
    """
    merges: list[Merge] = []
    for merge in draft.changes.merges:
        if problem := _problem(draft, merge):
            draft = draft.with_refusal(merge.content, problem)
        else:
            merges.append(merge)
    return replace(draft, changes=draft.changes.model_copy(update={"merges": tuple(merges)}))


def merge_groups(draft: Draft) -> Draft:
    """Give the fact that stays the wording, evidence, dates and confirmations of its group; the others are past.

    A manual fact stays as it is, and never becomes past.
    """
    for merge in draft.changes.merges:
        kept, merged = draft.memory.fact(merge.id), _learned(draft, merge)
        if kept is None or not merged:
            continue  # this change set was applied before, or a fact was removed meanwhile
        fact = kept if kept.is_manual else merge_facts(kept, merged, merge.content)
        facts = tuple(fact if known.id == kept.id else known for known in draft.memory.facts)
        draft = replace(draft, memory=draft.memory.with_facts(facts))
        draft = draft.end_facts([one.id for one in merged], "merged", why=f"merged into {kept.id}", by=kept.id)
    return draft


def _learned(draft: Draft, merge: Merge) -> list[Fact]:
    """Return the facts that *merge* makes past."""
    found = (draft.memory.fact(fact_id) for fact_id in dict.fromkeys(merge.merged) if fact_id != merge.id)
    return [fact for fact in found if fact and not fact.is_manual]


def _problem(draft: Draft, merge: Merge) -> str | None:
    """Return why *merge* is refused; None if it is accepted."""
    kept, merged = draft.memory.fact(merge.id), _learned(draft, merge)
    if kept is None or not merged:
        return "there are no such facts to merge"
    group = [kept, *merged]
    if draft.shown_ids is not None and not draft.shown_ids.issuperset(fact.id for fact in group):
        return "the prompt did not show these facts"
    return _wording_problem(draft, merge.content.strip(), group)


def _wording_problem(draft: Draft, content: str, group: Sequence[Fact]) -> str | None:
    """Return why *group* cannot have the wording *content*; None if it can."""
    if not content or is_placeholder(content):
        return "it has no content"
    if len(content) > draft.policy.max_fact_chars:
        return f"it has more than {draft.policy.max_fact_chars:,} characters"
    is_new = fact_key(content) not in {fact_key(fact.content) for fact in group}
    if is_new and (problem := problem_of(content)):
        return problem
    return None if draft.policy.grounding == "off" else _difference(content, group)


def _difference(content: str, group: Sequence[Fact]) -> str | None:
    """Return what *content* adds to the wordings of *group*, or lacks of one of them; None for nothing."""
    if Support([fact.content for fact in group]).missing_from(content, "lenient"):
        return "it adds something to the facts that it merges"
    wording = Support([content])
    lost = any(wording.missing_from(fact.content, "strict") for fact in group)
    return "it loses something of the facts that it merges" if lost else None


def merge_facts(kept: Fact, merged: Sequence[Fact], content: str) -> Fact:
    """Return *kept* with the wording *content*, and with all that the *merged* facts rest on, of the weakest origin."""
    group = [kept, *merged]
    origins = [fact.origin for fact in group if fact.origin]
    correction = next((fact for fact in group if fact.category == "correction"), None)
    seen = [*(fact.last_confirmed_at for fact in group), *(fact.created_at for fact in merged)]
    return kept.model_copy(
        update={
            "content": content.strip(),
            "category": correction.category if correction else kept.category,
            "source_error": correction.source_error if correction else None,
            "confidence": max(fact.confidence for fact in group),
            "created_at": _earliest(fact.created_at for fact in group),
            "said_at": _earliest(fact.said_at for fact in group),
            "last_confirmed_at": max(seen),
            "confirmations": len(merged) + sum(fact.confirmations for fact in group),
            "evidence": _all_evidence(group),
            "replaces": tuple(dict.fromkeys(old for fact in group for old in fact.replaces)),
            "origin": "tool" if "tool" in origins else next(iter(origins), None),
            "slot": next((fact.slot for fact in group if fact.slot), None),
            "valid_from": next((fact.valid_from for fact in group if fact.valid_from), ""),
            "valid_until": next((fact.valid_until for fact in group if fact.valid_until), ""),
        }
    )


def _earliest(times: Iterable[str]) -> str:
    return min(filter(None, times), default="")


def _all_evidence(group: Sequence[Fact]) -> tuple[Evidence, ...]:
    """Return every quote of *group*, each once."""
    return tuple({(one.episode, fact_key(one.quote)): one for fact in group for one in fact.evidence}.values())
