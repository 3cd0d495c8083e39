"""Waiting for other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_SECONDS = 120.0


def wait_until(condition: Callable[[], object], *, pause: float = 0.01) -> None:
    """Wait until *condition* holds, checked every *pause* seconds; fail after WAIT_SECONDS."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(pause)
