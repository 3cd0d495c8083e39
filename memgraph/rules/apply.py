"""Apply a change set to a memory as far as the policy allows.

Each rule is a function from draft to draft, in a file of its own; RULES defines their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memgraph.analysis.slots import Slots, packaged_slots
from memgraph.models import MemoryDocument, MemoryUpdate, Refusal, Turn
from memgraph.policy import Policy
from memgraph.report import RemovedFact
from memgraph.rules.add import add, remove
from memgraph.rules.as_said import keep_as_said
from memgraph.rules.check_endings import check_endings
from memgraph.rules.decide import apply_decisions
from memgraph.rules.draft import Draft, Rule
from memgraph.rules.evict import evict, expire
from memgraph.rules.fill_profile import fill_profile
from memgraph.rules.ground import ground
from memgraph.rules.ground_summaries import ground_summaries, rewrite
from memgraph.rules.limit_damage import limit_damage
from memgraph.rules.merge import ground_merges, merge, merge_groups
from memgraph.rules.pending import admit
from memgraph.rules.supersede import supersede
from memgraph.rules.watermark import advance_watermark, mark_upkeep

RULES: tuple[Rule, ...] = (
    *(ground, admit, ground_summaries, ground_merges, check_endings, merge, supersede),
    *(limit_damage, merge_groups, rewrite, fill_profile, remove, add, keep_as_said, apply_decisions, expire, evict),
    *(advance_watermark, mark_upkeep),
)


class ApplyResult(NamedTuple):
    """The memory with the changes applied, and what was removed and refused."""

    memory: MemoryDocument
    removed: tuple[RemovedFact, ...]
    refused: tuple[Refusal, ...]


def apply(
    changes: MemoryUpdate,
    memory: MemoryDocument,
    policy: Policy,
    turns: Sequence[Turn] = (),
    shown_ids: frozenset[str] | None = None,
    *,
    slots: Slots | None = None,
) -> ApplyResult:
    """Apply *changes* to *memory* as far as *policy* allows.

    *turns* and *shown_ids* are the turns and the ids of the facts that the prompt showed; without ids, any fact may be
    removed, since a person accepted the changes. *slots* is what a person has one of at a time, by
    default the packaged table.

    Applying twice has the effect of applying once: if the thread's watermark knows the messages of *changes*,
    the memory is returned unchanged.
    """
    if _is_learned(changes, memory, policy):
        return ApplyResult(memory, (), ())
    draft = Draft(
        memory=memory,
        changes=_leave_replaced(changes),
        policy=policy,
        turns=tuple(turns),
        shown_ids=shown_ids,
        slots=slots or packaged_slots(),
        refused=changes.refused,
    )
    for rule in RULES:
        draft = rule(draft)
    waiting = (*changes.quarantined, *draft.pending)
    after = draft.memory.with_pending(*waiting) if waiting else draft.memory
    if _content(after) != _content(memory):
        after = after.model_copy(update={"last_updated": changes.at})
    return ApplyResult(after, draft.removed, draft.refused)


def _content(memory: MemoryDocument) -> tuple[object, ...]:
    """Return what a change dates the memory by."""
    facts, summaries = (memory.facts, memory.past, memory.as_said), (memory.user, memory.history)
    return facts, summaries, memory.custom_sections, memory.profile


def _leave_replaced(changes: MemoryUpdate) -> MemoryUpdate:
    """Return *changes* without removals of what an addition replaces: that goes only if the addition is accepted."""
    replaced = {old for addition in changes.additions for old in addition.replaces}
    removals = tuple(removal for removal in changes.removals if removal.id not in replaced)
    return changes if len(removals) == len(changes.removals) else changes.model_copy(update={"removals": removals})


def _is_learned(changes: MemoryUpdate, memory: MemoryDocument, policy: Policy) -> bool:
    watermark = memory.threads.get(changes.thread)
    # half of the ids that a watermark keeps: the other half may be positions that it moved from
    last = changes.message_ids[-max(1, policy.thread_mark_ids // 2) :]
    return watermark is not None and bool(last) and watermark.known.issuperset(last)
