"""RunProtocol: which runs are merged, retried and expedited; concurrent clients, some of which are killed."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Scope
from memgraph.background.langgraph_protocol import (
    METADATA_KEY,
    NotOnServerError,
    RunProtocol,
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

ADA = ConversationKey(Scope("ada"), "t1")
TIMING = DebouncePolicy(30, 300)
DUE = "2026-01-01T00:00:00+00:00"
COACH = ConversationKey(Scope("ada", "coach"), "t1")


def _read(number: int, status: str, created_at: str, **metadata: object) -> ServerRun:
    """Read a run as the server answers it."""
    run_id = str(uuid.UUID(int=number))
    return read_run({"run_id": run_id, "status": status, "created_at": created_at, "metadata": metadata})


def _run(number: int, **changes: object) -> ServerRun:
    metadata = run_metadata("memory_update", COACH, [], now=100.0, submitted=1)
    run = _read(number, "pending", "1970-01-01T00:02:20+00:00", **{METADATA_KEY: metadata})
    return replace(run, **changes)  # pyright: ignore[reportArgumentType]


def test_server_thread_id_is_stable() -> None:
    """All clients derive the same id, and a new version finds the existing threads."""
    assert server_thread_id("memory_update", COACH) == "0d2fe6af-a65a-5fd0-bf92-fb59041db228"


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
    assert run_context(COACH) == {"user_id": "ada", "thread_id": "t1", "agent_name": "coach"}


def test_open_runs_are_merged_in_order() -> None:
    """Their messages are older than the new ones."""
    runs = [_run(1, status="success"), _run(2, status="running"), _run(3), _run(4, status="error")]

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
    foreign = _read(5, "running", "2026-01-01T00:00:00Z")

    assert not foreign.is_ours
    assert not mergeable([foreign], TIMING, now=0)


def test_failed_run_is_retried_until_the_last_attempt() -> None:
    """A conversation that breaks the model must not do so forever."""
    failed = [_run(1, status="error", attempts=MAX_ATTEMPTS - 1), _run(2, status="error", attempts=MAX_ATTEMPTS)]

    assert retryable(failed) == failed[:1]


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
    metadata = run_metadata(
        "memory_update", COACH, [_run(1, attempts=2), _run(2, first_at=90.0)], now=120.0, submitted=1
    )

    job = _read(7, "error", "1970-01-01T00:02:30+00:00", **{METADATA_KEY: metadata, "created_by": "system"})

    assert (job.key, job.submissions, job.first_at, job.last_at, job.due_at) == (COACH, 3, 90.0, 120.0, 150.0)
    assert (job.id, job.attempts, job.status, job.running) == (7, 3, "error", False)


# -- concurrent clients ----------------------------------------------------------------------------


class FakeServer:
    """The runs and threads of a server, which is also its own client."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.known: set[str] = set()
        self._ids = itertools.count(1)
        self.runs, self.threads = Runs(self), Threads(self)

    def messages(self) -> set[str]:
        """Ids of the messages of all runs."""
        inputs = [run["kwargs"]["input"]["messages"] for run in self.entries.values()]
        return {message["id"] for messages in inputs for message in messages}

    def add(self, thread: str, run: dict[str, Any]) -> dict[str, Any]:
        self.known.add(thread)
        run["run_id"] = str(uuid.UUID(int=next(self._ids)))
        self.entries[run["run_id"]] = run
        return run


class Threads:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def create(self, *, thread_id: str, **_: Any) -> None:
        self.server.known.add(thread_id)

    def get(self, thread: str) -> dict[str, Any]:
        """Return a thread on which nothing waits for an answer."""
        if thread not in self.server.known:
            raise NotOnServerError("gone")
        return {"thread_id": thread, "updated_at": DUE, "metadata": {}, "interrupts": {}}


