"""Revisions in a storage: who makes the next one, and which are evicted."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from memgraph.history.diff import changes_between
from memgraph.models import ChangeOrigin, MemoryDocument, Revision, timestamp
from memgraph.policy import Policy
from memgraph.storage.document import is_tombstone

EVICTED_AT_ONCE = 20
"""A file loses one of so many of the allowed revisions more than it must, so that it is rarely rewritten."""


class RevisionOptions(NamedTuple):
    """How saves are recorded."""

    origin: ChangeOrigin
    policy: Policy
    """Its limits of the history."""


_DEFAULT = RevisionOptions(ChangeOrigin(), Policy())
# a context variable, so that `save` needs no argument for it: storages of other packages, and those that wrap one, work
_recording: ContextVar[RevisionOptions | None] = ContextVar("memgraph_recording", default=None)


@contextmanager
def recorded_as(origin: ChangeOrigin, policy: Policy) -> Generator[None]:
    """Record the saves of this block as changes of *origin*. Outside of one, a save counts as a person's."""
    token = _recording.set(RevisionOptions(origin, policy))
    try:
        yield
    finally:
        _recording.reset(token)


def current_recording() -> RevisionOptions:
    """Return how a save is recorded now."""
    return _recording.get() or _DEFAULT


def next_entry(before: MemoryDocument, stored: MemoryDocument) -> Revision:
    """Return the revision that *stored* is: what it changes of *before*, and who changed it.

    The deletion of a memory has no changes: nothing of it may remain.
    """
    origin, at = current_recording().origin, timestamp(datetime.now(UTC))
    if is_tombstone(stored):
        return Revision(revision=stored.revision, at=at, by="delete")
    changes = changes_between(before, stored)
    return Revision(revision=stored.revision, at=at, **origin.model_dump(), changes=changes)


def edited_entry(before: MemoryDocument, edited: MemoryDocument) -> Revision:
    """Return the revision for a document that a person edited."""
    at = timestamp(datetime.now(UTC))
    return Revision(revision=edited.revision, at=at, by="person", changes=changes_between(before, edited))


class Horizon(NamedTuple):
    """The end of the history: what is older is evicted."""

    revision: int
    """The highest revision that is evicted."""
    at: str
    """The earliest time that is kept."""

    def excludes(self, revision: int, at: str) -> bool:
        """Whether the revision of that number and time is evicted."""
        return revision <= self.revision or "" < at < self.at


def horizon(policy: Policy, newest: int, *, evicted_at_once: int = 0) -> Horizon:
    """Return where the history ends that *policy* allows.

    Args:
        policy: Its `max_revisions` and `history_days` count.
        newest: The number of the newest revision.
        evicted_at_once: Evict one of so many more; 0 evicts no more than it must.
    """
    count, days = policy.max_revisions, timedelta(days=policy.history_days)
    if evicted_at_once:
        count -= count // evicted_at_once
        days -= days / evicted_at_once
    return Horizon(newest - count, timestamp(datetime.now(UTC) - days))
