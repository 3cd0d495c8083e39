"""The past of a memory: facts that held once, or that had to make room."""

from __future__ import annotations

from collections.abc import Collection

from memgraph.models import EndReason, MemoryDocument, PastFact
from memgraph.models.values import Timestamp


def end_facts(
    memory: MemoryDocument, ids: Collection[str], reason: EndReason, *, at: Timestamp, by: str = "", limit: int
) -> MemoryDocument:
    """Return *memory* in which the facts with these ids are past. Only this function moves facts there.

    Args:
        memory: The memory to change.
        ids: Ids of current facts; unknown ones are ignored.
        reason: Stored with each fact.
        at: When they ceased to hold.
        by: Id of the fact that follows them; empty if none does.
        limit: How many past facts are kept; of more, the earliest moved are dropped.
    """
    ended = [PastFact.of(fact, reason, at=at, by=by) for fact in memory.facts if fact.id in ids]
    if not ended:
        return memory
    kept = memory.with_facts(tuple(fact for fact in memory.facts if fact.id not in ids))
    return kept.with_past(ended, limit)
