"""InMemoryStorage: memories in RAM, for tests, experiments and runs that must leave nothing on disk."""

from __future__ import annotations

import secrets
import threading
from functools import partial
from typing import TYPE_CHECKING, Self

from memgraph.errors import ConfigError
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import DocumentCache, is_deleted, load_with_fallback, next_revision, tombstone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memgraph.models import Memory, Scope


class InMemoryStorage(MemoryStorage):
    """One document per user in this process, lost when it ends. Stored as bytes, like a file, to behave like one."""

    def __init__(self) -> None:
        self._name = f"memory:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._documents: dict[Scope, bytes] = {}
        self._cache = DocumentCache()

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each call opens a new, empty storage")
        return cls()

    def load(self, scope: Scope) -> Memory:
        return load_with_fallback(scope, self._read)

    def save(self, scope: Scope, memory: Memory) -> Memory:
        with self._lock:
            return self._write(scope, next_revision(scope, self._read(scope), memory))

    def delete(self, scope: Scope) -> Memory:
        with self._lock:
            return self._write(scope, tombstone(self._read(scope)))

    def scopes(self) -> Iterator[Scope]:
        for scope in tuple(self._documents):
            if not is_deleted(partial(self._read, scope)):
                yield scope

    def _read(self, scope: Scope) -> Memory | None:
        data = self._documents.get(scope)
        return self._cache.decode(data, self._document_name(scope)) if data else None

    def _write(self, scope: Scope, memory: Memory) -> Memory:
        stored, data = self._cache.serialize(memory, self._document_name(scope))
        self._documents[scope] = data
        return stored
