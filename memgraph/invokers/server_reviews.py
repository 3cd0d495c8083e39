"""What the server keeps for a person to decide: a thread that is interrupted, with its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from memgraph.invokers.outbox import Key
from memgraph.invokers.reviews import InReview, is_proposal
from memgraph.invokers.server_runs import NOTES
from memgraph.models import Scope
from memgraph.review import Proposal


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread of the server, and what is asked on it."""

    thread: str
    at: float
    asked: tuple[InReview, ...]


def read_waiting(thread: Mapping[str, Any]) -> Waiting:
    """Read what the server says of one of our threads. Questions that are none of ours are left out."""
    at = datetime.fromisoformat(thread["updated_at"]).timestamp()
    return Waiting(thread["thread_id"], at, tuple(_asked(thread, at)))


def _asked(thread: Mapping[str, Any], at: float) -> Iterator[InReview]:
    metadata: Mapping[str, Any] = thread["metadata"] or {}
    notes: Mapping[str, Any] = metadata.get(NOTES) or {}
    interrupts: Mapping[str, Any] = thread["interrupts"] or {}
    for interrupt in chain.from_iterable(interrupts.values()):
        if notes and is_proposal(interrupt["value"]):
            key = Key(Scope(notes["user_id"], notes["agent_name"] or None), notes["thread_id"] or None)
            yield InReview(interrupt["id"], key, at, Proposal.model_validate(interrupt["value"]))
