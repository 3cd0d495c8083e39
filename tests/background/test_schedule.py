"""When a job runs."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from memgraph.background.schedule import MAX_ATTEMPTS, DebouncePolicy, retry_delay


def test_a_job_waits_for_quiet_but_not_for_ever() -> None:
    timing = DebouncePolicy(debounce=5, max_wait=10)

    assert [timing.due(0, last) for last in (0, 3, 5, 8, 100)] == [5, 8, 10, 10, 10]


def test_what_is_due_is_not_put_off_and_what_failed_not_brought_forward() -> None:
    timing = DebouncePolicy(debounce=5, max_wait=10)

    assert timing.next_due(first=0, now=6, due=5, retry_at=0) == 5
    assert timing.next_due(first=0, now=4, due=5, retry_at=0) == 9
    assert timing.next_due(first=0, now=50, due=80, retry_at=80) == 80


draws = st.floats(0, 1)


@given(st.lists(draws, min_size=MAX_ATTEMPTS - 1, max_size=MAX_ATTEMPTS - 1))
def test_waits_grow_whatever_is_drawn(drawn: list[float]) -> None:
    waits = [retry_delay(failures, draw) for failures, draw in enumerate(drawn, 1)]

    assert all(before < after for before, after in itertools.pairwise(waits))


@given(st.integers(1, 100), draws)
def test_waits_have_bounds(failures: int, drawn: float) -> None:
    assert 3 < retry_delay(failures, drawn) <= 600


def test_the_provider_is_not_asked_before_it_said() -> None:
    assert retry_delay(1, 0.5, at_least=90) == 90
