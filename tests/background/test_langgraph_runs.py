"""Which runs are merged, retried and expedited, and their metadata."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from memgraph import Scope
from memgraph.background.langgraph_runs import (
    METADATA_KEY,
    ServerRun,
    expeditable,
    last_ended,
    mergeable,
    read_run,
    retryable,
    run_context,
    run_metadata,
    server_thread_id,
    start_delay,
)
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import MAX_ATTEMPTS, DebouncePolicy

ADA = ConversationKey(Scope("ada", "coach"), "t1")
TIMING = DebouncePolicy(debounce=30, max_wait=300)
RUN = read_run(
    {
        "run_id": str(uuid.UUID(int=5)),
        "status": "pending",
        "created_at": "1970-01-01T00:02:20+00:00",
        "metadata": {METADATA_KEY: run_metadata("memory_update", ADA, [], now=100.0, submitted=1)},
    }
)


def _run(number: int, **changes: object) -> ServerRun:
    return replace(RUN, id=number, **changes)  # pyright: ignore[reportArgumentType]


def test_server_thread_id_is_stable() -> None:
    """All clients derive the same id, and a new version finds the existing threads."""
    assert server_thread_id("memory_update", ADA) == "0d2fe6af-a65a-5fd0-bf92-fb59041db228"


def test_no_two_conversations_share_a_server_thread() -> None:
    """Not even if user, agent and thread concatenate to the same text."""
    keys = [
        ConversationKey(Scope(user, agent), thread)
        for user in ("a", "ab")
        for agent in (None, "b", "bc")
        for thread in (None, "c")
    ]

    ids = {server_thread_id(assistant, key) for assistant in ("x", "y") for key in keys}

    assert len(ids) == 2 * len(keys)


def test_run_context_always_has_a_thread_id() -> None:
    """Otherwise the server's thread id would become the source of facts."""
    assert run_context(ConversationKey(Scope("ada"))) == {"user_id": "ada", "thread_id": "unknown"}
    assert run_context(ADA) == {"user_id": "ada", "thread_id": "t1", "agent_name": "coach"}


def test_open_runs_are_merged_in_order() -> None:
    """Their messages are older than the new ones."""
    runs = [_run(3), _run(2, status="running"), _run(1, status="success"), _run(4, status="error")]

    assert [run.id for run in mergeable(runs, TIMING, now=120)] == [2, 3]


def test_run_that_waited_for_max_wait_is_not_merged() -> None:
    """An active conversation would otherwise roll its update back forever."""
    assert mergeable([_run(1, status="running")], TIMING, now=399.9)
    assert not mergeable([_run(1, status="running")], TIMING, now=400)
    assert not mergeable([_run(1)], TIMING, now=400)


def test_interrupted_run_is_merged_unless_resumed() -> None:
    """An interrupted run does not count as finished."""
    interrupted = _run(1, status="interrupted")

    assert mergeable([interrupted], TIMING, now=9_999) == [interrupted]
    assert not mergeable([interrupted, _run(2, status="success", submissions=0)], TIMING, now=120)


def test_run_that_asks_is_merged_with_a_new_waiting_time() -> None:
    """Its status is "success". It may have waited for a week, so its waiting time restarts."""
    runs = [_run(1, status="success"), _run(2, status="success"), _run(3, status="success", submissions=0)]

    (merged,) = mergeable(runs, TIMING, 9_999, last_ended(runs))

    assert (merged.id, merged.first_at) == (2, 9_999)
    assert not mergeable(runs, TIMING, now=9_999)


def test_run_of_another_application_is_not_merged() -> None:
    """It may apply a decision about an update."""
    foreign = read_run(
        {"run_id": RUN.run_id, "status": "running", "created_at": "2026-01-01T00:00:00Z", "metadata": {}}
    )

    assert not foreign.is_ours
    assert not mergeable([foreign], TIMING, now=0)


def test_failed_run_is_retried_until_the_last_attempt() -> None:
    """A conversation that breaks the model must not do so forever."""
    last = MAX_ATTEMPTS

    assert retryable([_run(1, status="error", attempts=last - 1), _run(2, status="error", attempts=last)]) == [
        _run(1, status="error", attempts=last - 1)
    ]


def test_only_runs_that_are_not_due_are_expedited() -> None:
    """A run that is due or running starts anyway."""
    runs = [_run(1, status="running"), _run(2, due_at=99.0), _run(3, due_at=101.0)]

    assert expeditable(runs, now=100) == [_run(3, due_at=101.0)]


@pytest.mark.parametrize(
    ("first", "now", "seconds"), [(100, 100, 30), (100, 200.5, 30), (100, 380, 20), (100, 399.5, 1), (100, 500, 0)]
)
def test_start_delay_is_limited_by_max_wait(first: float, now: float, seconds: int) -> None:
    """The server accepts whole, non-negative seconds."""
    assert start_delay(TIMING, first, now) == seconds


def test_run_metadata_round_trips() -> None:
    """Other clients need its first submission time and its attempts."""
    metadata = run_metadata("memory_update", ADA, [_run(1, attempts=2), _run(2, first_at=90.0)], now=120.0, submitted=1)
    response = {
        "run_id": str(uuid.UUID(int=7)),
        "status": "error",
        "created_at": "1970-01-01T00:02:30+00:00",
        "metadata": {METADATA_KEY: metadata, "created_by": "system"},
    }

    job = read_run(response)

    assert (job.key, job.submissions, job.first_at, job.last_at, job.due_at) == (ADA, 3, 90.0, 120.0, 150.0)
    assert (job.id, job.attempts, job.has_failed, job.running) == (7, 3, True, False)
