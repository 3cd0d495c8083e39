"""Merge groups of facts, and additions that state what is known, or what another addition states, in other words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from memgraph.analysis.admission import problem_of
from memgraph.analysis.normalize import fact_key, fold
from memgraph.analysis.similarity import SimilarityIndex, is_richer, sentence_similarity
from memgraph.analysis.uploads import mentions_upload
from memgraph.models import Addition, Evidence, Fact, Merge
from memgraph.models.dates import days_of
from memgraph.rules.add import cut_content, is_placeholder, merge_evidence, rejection_reason
from memgraph.rules.draft import Draft
from memgraph.rules.support import Support

SAME = 0.8
"""Minimum similarity of two sentences that state the same fact, measured by benchmarks/duplicates.py."""


def merge(draft: Draft) -> Draft:
    """Give an addition and the known fact that it repeats one wording, the richer one, so that `add` confirms the fact.

    The fact keeps its id, and a fixed one its wording: what adds to it is added. Of additions
    that repeat each other the first remains, with the richer wording and the quotes of all. What a reviewer wrote stays
    as it is, and so does what replaces a fact: the model has seen both. What the model, or the embedding model, found
    to repeat a fact does so, however little they are alike.
    """
    known, known_ids = KnownFacts(draft.memory.facts), {fact.id for fact in draft.memory.facts}
    kept: list[Addition] = []
    for addition in draft.changes.additions:
        if addition.edited_by_user or addition.id in known_ids or not _is_acceptable(addition, draft):
            kept.append(addition)
        elif same := draft.memory.fact(addition.repeats) or _known(known, addition, draft):
            draft, worded = _with_one_wording(draft, same.id, addition)
            kept.append(worded)
        elif (position := _position_of_same(kept, addition, draft)) is not None:
            wordings = {kept[position].content, addition.content}
            kept[position] = _join(kept[position], addition)
            dropped = wordings - {kept[position].content}
            draft = draft.with_refusal(dropped.pop() if dropped else addition.content, "already known")
        else:
            kept.append(addition)
    return draft.with_additions(kept)


class KnownFacts:
    """Finds the fact that an addition repeats. It reads the facts when it is first asked.

    Args:
        facts: The facts of a memory.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts

    @cached_property
    def _index(self) -> SimilarityIndex:
        return SimilarityIndex([fact.content for fact in self._facts], [fact.derive(_folded) for fact in self._facts])

    def find(self, addition: Addition) -> Fact | None:
        """Return the fact that states what *addition* states, the most similar one; None if there is none."""
        return next(iter(self.alike(addition, SAME)), None)

    def alike(self, addition: Fact | Addition, threshold: float) -> list[Fact]:
        """Return the facts that *addition* may repeat with a similarity of at least *threshold*, the highest first."""
        alike = (self._facts[found.position] for found in self._index.find(addition.content, threshold))
        return [fact for fact in alike if may_be_same(addition, fact)]


def _folded(fact: Fact) -> str:
    return fold(fact.content)


def _known(known: KnownFacts, addition: Addition, draft: Draft) -> Fact | None:
    """Return the fact that *addition* repeats; None if it replaces one, or adds to a fixed one."""
    same = None if addition.replaces else known.find(addition)
    if same and draft.is_fixed(same) and is_richer(cut_content(addition, draft.policy), same.content):
        return None
    return same


def _is_acceptable(addition: Addition, draft: Draft) -> bool:
    return rejection_reason(addition, draft.policy) is None and not mentions_upload(addition.content)


def may_be_same(addition: Fact | Addition, other: Fact | Addition) -> bool:
    """Return whether nothing but the wording keeps two similar facts apart; a correction may deny what it repeats."""
    if other.id in addition.replaces or (addition.category == "correction") != (other.category == "correction"):
        return False
    if addition.slot and other.slot and addition.slot != other.slot:
        return False
    if bool(addition.valid_until) != bool(other.valid_until):
        return False
    dates = ((addition.valid_from, other.valid_from), (addition.valid_until, other.valid_until))
    return all(_overlap(ours, theirs) for ours, theirs in dates)


def _overlap(one: str, other: str) -> bool:
    """Return whether two dates may be the same day, or one of them is not known."""
    ours, theirs = days_of(one), days_of(other)
    return ours is None or theirs is None or (ours.first <= theirs.last and theirs.first <= ours.last)


def _position_of_same(additions: Sequence[Addition], addition: Addition, draft: Draft) -> int | None:
    """Return the position of the acceptable addition that states what *addition* states; None if there is none."""
    for position, other in enumerate(additions):
        is_linked = set(addition.replaces) != set(other.replaces)
        is_equal = fact_key(other.content) == fact_key(addition.content)
        if is_linked or is_equal or other.edited_by_user or not may_be_same(addition, other):
            continue
        if sentence_similarity(other.content, addition.content) >= SAME and _is_acceptable(other, draft):
            return position
    return None


def _join(addition: Addition, other: Addition) -> Addition:
    """Return *addition* with what *other*, which repeats it, adds."""
    content = other.content if is_richer(other.content, addition.content) else addition.content
    return addition.model_copy(
        update={
            "content": content,
            "confidence": max(addition.confidence, other.confidence),
            "evidence": merge_evidence(addition.evidence, other.evidence),
            "replaces": tuple(dict.fromkeys((*addition.replaces, *other.replaces))),
            "slot": addition.slot or other.slot,
            "valid_from": addition.valid_from or other.valid_from,
            "valid_until": addition.valid_until or other.valid_until,
        }
    )


def _with_one_wording(draft: Draft, fact_id: str, addition: Addition) -> tuple[Draft, Addition]:
    """Return the draft and the addition with one wording: the user's instead of a tool's, else the richer one."""
    fact = draft.memory.fact(fact_id)
    if fact is None or fact_key(fact.content) == fact_key(addition.content):
        return draft, addition
    content = cut_content(addition, draft.policy)
    is_reported = fact.origin == "tool" and draft.changes.origin is None
    if draft.is_fixed(fact) or not (is_reported or is_richer(content, fact.content)):
        return draft, addition.model_copy(update={"content": fact.content})
    reworded = {"content": content}
    return draft.with_fact(fact.model_copy(update=reworded)), addition.model_copy(update=reworded)


# -- groups -----------------------------------------------------------------------------------------


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
        draft = draft if kept.is_manual else draft.with_fact(merge_facts(kept, merged, merge.content))
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
