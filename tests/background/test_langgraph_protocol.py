"""RunProtocol with concurrent clients, some of which are killed between two requests."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st
from langgraph_sdk.errors import NotFoundError

from memgraph import Scope
from memgraph.background.langgraph_client import RequestFlow
from memgraph.background.langgraph_protocol import RunProtocol
from memgraph.background.langgraph_runs import server_thread_id
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy

ADA = ConversationKey(Scope("ada"), "t1")
PROTOCOL = RunProtocol("memory_update", DebouncePolicy(30, 300))
DUE = "2026-01-01T00:00:00+00:00"


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


def _not_found() -> NotFoundError:
    return NotFoundError("gone", response=httpx.Response(404, request=httpx.Request("GET", "http://it")), body=None)


class Threads:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def create(self, *, thread_id: str, **_: Any) -> None:
        self.server.known.add(thread_id)

    def get(self, thread: str) -> dict[str, Any]:
        """Return a thread on which nothing waits for an answer."""
        if thread not in self.server.known:
            raise _not_found()
        return {"thread_id": thread, "updated_at": DUE, "metadata": {}, "interrupts": {}}


class Runs:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def list(self, thread: str, **_: Any) -> list[dict[str, Any]]:
        if thread not in self.server.known:
            raise _not_found()
        return list(self.server.entries.values())

    def get(self, _: str, run_id: str) -> dict[str, Any]:
        if run_id not in self.server.entries:
            raise _not_found()
        return self.server.entries[run_id]

    def create(self, thread: str, _: str, *, input: Any, metadata: Any, **__: Any) -> dict[str, Any]:  # noqa: A002
        run = {"status": "pending", "created_at": DUE, "metadata": metadata, "kwargs": {"input": input}}
        return self.server.add(thread, run)

    def cancel_many(self, *, run_ids: Sequence[str], **_: Any) -> None:
        found = [one for one in run_ids if self.server.entries.get(one, {}).get("status") in {"pending", "running"}]
        if not found:
            raise _not_found()
        for one in found:
            del self.server.entries[one]

    def delete(self, _: str, run_id: str) -> None:
        if self.server.entries.pop(run_id, None) is None:
            raise _not_found()


class Client:
    """A client that sends one request at a time."""

    def __init__(self, server: FakeServer, flow: RequestFlow[None]) -> None:
        self.server = server
        self._flow = flow
        self._response: Any = None
        self._error: Exception | None = None
        self.is_done = False

    def step(self) -> None:
        if self.is_done:
            return
        try:
            request = self._flow.throw(self._error) if self._error else self._flow.send(self._response)
        except StopIteration:
            self.is_done = True
            return
        self._response, self._error = None, None
        try:
            self._response = request(self.server)
        except NotFoundError as error:
            self._error = error


def _submit(name: str) -> RequestFlow[None]:
    return PROTOCOL.submit(ADA, [{"type": "human", "content": name, "id": name}], now=100.0)


def _expedite() -> RequestFlow[None]:
    return PROTOCOL.expedite(server_thread_id("memory_update", ADA), now=100.0)


@given(
    turns=st.lists(st.integers(0, 6), max_size=60),
    started=st.lists(st.integers(0, 59), max_size=5),
    ended=st.lists(st.tuples(st.integers(0, 59), st.sampled_from(["success", "error"])), max_size=5),
)
def test_no_submission_is_lost_by_concurrency_or_crashes(
    turns: list[int], started: list[int], ended: list[tuple[int, str]]
) -> None:
    """Clients submit and flush one request at a time, some stop half-way, and the server starts and ends runs."""
    server = FakeServer()
    submissions = {f"m{number}": Client(server, _submit(f"m{number}")) for number in range(5)}
    clients = [*submissions.values(), Client(server, _expedite()), Client(server, _expedite())]
    learned: set[str] = set()
    for index, turn in enumerate(turns):
        clients[turn].step()
        for run in server.entries.values():
            if index in started and run["status"] == "pending":
                run["status"] = "running"
            if run["status"] == "running":
                run["status"] = dict(ended).get(index, "running")

        learned |= server.messages()
        stored = server.messages()
        assert {name for name, client in submissions.items() if client.is_done} <= stored
        assert learned == stored, "the server must not lose a message"


def test_a_submission_after_a_finished_run_creates_a_run_of_its_own() -> None:
    """The thread is asked for a question then, and there is none."""
    server = FakeServer()
    for name in ("m0", "m1"):
        client = Client(server, _submit(name))
        while not client.is_done:
            client.step()
        for run in server.entries.values():
            run["status"] = "success"

    runs = [run["kwargs"]["input"]["messages"] for run in server.entries.values()]

    assert [[message["id"] for message in run] for run in runs] == [["m0"], ["m1"]]


def test_sequential_submissions_are_merged_into_one_run() -> None:
    """In the usual case there is one update."""
    server = FakeServer()
    for number in range(4):
        client = Client(server, _submit(f"m{number}"))
        while not client.is_done:
            client.step()

    assert len(server.entries) == 1
    assert server.messages() == {"m0", "m1", "m2", "m3"}
