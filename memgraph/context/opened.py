"""Opened: objects by the strings that name them, as a run over HTTP names its model and its storage."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ResourceCache(Generic[T]):
    """Objects by the strings that name them: each is opened once, and the last few are kept.

    A graph owns one for its storages and one for its models, so that a pool or a client lives as long as the
    graph, not as long as a run. What makes room for another is let go and not closed: a run may be using it just
    now. It closes its connections when the last run has let go of it too.
    """

    def __init__(self, opener: Callable[[str], T], *, keep: int = 16) -> None:
        self._opener = opener
        self._keep = keep
        self._objects: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, given: str | T) -> T:
        """Return the object itself, or the one that the string names."""
        if not isinstance(given, str):
            return given
        with self._lock:
            if given not in self._objects:
                self._objects[given] = self._opener(given)
                if len(self._objects) > self._keep:
                    self._objects.popitem(last=False)
            self._objects.move_to_end(given)
            return self._objects[given]
