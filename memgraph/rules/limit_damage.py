"""Limit the damage of one update: what it removes, replaces and evicts, and how much of a summary it rewrites."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from memgraph.analysis.terms import content_terms
from memgraph.analysis.uploads import mentions_upload
from memgraph.models import Addition, MemoryDocument, Merge, Removal, Rewrite
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.rules.add import rejection_reason
from memgraph.rules.draft import Draft, SetAside
from memgraph.rules.pending import hold

MIN_LIMIT = 5
"""Learned facts that an update of a small memory may remove, replace and evict."""
SHARE = 0.2
"""The share of the learned facts that an update may remove, replace and evict."""
MIN_KEPT_SHARE = 0.5
"""The least share of the content words of a summary that are still valid, which its new text has."""


BY_TOOL = "proposed by an agent's tool, and not found in what the user said"


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
    within, beyond, lost = _Split([], [], []), _Split([], [], []), set[str]()

    def fits(cost: set[str], *, decided: bool = False) -> bool:
        """Return whether facts may be lost, since the limit allows it or a person *decided* it; if so, count them."""
        may_go = decided or len(lost | cost) <= limit
        lost.update(cost if may_go else ())
        return may_go

    merges: list[Merge] = []
    for merge in draft.changes.merges:
        if fits(_learned(draft.memory, merge.merged) - {merge.id}):
            merges.append(merge)
        else:
            draft = draft.with_refusal(merge.content, f"one update may remove, replace and evict at most {limit} facts")
    for addition in draft.changes.additions:
        is_within = fits(_replaced(draft, addition), decided=addition.edited_by_user)
        (within if is_within else beyond).additions.append(addition)
    set_aside: list[SetAside] = []
    for one in draft.as_said:
        is_within = fits(_replaced(draft, one.addition))
        set_aside.append(one if is_within else one.ending(()))
        beyond.removals.extend(Removal(id=old) for old in one.addition.replaces if not is_within)
    for removal in draft.changes.removals:
        is_within = fits(_learned(draft.memory, (removal.id,)), decided=removal.edited_by_user)
        (within if is_within else beyond).removals.append(removal)
    current = with_current_summaries(draft.memory) if draft.changes.rewrites else draft.memory
    for rewrite in draft.changes.rewrites:
        is_within = _keeps_enough(rewrite, current, lost, share=1 if draft.changes.origin else MIN_KEPT_SHARE)
        (within if is_within else beyond).rewrites.append(rewrite)
    kept = {"merges": merges, **within._asdict()}
    changes = draft.changes.model_copy(update={name: tuple(part) for name, part in kept.items()})
    reason = f"one update may remove, replace and evict at most {limit} facts, and has to keep half of a summary"
    draft = replace(draft, changes=changes, as_said=tuple(set_aside), removable=limit)
    return hold(draft, BY_TOOL if draft.changes.origin else reason, **beyond._asdict())


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
