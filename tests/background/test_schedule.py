"""Debouncing and retry delays."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from memgraph.background.schedule import MAX_ATTEMPTS, DebouncePolicy, retry_delay


def test_due_time_is_limited_by_max_wait() -> None:
    timing = DebouncePolicy(debounce=5, max_wait=10)

    assert [timing.due(0, last) for last in (0, 3, 5, 8, 100)] == [5, 8, 10, 10, 10]


def test_submission_neither_postpones_nor_advances_a_job() -> None:
    timing = DebouncePolicy(debounce=5, max_wait=10)

    assert timing.next_due(first=0, now=6, due=5, retry_at=0) == 5
    assert timing.next_due(first=0, now=4, due=5, retry_at=0) == 9
    assert timing.next_due(first=0, now=50, due=80, retry_at=80) == 80


random_numbers = st.floats(0, 1)


@given(st.lists(random_numbers, min_size=MAX_ATTEMPTS - 1, max_size=MAX_ATTEMPTS - 1))
def test_retry_delays_grow(numbers: list[float]) -> None:
    delays = [retry_delay(failures, number) for failures, number in enumerate(numbers, 1)]

    assert all(before < after for before, after in itertools.pairwise(delays))


@given(st.integers(1, 100), random_numbers)
def test_retry_delays_are_bounded(failures: int, number: float) -> None:
    assert 3 < retry_delay(failures, number) <= 600


def test_retry_delay_respects_retry_after() -> None:
    assert retry_delay(1, 0.5, at_least=90) == 90
