"""LogStorage: a memory is a document, episodes and revisions, the same over every backend.

Episodes and revisions are appended with the document or without it; a tombstone removes them.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from memgraph._cache import LRUCache
from memgraph.errors import DamagedMemoryError
from memgraph.models import MemoryDocument
from memgraph.policy import Policy
from memgraph.storage.backend import Backend, Change, Stored
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
    from collections.abc import Callable, Collection, Iterator, Sequence

    from memgraph.models import Episode, Revision, Scope
    from memgraph.storage.traces import TraceCount
    from memgraph.storage.vector_file import VectorFile

MAX_DOCUMENTS = 32
MAX_EPISODE_BYTES = 64 * 1024 * 1024
"""RAM for parsed episodes."""

logger = logging.getLogger("memgraph.storage")


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
        self._reported: LRUCache[str, int] = LRUCache(256)
        """How many lines that cannot be read were reported of a place."""

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
        if unreadable > (self._reported.get(place) or 0):
            logger.warning("%s: lines that are not episodes, which are kept but not used: %d", place, unreadable)
            self._reported.put(place, unreadable)
        earlier = known.episodes if known and not is_all else ()
        snapshot = EpisodeSnapshot(position, merge_episodes(earlier, filter(None, parsed)), unreadable)
        self._episodes.put((scope, "own"), snapshot)
        return snapshot


def _storable(episodes: Sequence[Episode]) -> tuple[Episode, ...]:
    return tuple(storable(episode) for episode in merge_episodes((), episodes))
