"""MemoryStorage, the contract of every storage, and the revision rules that all storages share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from memgraph.errors import DamagedMemoryError, ForgottenError, RevisionConflictError, StorageError
from memgraph.models import Deletion, Memory, Scope, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType


class MemoryStorage(ABC):
    """Stores one memory document per scope.

    A subclass implements `load` and `save`; everything else has a default. `load_with_fallback` and
    `next_revision` hold the rules of `load` and `save`, so that a storage only has to be atomic. All methods
    may be called from several threads at once. A class given by its dotted path is called with `storage_path`.
    """

    @property
    def name(self) -> str:
        """Identifies this storage in logs and in the state of a run. Never contains a secret."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def location(self, scope: Scope) -> str:  # noqa: ARG002 - a storage with one file per scope returns its path
        """Describe where the memory of *scope* is stored, for display."""
        return self.name

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open the storage at *location*, the part of a URL after the scheme and its colon.

        Raises:
            ConfigError: If *location* is invalid.
        """
        return cls(location)  # pyright: ignore[reportCallIssue] - the default for storages with one argument

    @abstractmethod
    def load(self, scope: Scope) -> Memory:
        """Return the memory of *scope*; a missing one is empty, at revision 0.

        An agent without a document reads the one that all agents of its user share (see `load_with_fallback`).

        Raises:
            DamagedMemoryError: If the stored document cannot be read.
            StorageError: If the storage cannot be reached.
        """

    @abstractmethod
    def save(self, scope: Scope, memory: Memory) -> Memory:
        """Store *memory* as the next revision and return it as stored, if it is based on the latest revision.

        Raises:
            RevisionConflictError: If another writer saved since *memory* was loaded.
            ForgottenError: If the memory was deleted since *memory* was loaded.
            DamagedMemoryError: If the stored document cannot be read; it is not overwritten.
            StorageError: If nothing could be written; the stored document is intact.
        """

    def reload(self, scope: Scope) -> Memory:
        """Load without any cache that a storage may have."""
        return self.load(scope)

    def delete(self, scope: Scope) -> Memory:
        """Delete the memory of *scope*, even if it does not exist, and return the tombstone that is stored instead.

        A memory that was loaded before, even an empty one, can no longer be saved.

        Raises:
            DamagedMemoryError: If the stored document cannot be read; it is left as it is.
            StorageError: If nothing could be written.
        """
        while True:
            loaded = self.reload(scope)
            deleted = tombstone(loaded)
            try:
                return self.save(scope, deleted.model_copy(update={"revision": loaded.revision}))
            except (RevisionConflictError, ForgottenError):
                continue  # another writer saved in between: delete that, too

    def scopes(self) -> Iterator[Scope]:
        """Yield every scope that has a document, except deleted ones.

        Raises:
            StorageError: If this storage cannot list them, which is the default.
        """
        raise StorageError(f"{self.name} cannot list its memories")

    def close(self) -> None:  # noqa: B027 - most storages hold nothing open
        """Close connections and files. A closed storage must not be used again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _document_name(self, scope: Scope) -> str:
        """The name of a document in errors and caches."""
        return f"{self.name}, memory of {scope}"


# -- the rules ------------------------------------------------------------------------------------


def load_with_fallback(scope: Scope, read: Callable[[Scope], Memory | None]) -> Memory:
    """Return the memory of *scope*; for an agent without a document, a copy of the shared one.

    The copy starts the agent's own memory: at revision 0, so that saving creates the agent's document, and
    without watermarks and deletion, since the agent has learned from no thread and had no memory to delete.
    A tombstone is a document: an agent whose memory was deleted does not read the shared one.

    Args:
        scope: Whose memory.
        read: Returns the document of exactly one scope, or None if there is none.
    """
    own = read(scope)
    if own is not None:
        return own
    shared = read(scope.shared) if scope.agent_name else None
    return (shared or Memory()).model_copy(update={"revision": 0, "threads": {}, "forgotten": None})


def next_revision(scope: Scope, stored: Memory | None, memory: Memory) -> Memory:
    """Return *memory* as it has to be stored over *stored*, which is None if there is no document yet.

    The last deletion is carried over even if *memory* lost it, since a run that was loaded before the
    deletion may end much later.

    Raises:
        ForgottenError: If the memory was deleted after *memory* was loaded.
        RevisionConflictError: If *memory* is not based on *stored*.
    """
    deletion = stored.forgotten if stored else None
    if deletion and deletion.revision > memory.revision:
        raise ForgottenError(scope, memory.revision)
    if memory.revision != (stored.revision if stored else 0):
        raise RevisionConflictError(scope, memory.revision)
    revision = memory.revision + 1
    # An imported document may carry a deletion at a revision that this one has not reached: drop it.
    imported = memory.forgotten if memory.forgotten and memory.forgotten.revision <= revision else None
    return memory.model_copy(update={"revision": revision, "forgotten": latest_deletion(deletion, imported)})


def latest_deletion(one: Deletion | None, other: Deletion | None) -> Deletion | None:
    """Return the deletion at the higher revision."""
    if one is None or other is None:
        return one or other
    return other if other.revision > one.revision else one


def tombstone(stored: Memory | None) -> Memory:
    """Return the document that replaces *stored* when it is deleted: its next revision and its watermarks.

    The watermarks stay, so that messages from before the deletion are not learned again.
    """
    revision = stored.revision + 1 if stored else 1
    now = datetime.now(UTC)
    return Memory(
        revision=revision,
        last_updated=timestamp(now),
        threads=stored.threads if stored else {},
        # in microseconds, to order the deletion among submitted messages
        forgotten=Deletion(revision=revision, at=now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    )


def is_tombstone(memory: Memory) -> bool:
    """Whether the latest revision of *memory* is its deletion."""
    return memory.forgotten is not None and memory.forgotten.revision == memory.revision and memory.is_empty


def is_deleted(read: Callable[[], Memory | None]) -> bool:
    """Whether *read* returns a tombstone or nothing. A damaged document is not deleted: it needs repair."""
    try:
        memory = read()
    except DamagedMemoryError:
        return False
    return memory is None or is_tombstone(memory)
