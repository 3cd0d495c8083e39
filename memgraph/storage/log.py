"""LogStorage: a memory is a document, episodes and revisions, the same over every Backend.

Episodes and revisions are appended with the document or without it; a tombstone removes them. A backend keeps documents
and rows, and knows neither memories nor their rules.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memgraph._cache import LRUCache
from memgraph.errors import DamagedMemoryError
from memgraph.models import Episode, MemoryDocument, Revision, Scope
from memgraph.policy import Policy
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    EpisodeSnapshot,
    decode,
    decode_episode,
    initial_memory,
    is_tombstone,
    load_with_fallback,
    merge_episodes,
    next_revision,
    require_not_deleted,
    serialize,
    storable,
    tombstone,
    was_deleted,
)
from memgraph.storage.revisions import current_recording, decode_revision, next_entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memgraph.storage.traces import TraceCount
    from memgraph.storage.vector_file import VectorFile

MAX_DOCUMENTS = 32
MAX_EPISODE_BYTES = 64 * 1024 * 1024
"""RAM for parsed episodes."""

logger = logging.getLogger("memgraph.storage")


class Stored(NamedTuple):
    """The document of one scope. As a whole it is the token that `commit` compares: an edit changes only bytes."""

    data: bytes | None = None
    """Its JSON; None if there is none."""
    revision: int | None = None
    """Its revision; None is the one in its JSON. Of a removed document, the one that it had."""


NOTHING = Stored(None, 0)


class Rows(NamedTuple):
    """Episodes as they are stored: one JSON object each, in the order in which they were appended."""

    position: object
    """Where the next call continues. It equals that of the last call if nothing changed since."""
    lines: Iterable[bytes | str]
    is_all: bool
    """Whether these are all of them, not only those after the position that was given."""
    place: str = ""
    """Their place, for messages about lines that cannot be read."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit writes: all of it, or nothing."""

    policy: Policy
    """Its limits of episodes and of the history are enforced by the same commit."""
    episodes: Sequence[Episode] = ()
    """Appended unless their ids are stored."""
    document: bytes | None = None
    """Replaces the stored one; None only appends."""
    entry: Revision | None = None
    """The revision that *document* is, and that the history gets."""
    is_deletion: bool = False
    """Whether everything else of the scope is removed, the history but for *entry* included."""


class Backend(ABC):
    """Stores a document, episodes and a history for each scope. All methods may be called from several threads.

    A commit with a document is numbered by its revision. A revision in the history that the document has not reached is
    what a killed process left: `LogStorage` never reads it, and the next commit replaces it.

    Args:
        name: See `MemoryStorage.name`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, scope: Scope) -> str:
        """Name the document of *scope*, in errors and caches."""
        return f"{self.name}, memory of {scope}"

    @abstractmethod
    def read(self, scope: Scope) -> Stored:
        """Return the document of exactly *scope*."""

    @abstractmethod
    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:
        """Write *change*, unless the document is no longer *expected*; None expects nothing.

        Returns:
            Whether it was written.
        """

    @abstractmethod
    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        """Remove the episodes with these ids, and return how many there were."""

    @abstractmethod
    def rows(self, scope: Scope, after: object) -> Rows:
        """Return the episodes after a position; all of them after None, or if any was removed since."""

    @abstractmethod
    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[bytes | str]:
        """Return the JSON of the revisions below a number, the newest first, at least *limit* if there are as many."""

    @abstractmethod
    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        """Yield each scope that has a document or episodes.

        With it comes the document, if it may be a tombstone and there are no episodes.
        """

    @abstractmethod
    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the stored bytes for texts of a user whose memories were deleted."""

    def vector_path(self, scope: Scope) -> Path | None:  # noqa: ARG002 - none is kept
        """Return the file of the vectors of *scope*; None, the default, keeps them in RAM."""
        return None

    def check_writable(self, scope: Scope) -> None:  # noqa: B027 - the default knows nothing
        """See `MemoryStorage.check_writable`."""

    def close(self) -> None:  # noqa: B027 - the default has opened nothing
        """Close connections and files."""


# -- the storage ------------------------------------------------------------------------------------


