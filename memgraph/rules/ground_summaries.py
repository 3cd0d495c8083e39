"""Rewrite summaries, and keep only what is known in them: a new sentence must rest on facts."""

from __future__ import annotations

from dataclasses import replace

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.parts import Sources
from memgraph.analysis.sentences import cut_at_sentence, sentences
from memgraph.analysis.tokens import count_tokens
from memgraph.models import MANUAL, MemoryDocument, Refusal, Rewrite, Section
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.rules.add import is_placeholder
from memgraph.rules.draft import Draft


def rewrite(draft: Draft) -> Draft:
    """Replace each rewritten summary, unless it was changed after the model saw it."""
    for change in draft.changes.rewrites:
        draft = _rewrite_section(draft, change)
    return draft


def _rewrite_section(draft: Draft, change: Rewrite) -> Draft:
    current = draft.memory.section(change.section)
    if change.section not in draft.policy.section_names and not change.edited_by_user:
        return draft.with_refusal(change.section, "it is not one of the summaries")
    summary = change.summary.strip()
    if not change.edited_by_user:
        if is_placeholder(summary):
            return draft.with_refusal(change.section, "the new summary says nothing")
        summary = cut_summary(summary, draft.policy.summary_tokens(change.section))
    if not summary or summary == current.summary:
        return draft
    if current.summary != change.base:
        return draft.with_refusal(change.section, "the summary was changed by another writer meanwhile")
    source = MANUAL if change.edited_by_user else ""
    written = {"summary": summary, "updated_at": draft.changes.at, "source": source}
    section = Section.model_validate(current.model_dump() | written)
    return replace(draft, memory=draft.memory.with_section(change.section, section))


def cut_summary(summary: str, max_tokens: int) -> str:
    """Return *summary* cut at the end of a sentence, if possible, to at most *max_tokens* tokens."""
    return cut_at_sentence(summary.strip(), max_tokens, count_tokens).strip()


# -- grounding --------------------------------------------------------------------------------------

REASON = "it states more than the facts that it rests on"


def ground_summaries(draft: Draft) -> Draft:
    """Leave out the sentences of new summaries that add to the facts; a summary without any other is not rewritten.

    A sentence rests on known facts and on the additions that `ground` has accepted, and has no word, denial, time or
    person that they have not. What was in the summary before stays. Summaries that a reviewer wrote pass.
    """
    if draft.policy.grounding == "off" or not draft.changes.rewrites:
        return draft
    facts = Sources([one.content for one in (*draft.changes.additions, *draft.memory.facts)])
    current = with_current_summaries(draft.memory)
    rewrites: list[Rewrite] = []
    refused: list[Refusal] = []
    for rewrite in draft.changes.rewrites:
        kept, dropped = ([rewrite.summary], []) if rewrite.edited_by_user else _split(rewrite, draft, current, facts)
        refused += [Refusal(item=sentence.strip(), reason=REASON) for sentence in dropped]
        if kept:
            rewrites.append(rewrite.model_copy(update={"summary": "".join(kept)}) if dropped else rewrite)
    changes = draft.changes.model_copy(update={"rewrites": tuple(rewrites)})
    return replace(draft, changes=changes, refused=(*draft.refused, *refused))


def _split(rewrite: Rewrite, draft: Draft, current: MemoryDocument, facts: Sources) -> tuple[list[str], list[str]]:
    """Return the sentences of a summary that rest on *facts*, or still hold of *current*, and the others."""
    is_base = rewrite.base == draft.memory.section(rewrite.section).summary
    before = current.section(rewrite.section).summary if is_base else rewrite.base
    known = frozenset(map(fact_key, sentences(before)))
    kept, dropped = list[str](), list[str]()
    for sentence in sentences(cut_summary(rewrite.summary, draft.policy.summary_tokens(rewrite.section))):
        holds = fact_key(sentence) in known or facts.hold(sentence)
        (kept if holds else dropped).append(sentence)
    return kept, dropped