class Runs:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def list(self, thread: str, **_: Any) -> list[dict[str, Any]]:
        if thread not in self.server.known:
            raise NotOnServerError("gone")
        return list(self.server.entries.values())

    def get(self, _: str, run_id: str) -> dict[str, Any]:
        if run_id not in self.server.entries:
            raise NotOnServerError("gone")
        return self.server.entries[run_id]

    def create(self, thread: str, _: str, *, input: Any, metadata: Any, **__: Any) -> dict[str, Any]:  # noqa: A002
        run = {"status": "pending", "created_at": DUE, "metadata": metadata, "kwargs": {"input": input}}
        return self.server.add(thread, run)

    def cancel_many(self, *, run_ids: Sequence[str], **_: Any) -> None:
        found = [one for one in run_ids if self.server.entries.get(one, {}).get("status") in {"pending", "running"}]
        if not found:
            raise NotOnServerError("gone")
        for one in found:
            del self.server.entries[one]

    def delete(self, _: str, run_id: str) -> None:
        if self.server.entries.pop(run_id, None) is None:
            raise NotOnServerError("gone")


class Client:
    """A client that sends one request at a time, each when it is stepped."""

    def __init__(self, server: FakeServer, act: Callable[[RunProtocol], None]) -> None:
        self.server = server
        self.is_done = False
        self._is_killed = False
        self._may_send, self._waits = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self._thread.start()
        self._waits.acquire()

    def step(self) -> None:
        if not self.is_done:
            self._may_send.release()
            self._waits.acquire()

    def finish(self) -> None:
        while not self.is_done:
            self.step()

    def kill(self) -> None:
        self._is_killed = True
        self._may_send.release()
        self._thread.join(60)

    def _run(self, act: Callable[[RunProtocol], None]) -> None:
        with suppress(SystemExit):
            act(RunProtocol("memory_update", TIMING, self._send))
            self.is_done = True
        self._waits.release()

    def _send(self, method: str, *arguments: Any, **options: Any) -> Any:
        self._waits.release()
        self._may_send.acquire()
        if self._is_killed:
            raise SystemExit
        return attrgetter(method)(self.server)(*arguments, **options)


@contextmanager
def _clients(server: FakeServer, *acts: Callable[[RunProtocol], None]) -> Iterator[list[Client]]:
    """Clients that are killed at the end, half-way if they are not done."""
    clients = [Client(server, act) for act in acts]
    try:
        yield clients
    finally:
        for client in clients:
            client.kill()


def _submit(name: str) -> Callable[[RunProtocol], None]:
    return lambda protocol: protocol.submit(ADA, [{"type": "human", "content": name, "id": name}], now=100.0)


def _expedite(protocol: RunProtocol) -> None:
    protocol.expedite(server_thread_id("memory_update", ADA), now=100.0)


@given(
    turns=st.lists(st.integers(0, 6), max_size=60),
    started=st.lists(st.integers(0, 59), max_size=5),
    ended=st.lists(st.tuples(st.integers(0, 59), st.sampled_from(["success", "error"])), max_size=5),
)
def test_no_submission_is_lost_by_concurrency_or_crashes(
    turns: list[int], started: list[int], ended: list[tuple[int, str]]
) -> None:
    """Clients submit and flush one request at a time, some stop half-way, and the server starts and ends runs."""
    server, names = FakeServer(), [f"m{number}" for number in range(5)]
    learned: set[str] = set()
    with _clients(server, *map(_submit, names), _expedite, _expedite) as clients:
        for index, turn in enumerate(turns):
            clients[turn].step()
            for run in server.entries.values():
                if index in started and run["status"] == "pending":
                    run["status"] = "running"
                if run["status"] == "running":
                    run["status"] = dict(ended).get(index, "running")

            stored = server.messages()
            learned |= stored
            assert {name for name, client in zip(names, clients, strict=False) if client.is_done} <= stored
            assert learned == stored, "the server must not lose a message"


def test_a_submission_after_a_finished_run_creates_a_run_of_its_own() -> None:
    """The thread is asked for a question then, and there is none."""
    server = FakeServer()
    for name in ("m0", "m1"):
        Client(server, _submit(name)).finish()
        for run in server.entries.values():
            run["status"] = "success"

    runs = [run["kwargs"]["input"]["messages"] for run in server.entries.values()]

    assert [[message["id"] for message in run] for run in runs] == [["m0"], ["m1"]]


def test_sequential_submissions_are_merged_into_one_run() -> None:
    """In the usual case there is one update."""
    server = FakeServer()
    for number in range(4):
        Client(server, _submit(f"m{number}")).finish()

    assert len(server.entries) == 1
    assert server.messages() == {"m0", "m1", "m2", "m3"}
