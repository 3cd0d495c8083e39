"""ComputeLimiter: lets few updates compute at the same time.

Python runs one thread at a time. If sixteen updates compute at once, none of them is done sooner, and a caller of
`submit` competes with all sixteen. An update that waits for its model does not compute.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

MAX_COMPUTING = 2
"""Updates that compute at the same time: while one waits for its storage, the other goes on."""
PATIENCE_SECONDS = 0.25
"""How long an update waits for a permit before it computes without one."""


class ComputeLimiter:
    """The permits that the updates of one runner share. Thread-safe."""

    def __init__(self, max_computing: int = MAX_COMPUTING, *, patience: float = PATIENCE_SECONDS) -> None:
        self._permits = threading.Semaphore(max_computing)
        self._patience = patience

    def permit(self) -> ComputePermit:
        """Return a permit for one update, which is not held yet."""
        return ComputePermit(self._permits, self._patience)


class ComputePermit:
    """The permit of one update.

    It makes submissions faster, and is needed for nothing else: an update that hangs with a permit delays the others
    by the patience, and blocks none of them. As a context manager, it is held from the beginning and released at the
    end.
    """

    def __init__(self, permits: threading.Semaphore, patience: float) -> None:
        self._permits = permits
        self._patience = patience
        self._lock = threading.Lock()
        self.is_held = False
        """Whether the update has the permit; read only."""

    def acquire(self) -> None:
        """Wait for the permit, at most the patience; nothing happens if it is held. On the thread of the update."""
        if self.is_held:
            return
        is_held = self._permits.acquire(timeout=self._patience)
        with self._lock:
            self.is_held = is_held

    def release(self) -> None:
        """Release the permit, on any thread; nothing happens if it is not held."""
        with self._lock:
            was_held, self.is_held = self.is_held, False
        if was_held:
            self._permits.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
