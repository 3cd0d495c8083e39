"""What clients say to the server at the same time, in any order, and with some of them killed in between."""

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
TALK = RunProtocol("memory_update", DebouncePolicy(30, 300))
DUE = "2026-01-01T00:00:00+00:00"


class FakeServer:
    """Runs and threads of one server, as far as the invoker asks for them. It is its own client."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.known: set[str] = set()
        self._ids = itertools.count(1)
        self.runs, self.threads = Runs(self), Threads(self)

    def messages(self) -> set[str]:
        """What will be learned from, or was."""
        inputs = [run["kwargs"]["input"]["messages"] for run in self.entries.values()]
        return {message["id"] for messages in inputs for message in messages}

    def add(self, thread: str, run: dict[str, Any]) -> dict[str, Any]:
        self.known.add(thread)
        run["run_id"] = str(uuid.UUID(int=next(self._ids)))
        self.entries[run["run_id"]] = run
        return run


def _gone() -> NotFoundError:
    return NotFoundError("gone", response=httpx.Response(404, request=httpx.Request("GET", "http://it")), body=None)


class Threads:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def create(self, *, thread_id: str, **_: Any) -> None:
        self.server.known.add(thread_id)


class Runs:
    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def list(self, thread: str, **_: Any) -> list[dict[str, Any]]:
        if thread not in self.server.known:
            raise _gone()
        return list(self.server.entries.values())

    def get(self, _: str, run_id: str) -> dict[str, Any]:
        if run_id not in self.server.entries:
            raise _gone()
        return self.server.entries[run_id]

    def create(self, thread: str, _: str, *, input: Any, metadata: Any, **__: Any) -> dict[str, Any]:  # noqa: A002
        run = {"status": "pending", "created_at": DUE, "metadata": metadata, "kwargs": {"input": input}}
        return self.server.add(thread, run)

    def cancel_many(self, *, run_ids: Sequence[str], **_: Any) -> None:
        found = [one for one in run_ids if self.server.entries.get(one, {}).get("status") in {"pending", "running"}]
        if not found:
            raise _gone()
        for one in found:
            del self.server.entries[one]

    def delete(self, _: str, run_id: str) -> None:
        if self.server.entries.pop(run_id, None) is None:
            raise _gone()


class Client:
    """Somebody who takes one step after the other."""

    def __init__(self, server: FakeServer, steps: RequestFlow[None]) -> None:
        self.server = server
        self._steps = steps
        self._next: Any = None
        self._refusal: Exception | None = None
        self.is_done = False

    def step(self) -> None:
        if self.is_done:
            return
        try:
            question = self._steps.throw(self._refusal) if self._refusal else self._steps.send(self._next)
        except StopIteration:
            self.is_done = True
            return
        self._next, self._refusal = None, None
        try:
            self._next = question(self.server)
        except NotFoundError as refusal:
            self._refusal = refusal


def _submit(name: str) -> RequestFlow[None]:
    return TALK.submit(ADA, [{"type": "human", "content": name, "id": name}], now=100.0)


def _hasten() -> RequestFlow[None]:
    return TALK.expedite(server_thread_id("memory_update", ADA), now=100.0)


@given(
    turns=st.lists(st.integers(0, 6), max_size=60),
    started=st.lists(st.integers(0, 59), max_size=5),
    ended=st.lists(st.tuples(st.integers(0, 59), st.sampled_from(["success", "error"])), max_size=5),
)
def test_nothing_that_was_submitted_is_lost_whoever_comes_first_and_whoever_dies(
    turns: list[int], started: list[int], ended: list[tuple[int, str]]
) -> None:
    """Clients submit and flush a step at a time, some stop half-way, and the server starts and ends runs in between."""
    server = FakeServer()
    submissions = {f"m{number}": Client(server, _submit(f"m{number}")) for number in range(5)}
    clients = [*submissions.values(), Client(server, _hasten()), Client(server, _hasten())]
    learned: set[str] = set()
    for at, turn in enumerate(turns):
        clients[turn].step()
        for run in server.entries.values():
            if at in started and run["status"] == "pending":
                run["status"] = "running"
            if run["status"] == "running":
                run["status"] = dict(ended).get(at, "running")

        learned |= server.messages()
        kept = server.messages()
        assert {name for name, client in submissions.items() if client.is_done} <= kept
        assert learned == kept, "what the server once had must not go"


def test_one_client_after_another_leaves_one_run_with_all_they_said() -> None:
    """The usual case pays for one update."""
    server = FakeServer()
    for number in range(4):
        client = Client(server, _submit(f"m{number}"))
        while not client.is_done:
            client.step()

    assert len(server.entries) == 1
    assert server.messages() == {"m0", "m1", "m2", "m3"}
