"""The caches of the package: recently used values, and objects opened from URLs.

Caches belong to the object that uses them, so that their content is freed with it or by `clear()`; no module keeps
text of users for the life of the process.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


class LRUCache(Generic[K, V]):
    """The most recently used values, bounded in entries, in bytes, or in both.

    Thread-safe. Two threads that miss the same key both make its value: no lock is held while a value is made, so
    one that takes long delays no other key.

    Args:
        max_entries: The number of values kept; default: any number.
        max_bytes: The bytes that *size_of* may return for all entries together; default: any number. A single entry
            above it is not kept at all.
        size_of: Returns the size of an entry in bytes. Called once for each entry that is put.
    """

    def __init__(
        self,
        max_entries: int | None = None,
        *,
        max_bytes: int | None = None,
        size_of: Callable[[K, V], int] | None = None,
    ) -> None:
        if (max_bytes is None) != (size_of is None):
            raise ValueError("max_bytes and size_of go together: give both or neither")
        self._max_entries = math.inf if max_entries is None else max_entries
        self._max_bytes = math.inf if max_bytes is None else max_bytes
        self._size_of = size_of
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        """The value and the size by key, the least recently used first."""
        self._bytes = 0
        """The size of all entries by *size_of*; 0 if entries are not measured."""
        self._lock = threading.RLock()
        _CACHES[id(self)] = self

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, make: Callable[[], V]) -> V: ...
    def get(self, key: K, make: Callable[[], V] | None = None) -> V | None:
        """Return the value of *key*. A missing one is made and put by *make*, or is None without it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        if make is None:
            return None
        value = make()
        self.put(key, value)
        return value

    def values(self) -> list[V]:
        """Return the values that are kept."""
        with self._lock:
            return [value for value, _ in self._entries.values()]

    def put(self, key: K, value: V) -> None:
        """Keep *value*, and evict the least recently used values beyond the bounds."""
        size = self._size_of(key, value) if self._size_of else 0
        with self._lock:
            self.pop(key)
            if size <= self._max_bytes:  # or it would evict all others, and itself as the last
                self._entries[key] = value, size
                self._bytes += size
            while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
                self.pop(next(iter(self._entries)))

    def pop(self, key: K) -> None:
        """Remove *key*, if it is kept."""
        with self._lock:
            entry = self._entries.pop(key, None)
            self._bytes -= entry[1] if entry else 0

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0


_CACHES = weakref.WeakValueDictionary[int, LRUCache[Any, Any]]()
"""The caches of this process, so that an erasure reaches those of objects that it does not know."""


_WORD_CACHES = list[Callable[[], None]]()
"""Clear the caches of `word_cache`, which are made at the import of a module."""


def word_cache(max_entries: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps what a function makes of single words, never of a text, until `clear_caches`."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(max_entries)(function)
        _WORD_CACHES.append(kept.cache_clear)
        return kept

    return decorate


def clear_caches() -> None:
    """Clear all caches of this process. What they had is read or made again."""
    for clear in _WORD_CACHES:
        clear()
    for reference in _CACHES.valuerefs():
        if cache := reference():
            cache.clear()


class ResourceCache(Generic[T]):
    """Objects opened from strings, such as storages from URLs and models from names: each is opened once.

    A graph owns one for its storages and one for its models, so that a pool or a client lives as long as the graph,
    not as long as a run. An evicted object is not closed, since a run may still be using it: it closes its
    connections when the last run releases it.

    Args:
        open_resource: Opens the object that a string describes.
        max_entries: The number of objects kept, the most recently used ones.
    """

    def __init__(self, open_resource: Callable[[str], T], *, max_entries: int = 16) -> None:
        self._open = open_resource
        self._resources: LRUCache[str, T] = LRUCache(max_entries)
        self._lock = threading.Lock()

    def __call__(self, name: str) -> T:
        """Return the object that *name* describes."""
        with self._lock:  # two runs at once must not open two pools
            return self._resources.get(name, lambda: self._open(name))
