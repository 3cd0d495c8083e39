"""What of a job is to be learned, and what is to be passed by because it was said before the memory was deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memgraph.background.merge import merged, order_for_watermark
from memgraph.background.serialization import Raw
from memgraph.models import UNKNOWN_THREAD, Memory


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as it is read: a part of the conversation, as it was at a time."""

    at: float
    messages: Sequence[Raw]


@dataclass(frozen=True, slots=True)
class Plan:
    """Two conversations: one to learn from, one that is only to be marked as learned."""

    learn: Sequence[Raw]
    skipped: Sequence[Raw]


def plan_learning(views: Sequence[SubmissionView], memory: Memory, thread_id: str | None) -> Plan:
    """Return what to do with *views* of a thread, given what *memory* knows of it and when it was deleted."""
    deleted = deleted_at(memory)
    old = [view.messages for view in views if view.at <= deleted]
    new = [view.messages for view in views if view.at > deleted]
    mark = memory.threads.get(thread_id or UNKNOWN_THREAD)
    return Plan(order_for_watermark(merged(new), new, mark.known if mark else ()), merged(old))


def deleted_at(memory: Memory) -> float:
    """When *memory* was last deleted, in seconds since 1970; before all times where it never was."""
    if memory.forgotten is None:
        return float("-inf")
    try:
        return datetime.fromisoformat(memory.forgotten.at).timestamp()
    except ValueError:
        return float("-inf")
