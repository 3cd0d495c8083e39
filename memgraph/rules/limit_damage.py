"""Limit the damage of one update: what it removes, replaces and evicts, and how much of a summary it rewrites."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from memgraph.models import Addition, MemoryDocument, Merge, Removal, Rewrite
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.retrieval.terms import content_terms
from memgraph.rules.add import rejection_reason
from memgraph.rules.draft import Draft, SetAside
from memgraph.rules.pending import hold
from memgraph.text.uploads import mentions_upload

MIN_LIMIT = 5
"""Learned facts that an update of a small memory may remove, replace and evict."""
SHARE = 0.2
"""The share of the learned facts that an update may remove, replace and evict."""
MIN_KEPT_SHARE = 0.5
"""The least share of the content words of a summary that are still valid, which its new text has."""


BY_TOOL = "a tool asks for it, and no conversation shows that the user does"


class _Split(NamedTuple):
    """The changes of an update within the limit, and those beyond it."""

    additions: list[Addition]
    removals: list[Removal]
    rewrites: list[Rewrite]


def damage_limit(memory: MemoryDocument) -> int:
    """Return how many learned facts of *memory* one update may remove, replace and evict."""
    return max(MIN_LIMIT, int(SHARE * sum(not fact.is_manual for fact in memory.facts)))


def limit_damage(draft: Draft) -> Draft:
    """Hold back what exceeds the limit, as one pending change.

    Additions come first, in their order: what is replaced is not lost. A claim that is kept as said stays, and ends
    nothing beyond the limit. Evictions count too: `evict` may use what the
    others leave. A tool that only reports what the user said may remove nothing, not even a word of a summary.
    """
    limit = 0 if draft.changes.origin else damage_limit(draft.memory)
    within, beyond = _Split([], [], []), _Split([], [], [])
    draft, lost = _limit_merges(draft, limit)
    for addition in draft.changes.additions:
        cost = lost.union(_replaced(draft, addition))
        fits = len(cost) <= limit or addition.edited_by_user
        (within if fits else beyond).additions.append(addition)
        lost = cost if fits else lost
    set_aside: list[SetAside] = []
    for one in draft.as_said:
        cost = lost.union(_replaced(draft, one.addition))
        fits = len(cost) <= limit
        set_aside.append(one if fits else one.ending(()))
        beyond.removals.extend(Removal(id=old) for old in one.addition.replaces if not fits)
        lost = cost if fits else lost
    for removal in draft.changes.removals:
        cost = lost.union(_learned(draft.memory, (removal.id,)))
        fits = len(cost) <= limit or removal.edited_by_user
        (within if fits else beyond).removals.append(removal)
        lost = cost if fits else lost
    current = with_current_summaries(draft.memory) if draft.changes.rewrites else draft.memory
    for rewrite in draft.changes.rewrites:
        fits = _keeps_enough(rewrite, current, lost, share=1 if draft.changes.origin else MIN_KEPT_SHARE)
        (within if fits else beyond).rewrites.append(rewrite)
    changes = draft.changes.model_copy(update={name: tuple(part) for name, part in within._asdict().items()})
    reason = f"one update may remove, replace and evict at most {limit} facts, and has to keep half of a summary"
    draft = replace(draft, changes=changes, as_said=tuple(set_aside), removable=limit)
    return hold(draft, BY_TOOL if draft.changes.origin else reason, **beyond._asdict())


def _limit_merges(draft: Draft, limit: int) -> tuple[Draft, set[str]]:
    """Return *draft* with the merges within the limit, and the facts that they move to the past."""
    merges: list[Merge] = []
    lost: set[str] = set()
    for merge in draft.changes.merges:
        cost = lost.union(_learned(draft.memory, merge.merged) - {merge.id})
        if len(cost) <= limit:
            merges.append(merge)
            lost = cost
        else:
            draft = draft.with_refusal(merge.content, f"one update may remove, replace and evict at most {limit} facts")
    return replace(draft, changes=draft.changes.model_copy(update={"merges": tuple(merges)})), lost


def _replaced(draft: Draft, addition: Addition) -> set[str]:
    """Return the ids of the learned facts that *addition* removes: none if it is refused, or scrubbed as an upload."""
    if not addition.replaces or rejection_reason(addition, draft.policy) or mentions_upload(addition.content):
        return set()
    return _learned(draft.memory, addition.replaces)


def _learned(memory: MemoryDocument, ids: tuple[str, ...]) -> set[str]:
    return {fact.id for fact_id in ids if (fact := memory.fact(fact_id)) and not fact.is_manual}


def _keeps_enough(rewrite: Rewrite, memory: MemoryDocument, lost: set[str], *, share: float) -> bool:
    """Return whether the new text has *share* of the words of *memory*; those of superseded facts are not valid.

    The summaries of *memory* are those that hold: see `with_current_summaries`.
    """
    ended = (content_terms(fact.content) for fact_id in lost if (fact := memory.fact(fact_id)))
    valid = content_terms(memory.section(rewrite.section).summary).difference(*ended)
    if rewrite.edited_by_user or not rewrite.summary.strip() or not valid:
        return True
    return len(valid & content_terms(rewrite.summary)) >= share * len(valid)
