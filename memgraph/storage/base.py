"""MemoryStorage: what every storage promises, and the rules of revisions, said once for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from memgraph.errors import ForgottenError, RevisionConflictError, StorageError
from memgraph.models import Deletion, Memory, Scope, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType


class MemoryStorage(ABC):
    """Where memories are kept, one document a scope.

    To write one, implement `load` and `save`; the rest has defaults. `own_or_shared` and `successor` hold
    the rules that `load` and `save` follow, so that a storage only has to be atomic. All methods may be
    called from several threads at once. A class named by a dotted path is called with `storage_path`.
    """

    @property
    def name(self) -> str:
        """What identifies this storage in logs and in the state of a run. Never a secret."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def where(self, scope: Scope) -> str:  # noqa: ARG002 - a storage that has a place for each scope says which
        """Where the memory of *scope* is kept, for a person to read."""
        return self.name

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open the storage that a URL names by *location*, which is what follows the scheme and its colon.

        Raises:
            ConfigError: If it names none.
        """
        return cls(location)  # pyright: ignore[reportCallIssue] - a storage of one argument needs no more

    @abstractmethod
    def load(self, scope: Scope) -> Memory:
        """Return the memory of *scope*; a missing one is empty, at revision 0.

        An agent without a document reads what all agents of its user share (see `own_or_shared`).

        Raises:
            DamagedMemoryError: If what is stored cannot be read.
            StorageError: If the storage cannot be reached.
        """

    @abstractmethod
    def save(self, scope: Scope, memory: Memory) -> Memory:
        """Store *memory* as the next revision and return it as stored, if it is still based on the latest.

        Raises:
            RevisionConflictError: If somebody else saved since *memory* was loaded.
            ForgottenError: If the memory was deleted since *memory* was loaded.
            DamagedMemoryError: If what is stored cannot be read; it is not overwritten.
            StorageError: If nothing could be written; what was stored is intact.
        """

    def reload(self, scope: Scope) -> Memory:
        """`load`, past any cache a storage may keep."""
        return self.load(scope)

    def delete(self, scope: Scope) -> Memory:
        """Delete the memory of *scope*, whether there is one or not, and return the tombstone that stays.

        What was loaded before, even from an empty memory, can no longer be saved.

        Raises:
            DamagedMemoryError: If what is stored cannot be read; it is left for a person to judge.
            StorageError: If nothing could be written.
        """
        while True:
            loaded = self.reload(scope)
            buried = tombstone(loaded)
            try:
                return self.save(scope, buried.model_copy(update={"revision": loaded.revision}))
            except (RevisionConflictError, ForgottenError):
                continue  # somebody saved in between: what they saved is to go too

    def scopes(self) -> Iterator[Scope]:
        """Every scope that has a document, deleted ones aside.

        Raises:
            StorageError: If this storage cannot tell. The default, since two verbs are enough for a storage.
        """
        raise StorageError(f"{self.name} cannot list what it holds")

    def close(self) -> None:  # noqa: B027 - most storages hold nothing open
        """Let go of what is held open. A closed storage is not used again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


# -- the rules ------------------------------------------------------------------------------------


def load_with_fallback(scope: Scope, read: Callable[[Scope], Memory | None]) -> Memory:
    """Return what *scope* reads, where *read* gives a scope's own document or None.

    An agent without one reads what its user's agents share, as the start of a memory of its own: at revision
    0, so that saving creates the agent's document, and without marks, since the agent has learned from no
    thread and the deletion of the shared memory was none of the agent's. A tombstone is a document: an
    agent whose memory was deleted does not read the shared one.
    """
    own = read(scope)
    if own is not None:
        return own
    shared = read(scope.shared) if scope.agent_name else None
    return (shared or Memory()).model_copy(update={"revision": 0, "threads": {}, "forgotten": None})


def next_revision(scope: Scope, stored: Memory | None, memory: Memory) -> Memory:
    """Return *memory* as it is to be stored over *stored*, which is None where there is no document yet.

    The mark of the last deletion is carried on, also when *memory* lost it: a run that was loaded before
    the deletion may end much later.

    Raises:
        ForgottenError: If the memory was deleted after *memory* was loaded.
        RevisionConflictError: If *memory* is not based on *stored*.
    """
    buried = stored.forgotten if stored else None
    if buried and buried.revision > memory.revision:
        raise ForgottenError(scope, memory.revision)
    if memory.revision != (stored.revision if stored else 0):
        raise RevisionConflictError(scope, memory.revision)
    revision = memory.revision + 1
    given = memory.forgotten if memory.forgotten and memory.forgotten.revision <= revision else None
    return memory.model_copy(update={"revision": revision, "forgotten": latest_deletion(buried, given)})


def latest_deletion(one: Deletion | None, other: Deletion | None) -> Deletion | None:
    """Return the mark of the later deletion."""
    if one is None or other is None:
        return one or other
    return other if other.revision > one.revision else one


def tombstone(stored: Memory | None) -> Memory:
    """Return what stays of *stored* when it is deleted: its next revision and its thread marks.

    The marks stay so that what was said before the deletion is not learned again.
    """
    revision = stored.revision + 1 if stored else 1
    now = datetime.now(UTC)
    return Memory(
        revision=revision,
        last_updated=timestamp(now),
        threads=stored.threads if stored else {},
        # to the microsecond: what was submitted before it is told from what was submitted after
        forgotten=Deletion(revision=revision, at=now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    )


def is_tombstone(memory: Memory) -> bool:
    """Whether the last thing that happened to *memory* was its deletion."""
    return memory.forgotten is not None and memory.forgotten.revision == memory.revision and memory.is_empty