class LogStorage(MemoryStorage):
    """Stores memories in a backend.

    A save reads the document, decides, and commits if the document is still the same. If it is not, another writer was
    faster, and the save is decided once more: `next_revision` raises the error if it has lost.

    Args:
        backend: Where documents and rows are kept.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name = backend.name
        self._documents: LRUCache[str, tuple[bytes, MemoryDocument]] = LRUCache(MAX_DOCUMENTS)
        """The bytes of recent documents, by place, and what they mean: parsing 1,000 facts takes 15 ms."""
        self._episodes: LRUCache[tuple[Scope, str], EpisodeSnapshot] = LRUCache(
            max_bytes=MAX_EPISODE_BYTES, size_of=lambda _, snapshot: snapshot.bytes
        )
        """What was read of each scope, and what each agent sees. Cleared when episodes are removed."""
        self._reported: LRUCache[Scope, int] = LRUCache(256)
        """How many lines that cannot be read were reported of a memory."""

    def location(self, scope: Scope) -> str:
        return self._backend.place(scope)

    def load(self, scope: Scope) -> MemoryDocument:
        return load_with_fallback(scope, self._read)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        return self.save_with_episodes(scope, memory, (), current_recording().policy)

    def save_with_episodes(
        self, scope: Scope, memory: MemoryDocument, episodes: Sequence[Episode], policy: Policy
    ) -> MemoryDocument:
        return self._write(scope, lambda known, _: next_revision(scope, known, memory), episodes, policy)

    def delete(self, scope: Scope) -> MemoryDocument:
        def bury(known: MemoryDocument | None, revision: int) -> MemoryDocument:
            # of a removed document, only the revision continues
            return tombstone((known or MemoryDocument()).model_copy(update={"revision": revision}))

        return self._write(scope, bury, (), current_recording().policy)

    def check_writable(self, scope: Scope) -> None:
        self._backend.check_writable(scope)

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,
    ) -> None:
        if not episodes:
            return
        change = Change(policy, _storable(episodes))
        is_written = False
        while not is_written:
            stored = None
            if revision is not None:
                stored = self._backend.read(scope)
                require_not_deleted(scope, self._decode(scope, stored), revision)
            is_written = self._backend.commit(scope, stored, change, durable=durable)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        own = self._snapshot(scope)
        if not scope.agent_name or was_deleted(self._read(scope)):
            return own.episodes
        shared = self._snapshot(scope.shared)
        if not own.episodes or not shared.episodes:
            return own.episodes or shared.episodes
        seen = self._episodes.get((scope, "seen"))
        if seen is None or seen.version != (own, shared):
            seen = EpisodeSnapshot((own, shared), merge_episodes(shared.episodes, own.episodes))
            self._episodes.put((scope, "seen"), seen)
        return seen.episodes

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        removed = self._backend.remove(scope, ids)
        if removed:
            self._episodes.clear()
        return removed

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        known = self._read(scope)
        below = min(known.revision + 1 if known else 1, before if before is not None else 2**62)
        found: list[Revision] = []
        for line in self._backend.revisions(scope, below, limit) if limit != 0 else ():
            if entry := decode_revision(line):
                found.append(entry)
                if len(found) == limit:
                    break
        return found

    def vectors(self, scope: Scope) -> VectorFile | None:
        from memgraph.storage.vector_file import VectorFile

        path = self._backend.vector_path(scope)
        return VectorFile(path, scope, lambda: is_tombstone(self._read(scope))) if path else None

    def scopes(self) -> Iterator[Scope]:
        for scope, document in self._backend.scopes():
            with suppress(DamagedMemoryError):  # a damaged document is not deleted: it needs repair
                if document is not None and is_tombstone(self._decode(scope, Stored(document))):
                    continue
            yield scope

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        return self._backend.find_bytes(user_id, fragments)

    def close(self) -> None:
        self._backend.close()

    # -- the document ---------------------------------------------------------------------------------

    def _read(self, scope: Scope) -> MemoryDocument | None:
        return self._decode(scope, self._backend.read(scope))

    def _decode(self, scope: Scope, stored: Stored) -> MemoryDocument | None:
        if stored.data is None:
            return None
        place = self._backend.place(scope)
        known_data, memory = self._documents.get(place) or (None, None)
        if memory is None or known_data != stored.data:
            memory = decode(stored.data, place)
            self._documents.put(place, (stored.data, memory))
        if stored.revision in (None, memory.revision):
            return memory
        return memory.model_copy(update={"revision": stored.revision})

    def _write(
        self,
        scope: Scope,
        make: Callable[[MemoryDocument | None, int], MemoryDocument],
        episodes: Sequence[Episode],
        policy: Policy,
    ) -> MemoryDocument:
        """Store what *make* returns for the stored document and its revision, which is known of a removed one, too."""
        while True:
            expected = self._backend.read(scope)
            known = self._decode(scope, expected)
            revision = known.revision if known else expected.revision or 0
            memory = make(known, revision).model_copy(update={"revision": revision + 1})
            stored, data = serialize(memory)
            self._documents.put(self._backend.place(scope), (data, stored))  # no harm if it is never written
            entry = next_entry(known or initial_memory(scope, self._read), stored)
            is_deletion = is_tombstone(stored)
            if is_deletion:  # first, since a process may be killed in between
                self._delete_vectors(scope)
            change = Change(policy, _storable(episodes), data, entry, is_deletion)
            if not self._backend.commit(scope, expected, change):
                continue
            if is_deletion:
                self._episodes.clear()
                self._delete_vectors(scope)  # again: those that a recall has stored meanwhile
            return stored

    def _delete_vectors(self, scope: Scope) -> None:
        if vectors := self.vectors(scope):
            vectors.delete()

    # -- episodes -------------------------------------------------------------------------------------

    def _snapshot(self, scope: Scope) -> EpisodeSnapshot:
        """Return the episodes of exactly *scope*: the same object as before if they did not change."""
        known = self._episodes.get((scope, "own"))
        position, lines, is_all, place = self._backend.rows(scope, known.version if known else None)
        if known and position == known.version:
            return known
        parsed = [decode_episode(line) for line in lines]
        before = known.unreadable if known and not is_all else 0
        unreadable = before + parsed.count(None)
        if unreadable > (self._reported.get(scope) or 0):
            where = place or f"{self.name}, {scope.log_name}"
            logger.warning("%s: lines that are not episodes, which are kept but not used: %d", where, unreadable)
            self._reported.put(scope, unreadable)
        earlier = known.episodes if known and not is_all else ()
        snapshot = EpisodeSnapshot(position, merge_episodes(earlier, filter(None, parsed)), unreadable)
        self._episodes.put((scope, "own"), snapshot)
        return snapshot


def _storable(episodes: Sequence[Episode]) -> tuple[Episode, ...]:
    return tuple(storable(episode) for episode in merge_episodes((), episodes))
