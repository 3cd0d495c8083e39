"""Turns: writers of one memory that lost several races go one after another."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Hashable

from memgraph.models import Scope

TURN_AFTER = 3
"""Lost races after which a writer waits for its turn."""
TURN_SECONDS = 5.0
"""A writer that has not ended its turn after so long is passed over: its run may have ended."""
JITTER_SECONDS = 0.01
_MAX_JITTER_FACTOR = 10


class Turns:
    """The writers of this process that wait for each memory, in the order in which they asked."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queues: dict[Scope, dict[Hashable, float]] = {}
        """The time when the turn of each writer began; 0 while it waits."""

    def pause(self, scope: Scope, writer: Hashable, conflicts: int) -> None:
        """Wait before the next attempt of *writer*, after a few lost races for its turn."""
        # writers that collided once, also those of other processes, would collide again at the same pace
        time.sleep(random.uniform(0, JITTER_SECONDS) * min(conflicts, _MAX_JITTER_FACTOR))  # noqa: S311 - not for secrets
        if conflicts >= TURN_AFTER:
            self.take(scope, writer)

    def take(self, scope: Scope, writer: Hashable) -> None:
        """Return when it is the turn of *writer*. One that has the turn keeps it."""
        with self._changed:
            queue = self._queues.setdefault(scope, {})
            queue.setdefault(writer, 0.0)
            while (first := next(iter(queue))) != writer:
                queue[first] = queue[first] or time.monotonic()
                left = queue[first] + TURN_SECONDS - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                else:
                    del queue[first]
                queue.setdefault(writer, 0.0)
            queue[writer] = queue[writer] or time.monotonic()

    def end(self, scope: Scope, writer: Hashable) -> None:
        """Let the next writer go, if *writer* waits or has the turn."""
        with self._changed:
            queue = self._queues.get(scope, {})
            if queue.pop(writer, None) is not None:
                if not queue:
                    del self._queues[scope]
                self._changed.notify_all()
