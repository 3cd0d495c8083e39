"""Memories in RAM: for tests, for trying things out, and for runs that should leave nothing behind."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Self

from memgraph.errors import ConfigError
from memgraph.storage.base import MemoryStorage, is_tombstone, load_with_fallback, next_revision, tombstone
from memgraph.storage.serialization import DocumentCache, serialize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memgraph.models import Memory, Scope


class InMemoryStorage(MemoryStorage):
    """Documents in this process, gone with it. They are kept as bytes, so that they read as from a file."""

    def __init__(self) -> None:
        self._name = f"memory:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._documents: dict[Scope, bytes] = {}
        self._parsed = DocumentCache()

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each one opened is a storage of its own")
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
            memory = self._read(scope)
            if memory and not is_tombstone(memory):
                yield scope

    def _read(self, scope: Scope) -> Memory | None:
        data = self._documents.get(scope)
        return self._parsed.decode(data, self._place(scope)) if data else None

    def _write(self, scope: Scope, memory: Memory) -> Memory:
        stored, data = serialize(memory)
        self._documents[scope] = data
        self._parsed.put(data, self._place(scope), stored)
        return stored

    def _place(self, scope: Scope) -> str:
        return f"{self._name}, memory of {scope}"
