"""What is decided about runs on LangGraph Server, without one."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from memgraph import Scope
from memgraph.background.langgraph_runs import (
    METADATA_KEY,
    ServerRun,
    expeditable,
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
RUN = ServerRun(str(uuid.UUID(int=5)), "pending", ADA, 1, 100.0, 110.0, 140.0, 0)


def _run(number: int, **changes: object) -> ServerRun:
    return replace(RUN, id=str(uuid.UUID(int=number)), **changes)  # pyright: ignore[reportArgumentType]


def test_a_conversation_is_the_same_thread_for_every_client_and_for_ever() -> None:
    """Its id is computed, so no two clients can make two threads of it, and a new version finds the old ones."""
    assert server_thread_id("memory_update", ADA) == "0d2fe6af-a65a-5fd0-bf92-fb59041db228"


def test_no_two_conversations_share_a_thread() -> None:
    """Also where user, agent and thread are the same letters, divided differently."""
    keys = [
        ConversationKey(Scope(user, agent), thread)
        for user in ("a", "ab")
        for agent in (None, "b", "bc")
        for thread in (None, "c")
    ]

    ids = {server_thread_id(assistant, key) for assistant in ("x", "y") for key in keys}

    assert len(ids) == 2 * len(keys)


def test_the_context_names_a_thread_even_where_there_is_none() -> None:
    """Else the graph would find the server's own thread id, and facts would have it as their source."""
    assert run_context(ConversationKey(Scope("ada"))) == {"user_id": "ada", "thread_id": "unknown"}
    assert run_context(ADA) == {"user_id": "ada", "thread_id": "t1", "agent_name": "coach"}


def test_what_waits_or_runs_is_taken_in_the_earliest_first() -> None:
    """Its messages are older than those submitted now."""
    runs = [_run(3), _run(2, status="running"), _run(1, status="success"), _run(4, status="error")]

    assert [uuid.UUID(run.id).int for run in mergeable(runs, TIMING, now=120)] == [2, 3]


def test_what_has_waited_its_longest_is_left_alone() -> None:
    """A conversation that never pauses would otherwise roll its update back for ever."""
    assert mergeable([_run(1, status="running")], TIMING, now=399.9)
    assert not mergeable([_run(1, status="running")], TIMING, now=400)
    assert not mergeable([_run(1)], TIMING, now=400)


def test_what_stopped_for_a_person_is_taken_in_unless_it_was_gone_on_with() -> None:
    """An interrupted run is never taken for finished."""
    stopped = _run(1, status="interrupted")

    assert mergeable([stopped], TIMING, now=9_999) == [stopped]
    assert not mergeable([stopped, _run(2, status="success", submissions=0)], TIMING, now=120)


def test_what_is_in_review_is_taken_in_as_if_it_were_new() -> None:
    """The server calls its run a success. It may have waited for a week, and what is new has its own quiet time."""
    runs = [_run(1, status="success"), _run(2, status="success"), _run(3, status="success", submissions=0)]

    (taken,) = mergeable(runs, TIMING, now=9_999, is_in_review=True)

    assert (uuid.UUID(taken.id).int, taken.first_at) == (2, 9_999)
    assert not mergeable(runs, TIMING, now=9_999)


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_run_that_applies_a_decision_is_left_alone(status: str) -> None:
    """Rolled back, a person would have to decide again."""
    assert not mergeable([_run(2, status=status, decides=str(uuid.UUID(int=1)))], TIMING, now=120)


def test_what_somebody_else_started_on_the_thread_is_left_alone() -> None:
    """It may be what a person decided about an update."""
    foreign = read_run({"run_id": RUN.id, "status": "running", "created_at": "2026-01-01T00:00:00Z", "metadata": {}})

    assert not foreign.is_ours
    assert not mergeable([foreign], TIMING, now=0)


def test_a_failure_is_tried_again_until_a_person_has_to_look_at_it() -> None:
    """A conversation that breaks the model must not do so for ever."""
    last = MAX_ATTEMPTS - 1

    assert retryable([_run(1, status="error", attempts=last - 1), _run(2, status="error", attempts=last)]) == [
        _run(1, status="error", attempts=last - 1)
    ]


def test_only_what_still_waits_for_its_quiet_time_is_hastened() -> None:
    """What runs, or is due, needs no help."""
    runs = [_run(1, status="running"), _run(2, due_at=99.0), _run(3, due_at=101.0)]

    assert expeditable(runs, now=100) == [_run(3, due_at=101.0)]


@pytest.mark.parametrize(
    ("first", "now", "seconds"), [(100, 100, 30), (100, 200.5, 30), (100, 380, 20), (100, 399.5, 1), (100, 500, 0)]
)
def test_the_delay_is_the_quiet_time_or_what_is_left_of_the_longest_wait(
    first: float, now: float, seconds: int
) -> None:
    """In whole seconds, and never negative: the server takes nothing else."""
    assert start_delay(TIMING, first, now) == seconds


def test_a_run_is_read_as_it_was_noted() -> None:
    """So another client, later, knows since when it waits and how often it failed."""
    notes = run_metadata("memory_update", ADA, [_run(1, attempts=2), _run(2, first_at=90.0)], now=120.0, submitted=1)
    server_says = {
        "run_id": str(uuid.UUID(int=7)),
        "status": "error",
        "created_at": "1970-01-01T00:02:30+00:00",
        "metadata": {METADATA_KEY: notes, "created_by": "system"},
    }

    job = read_run(server_says).job("it broke")

    assert (job.key, job.submissions, job.first_at, job.last_at, job.due_at) == (ADA, 3, 90.0, 120.0, 150.0)
    assert (job.id, job.attempts, job.error, job.running) == (7, 3, "it broke", False)
