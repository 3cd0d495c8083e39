"""Who has a memory, how large it is, and when it last changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memgraph.errors import DamagedMemoryError
from memgraph.models import Scope

if TYPE_CHECKING:
    from memgraph.storage import MemoryStorage


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """One memory of a user: the one that all agents share, or that of an agent."""

    scope: Scope
    facts: int
    episodes: int
    """How many it sees, those of the shared memory included."""
    revision: int
    last_updated: str
    """ISO 8601 in UTC; "" if nothing was learned yet."""
    is_damaged: bool = False
    """Whether its document cannot be read; then all numbers are 0."""


def list_users(storage: MemoryStorage) -> dict[str, list[Scope]]:
    """Return the memories of each user, in alphabetical order, the shared one first.

    Raises:
        StorageError: If the storage cannot list them.
    """
    users: dict[str, list[Scope]] = {}
    for scope in sorted(storage.scopes(), key=lambda scope: (scope.user_id, scope.agent_name or "")):
        users.setdefault(scope.user_id, []).append(scope)
    return users


def summarize_memories(storage: MemoryStorage, scopes: Sequence[Scope]) -> Iterator[MemorySummary]:
    """Load each memory and yield its size.

    Raises:
        StorageError: If the storage cannot be reached.
    """
    for scope in scopes:
        try:
            memory = storage.load(scope)
        except DamagedMemoryError:
            yield MemorySummary(scope, 0, 0, 0, "", is_damaged=True)
            continue
        episodes = len(storage.episodes(scope))
        yield MemorySummary(scope, len(memory.facts), episodes, memory.revision, memory.last_updated)
