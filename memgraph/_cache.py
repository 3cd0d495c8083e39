"""The caches of the package: recently used values, and objects opened from URLs.

Caches belong to the object that uses them, so that their content is freed with it or by `clear()`; no module keeps
text of users for the life of the process.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
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
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._values: OrderedDict[K, V] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        _CACHES[id(self)] = self

    def __len__(self) -> int:
        return len(self._values)

    @property
    def total_bytes(self) -> int:
        """The size of all entries by *size_of*; 0 if entries are not measured."""
        return self._bytes

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, make: Callable[[], V]) -> V: ...
    def get(self, key: K, make: Callable[[], V] | None = None) -> V | None:
        """Return the value of *key*. A missing one is made and put by *make*, or is None without it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        if make is None:
            return None
        value = make()
        self.put(key, value)
        return value

    def get_many(self, keys: Sequence[K], make: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """Return the values of *keys* in order, with one lock for all of them.

        Args:
            keys: Any keys; a key may occur more than once.
            make: Returns the values of the missing keys, each of which it is given once, in order. Not called if no
                key is missing.
        """
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        if missing := [key for key in dict.fromkeys(keys) if key not in found]:
            made = dict(zip(missing, make(missing), strict=True))
            with self._lock:
                for key, value in made.items():
                    self._put(key, value)
            found |= made
        return [found[key] for key in keys]

    def values(self) -> list[V]:
        """Return the values that are kept."""
        with self._lock:
            return list(self._values.values())

    def put(self, key: K, value: V) -> None:
        """Keep *value*, and evict the least recently used values beyond the bounds."""
        with self._lock:
            self._put(key, value)

    def pop(self, key: K) -> None:
        """Remove *key*, if it is kept."""
        with self._lock:
            self._values.pop(key, None)
            self._bytes -= self._sizes.pop(key, 0)

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._values.clear()
            self._sizes.clear()
            self._bytes = 0

    def _put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if self._size_of is not None:
            size = self._size_of(key, value)
            self._bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            if self._max_bytes is not None and size > self._max_bytes:
                self._evict(key)  # or it would evict all others, and itself as the last
        while self._is_full():
            self._evict(next(iter(self._values)))

    def _is_full(self) -> bool:
        return (self._max_entries is not None and len(self._values) > self._max_entries) or (
            self._max_bytes is not None and self._bytes > self._max_bytes
        )

    def _evict(self, key: K) -> None:
        del self._values[key]
        self._bytes -= self._sizes.pop(key, 0)


_CACHES = weakref.WeakValueDictionary[int, LRUCache[Any, Any]]()
"""The caches of this process, so that an erasure reaches those of objects that it does not know."""


def clear_caches() -> None:
    """Clear all caches of this process. What they had is read or made again."""
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
