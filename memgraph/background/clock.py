"""What time it is, so that tests can say."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time. All that share an outbox have to agree on it, so it is the time of day."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...


class SystemClock:
    """The computer's clock."""

    def now(self) -> float:
        return time.time()
