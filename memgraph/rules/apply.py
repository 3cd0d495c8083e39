"""apply: what the model proposed, as far as policy lets it through.

The order is data. Each rule is a function from a draft to a draft, in a file of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from memgraph.models import Memory, MemoryUpdate, Refusal
from memgraph.policy import Policy
from memgraph.report import RemovedFact
from memgraph.rules.add import add
from memgraph.rules.draft import Draft, Rule
from memgraph.rules.evict import evict
from memgraph.rules.remove import remove
from memgraph.rules.rewrite import rewrite
from memgraph.rules.watermark import advance_watermark

RULES: tuple[Rule, ...] = (rewrite, remove, add, evict, advance_watermark)


class ApplyResult(NamedTuple):
    """A memory with the changes in it, and what is to be said about them."""

    memory: Memory
    removed: tuple[RemovedFact, ...]
    refused: tuple[Refusal, ...]


def apply(changes: MemoryUpdate, memory: Memory, policy: Policy) -> ApplyResult:
    """Apply *changes* to *memory* as far as *policy* lets them through.

    Applying twice is applying once: a memory whose thread mark knows the messages of
    *changes* has learned from them already, and is returned as it is.
    """
    if _is_learned(changes, memory, policy):
        return ApplyResult(memory, (), ())
    draft = Draft(memory=memory, changes=changes, policy=policy, refused=changes.refused)
    for rule in RULES:
        draft = rule(draft)
    before, after = memory, draft.memory
    if after.facts != before.facts or (after.user, after.history) != (before.user, before.history):
        after = after.model_copy(update={"last_updated": changes.at})
    return ApplyResult(after, draft.removed, draft.refused)


def _is_learned(changes: MemoryUpdate, memory: Memory, policy: Policy) -> bool:
    mark = memory.threads.get(changes.thread)
    # half of what a mark can hold: the other half may be the places it moved from
    last = changes.message_ids[-max(1, policy.thread_mark_ids // 2) :]
    return mark is not None and bool(last) and mark.known.issuperset(last)
