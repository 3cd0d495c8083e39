"""When a job runs: values in, times out. Times are seconds since 1970, durations are seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_TRIES = 5
"""Tries after which a job is set aside for a person to look at."""

NEVER = math.inf
"""When something is due that waits for a person; no submission brings it forward."""

FIRST_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 600.0
_GROWTH = 4
_JITTER = 0.25  # small enough that with this growth each wait is longer than the one before, whatever is drawn


@dataclass(frozen=True, slots=True)
class DebouncePolicy:
    """How long a conversation has to be quiet, and how long it may wait although it is not."""

    debounce: float
    max_wait: float

    def due(self, first: float, last: float) -> float:
        """When a job runs whose waiting submissions came between *first* and *last*."""
        return min(last + self.debounce, first + self.max_wait)

    def next_due(self, first: float, now: float, due: float, retry_at: float) -> float:
        """When a waiting job runs after one more submission.

        One that is due already, or was made due, is not put off; one that failed is not brought forward.
        """
        return due if due <= now else max(self.due(first, now), retry_at)


def retry_wait(failures: int, drawn: float, at_least: float = 0.0) -> float:
    """How long to wait after the last of *failures*: 5, 20, 80, 320 s, each up to a quarter more or less.

    Args:
        failures: How often the job failed so far, at least 1.
        drawn: A random number from 0 to 1, so that jobs that failed together do not come back together.
        at_least: What the provider asked for.
    """
    growing = FIRST_RETRY_SECONDS * _GROWTH ** (failures - 1) * (1 + _JITTER * (2 * drawn - 1))
    return max(min(growing, LONGEST_RETRY_SECONDS), at_least)
