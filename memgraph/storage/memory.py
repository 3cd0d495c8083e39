"""InMemoryStorage: memories in RAM, for tests, experiments and runs that must leave nothing on disk."""

from __future__ import annotations

import secrets
import threading
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from memgraph.errors import ConfigError
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    DocumentCache,
    is_deleted,
    is_tombstone,
    load_with_fallback,
    next_revision,
    require_not_deleted,
    tombstone,
    was_deleted,
)
from memgraph.storage.episodes import EpisodeCache, merge_episodes, storable, within_limits
from memgraph.storage.revision_json import decode_revision, encode_revision
from memgraph.storage.revisions import current_recording, horizon, next_entry
from memgraph.storage.traces import TraceCount, find_in_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memgraph.models import Episode, MemoryDocument, Revision, Scope
    from memgraph.policy import Policy


class InMemoryStorage(MemoryStorage):
    """One document per user in this process, lost when it ends. Stored as bytes, like a file, to behave like one."""

    def __init__(self) -> None:
        self.name = f"memory:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._documents: dict[Scope, bytes] = {}
        self._cache = DocumentCache()
        self._stored_episodes: dict[Scope, tuple[Episode, ...]] = {}
        self._episodes: EpisodeCache[None] = EpisodeCache()
        self._history: dict[Scope, tuple[str, ...]] = {}

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each call opens a new, empty storage")
        return cls()

    def load(self, scope: Scope) -> MemoryDocument:
        return load_with_fallback(scope, self._read)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        with self._lock:
            return self._write(scope, next_revision(scope, self._read(scope), memory))

    def delete(self, scope: Scope) -> MemoryDocument:
        with self._lock:
            return self._write(scope, tombstone(self._read(scope)))

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,  # noqa: ARG002 - nothing here is
    ) -> None:
        with self._lock:
            if revision is not None:
                require_not_deleted(scope, self._read(scope), revision)
            if episodes:
                stored = merge_episodes(self._own_episodes(scope), map(storable, episodes))
                allowed = within_limits(stored, policy, datetime.now(UTC))
                self._stored_episodes[scope] = stored if len(allowed) == len(stored) else tuple(allowed)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        return self._episodes.visible(scope, self._own_episodes, was_deleted=lambda: was_deleted(self._read(scope)))

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        with self._lock:
            stored = self._own_episodes(scope)
            kept = tuple(episode for episode in stored if episode.id not in ids)
            if len(kept) < len(stored):
                self._stored_episodes[scope] = kept
                self._episodes.clear()
            return len(stored) - len(kept)

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        stored = map(decode_revision, reversed(self._history.get(scope, ())))
        found = [entry for entry in stored if entry and (before is None or entry.revision < before)]
        return found[:limit]

    def scopes(self) -> Iterator[Scope]:
        for scope in {**self._documents, **self._stored_episodes}:
            if self._own_episodes(scope) or not is_deleted(partial(self._read, scope)):
                yield scope

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        found = [
            text
            for scope in {**self._documents, **self._stored_episodes, **self._history}
            if scope.user_id == user_id
            for text in self._stored_texts(scope)
        ]
        return TraceCount(len(find_in_bytes("\n".join(found).encode(), fragments)))

    def _stored_texts(self, scope: Scope) -> list[str]:
        episodes = [episode.text for episode in self._own_episodes(scope)]
        return [self._documents.get(scope, b"").decode(), *episodes, *self._history.get(scope, ())]

    def _own_episodes(self, scope: Scope) -> tuple[Episode, ...]:
        return self._stored_episodes.get(scope, ())

    def _read(self, scope: Scope) -> MemoryDocument | None:
        data = self._documents.get(scope)
        return self._cache.decode(data, self._document_name(scope)) if data else None

    def _write(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        before = load_with_fallback(scope, self._read)
        stored, data = self._cache.serialize(memory, self._document_name(scope))
        self._append_revision(scope, next_entry(before, stored))
        self._documents[scope] = data
        if is_tombstone(memory):
            self._stored_episodes.pop(scope, None)
            self._episodes.clear()
        return stored

    def _append_revision(self, scope: Scope, entry: Revision) -> None:
        known = () if entry.by == "delete" else self.revisions(scope)
        allowed = horizon(current_recording().policy, entry.revision)
        kept = [each for each in (entry, *known) if not allowed.excludes(each.revision, each.at)]
        self._history[scope] = tuple(map(encode_revision, reversed(kept)))
