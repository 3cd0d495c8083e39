"""When a job runs: debouncing and retry delays. Times are seconds since 1970, durations are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MAX_ATTEMPTS = 5
"""Attempts after which a failing job becomes a dead letter."""

MAX_DELAY_SECONDS = 3_605.0
"""A job that is due later than this, the longest `debounce_seconds` and 5 s, is due now: the clock has gone back."""
CLOCK_TOLERANCE_SECONDS = 5.0
"""A lease that was taken further in the future than this has expired: the clock has gone back."""

FIRST_RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 600.0
_GROWTH = 4
_JITTER = 0.25  # with this growth each delay exceeds the previous one, whatever the random numbers


class Clock(Protocol):
    """The time of day, since every process that shares an outbox has to agree on it. Tests inject a fake one."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class DebouncePolicy:
    """How long a conversation has to be quiet, and how long an active one waits at most."""

    debounce: float
    max_wait: float

    def due(self, first: float, last: float) -> float:
        """Return when a job runs whose pending submissions arrived between *first* and *last*."""
        return min(last + self.debounce, first + self.max_wait)

    def next_due(self, first: float, now: float, due: float, retry_at: float) -> float:
        """Return when a pending job runs after one more submission.

        A job that is already due is not postponed; a failed one is not brought forward.
        """
        return due if due <= now else max(self.due(first, now), retry_at)


def retry_delay(failures: int, random_number: float, at_least: float = 0.0) -> float:
    """Return the delay after a failure: 5, 20, 80, 320 s, each with up to 25 % of jitter.

    Args:
        failures: How often the job has failed, at least 1.
        random_number: From 0 to 1, so that jobs that failed together do not return together.
        at_least: Delay that the provider asked for.
    """
    delay = FIRST_RETRY_SECONDS * _GROWTH ** (failures - 1) * (1 + _JITTER * (2 * random_number - 1))
    return max(min(delay, MAX_RETRY_SECONDS), at_least)
