"""The CPU time of a call, for tests of how it grows with the text: noise may only make a measurement slower.

Other programs do not count, and the garbage collector waits. A measurement that is too slow is repeated before a test
fails: code that is not linear is slow each time, a busy machine is not.
"""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

TRIES = 5
GROWTH = 4
"""How much longer the long text is than the short one."""
MAX_GROWTH = 8
"""Four times the text takes four times as long if the time is linear, and 16 times if it is quadratic."""
NOISE_SECONDS = 0.25


@contextmanager
def _without_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of *call*."""
    with _without_collection():
        start = time.process_time()
        call()
        return time.process_time() - start


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail the test if it takes more CPU time; other programs on the machine do not count."""

    def fail(*_: object) -> None:
        pytest.fail(f"it takes more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def takes_less(call: Callable[[], object], than: Callable[[], float]) -> bool:
    """Return whether *call* takes less CPU time than *than* returns, in one of TRIES measurements."""
    return any(cpu_seconds(call) < than() for _ in range(TRIES))


def growth(prepare: Callable[[int], Callable[[], object]], length: int) -> tuple[float, float] | None:
    """Return the seconds of a short and of a long text if they show, each of TRIES times, that the time is not linear.

    Args:
        prepare: Returns the call for a text of a length. What it does itself is not measured.
        length: Of the long text.
    """
    found = None
    for _ in range(TRIES):
        long = cpu_seconds(prepare(length))
        if long < NOISE_SECONDS:
            return None
        short = cpu_seconds(prepare(length // GROWTH))
        if long <= MAX_GROWTH * short + NOISE_SECONDS:
            return None
        found = short, long
    return found
