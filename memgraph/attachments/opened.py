"""A memory that is loaded once, when it is first used."""

from __future__ import annotations

import threading

from memgraph.attachments.store import MemoryStore


class Opened:
    """A memory, and whether it is loaded. What could not be loaded is tried again the next time."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._is_loaded = False
        self._lock = threading.Lock()

    def load(self) -> MemoryStore:
        """Return the memory, loaded."""
        with self._lock:
            if not self._is_loaded:
                self.store.load()
                self._is_loaded = True
        return self.store

    def save(self) -> None:
        """Have it write what it has not written yet."""
        if self._is_loaded:
            self.store.save()

    def close(self) -> None:
        """Save it and close it, if it was loaded."""
        with self._lock:
            if not self._is_loaded:
                return
            self._is_loaded = False
        try:
            self.store.save()
        finally:
            self.store.close()
