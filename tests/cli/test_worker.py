"""memgraph worker runs the jobs of an outbox, until it is stopped or once."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memgraph import Scope, open_outbox, open_storage
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.cli.worker import JsonFormatter, LineFormatter, _touch_if_reachable
from memgraph.errors import OutboxError
from memgraph.models.scope import log_id
from memgraph.testing import update_answer

LIMIT_SECONDS = 120
LATER = DebouncePolicy(3_600, 3_600)
OFFLINE = ("--outbox", "outbox.db")


@pytest.fixture
def enqueue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a conversation of Ada into the outbox, as an agent does that ends before it learns."""
    monkeypatch.setenv("MEMGRAPH_MODEL_NAME", "offline")
    storage = open_storage(str(tmp_path / "memories")).name

    def put(text: str = "Hi, my name is Ada.", thread: str = "t1", storage: str = storage) -> None:
        with open_outbox(str(tmp_path / "outbox.db")) as outbox:
            messages = dump_messages([HumanMessage(text, id=f"{thread}-1")])
            key = ConversationKey(Scope("ada"), thread)
            outbox.for_storage(storage).enqueue(key, messages, now=time.time(), timing=LATER, max_jobs=1_000)

    return put


def known(tmp_path: Path) -> list[str]:
    return [fact.content for fact in open_storage(str(tmp_path / "memories")).load(Scope("ada")).facts]


# -- once -----------------------------------------------------------------------------------------


def test_once_learns_everything_that_waits(memgraph: Any, enqueue: Callable[..., None], tmp_path: Path) -> None:
    """Without waiting for quiet, which would outlast the scripts that call it."""
    enqueue()

    result = memgraph("worker", "--once", *OFFLINE)

    assert result.code == 0
    assert known(tmp_path) == ["Name is Ada."]
    assert "No pending conversations" in memgraph("pending", *OFFLINE).out


def test_once_without_jobs_is_a_success(memgraph: Any, tmp_path: Path) -> None:
    assert memgraph("worker", "--once", *OFFLINE).code == 0


def test_once_fails_if_something_was_not_learned(
    memgraph: Any, enqueue: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cron job that does not work is noticed."""
    enqueue()
    monkeypatch.setenv("MEMGRAPH_MODEL_NAME", "openai:m")  # without a key

    result = memgraph("worker", "--once", *OFFLINE)

    assert result.code == 1
    assert result.err.endswith("was learned: see `memgraph pending`\n")


def test_jobs_of_another_storage_are_left_and_listed_with_what_they_need(
    memgraph: Any, enqueue: Callable[..., None]
) -> None:
    """Its memory is not reachable from here."""
    enqueue(storage="sqlite:/elsewhere/memory.db")

    assert memgraph("worker", "--once", *OFFLINE).code == 0

    pending = memgraph("pending", *OFFLINE).out
    assert "unless the conversation goes on, needs a worker of sqlite:/elsewhere/memory.db" in pending
    assert "`memgraph worker --once` learns them now." in pending


def test_disabled_memory_learns_nothing(
    memgraph: Any, enqueue: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    enqueue()
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    assert "Memory is off" in memgraph("worker", "--once", *OFFLINE).out
    assert known(tmp_path) == []


# -- the log --------------------------------------------------------------------------------------


def test_json_logs_are_one_object_a_line_without_user_text(memgraph: Any, enqueue: Callable[..., None]) -> None:
    """For the collectors of containers' logs."""
    enqueue()

    lines = [json.loads(line) for line in memgraph("worker", "--once", "--json", *OFFLINE).out.splitlines()]

    entries = [entry for entry in lines if entry["logger"] in {"memgraph.worker", "memgraph.invoker"}]
    assert [entry["message"].partition(":")[0].split(" user=")[0] for entry in entries] == [
        "worker started",
        "update",
        "worker stopped",
    ]
    started, update, stopped = entries
    assert (started["model"], started["level"]) == ("offline", "info")
    assert (update["user"], update["thread"], update["outcome"]) == (log_id("ada"), "t1", "learned")
    assert stopped["learned"] == 1
    assert "name is Ada" not in json.dumps(lines)


def _record(message: str, error: Exception | None = None) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    return logging.LogRecord("memgraph.x", logging.ERROR, "", 0, message, (), info)


def test_a_log_line_has_no_control_characters() -> None:
    """A message may quote what a model server answered."""
    line = LineFormatter().format(_record("down: \x1b[31m\nHTTP 500"))

    assert line.endswith("ERROR   down: <U+001B>[31m HTTP 500")


def test_a_json_log_entry_has_the_traceback() -> None:
    entry = json.loads(JsonFormatter().format(_record("failed", ValueError("no"))))

    assert (entry["message"], entry["traceback"]) == ("failed", "ValueError: no")


# -- health ---------------------------------------------------------------------------------------


def test_the_health_file_is_touched_only_while_the_outbox_can_be_reached(tmp_path: Path) -> None:
    """A worker that cannot reach its outbox is restarted or reported, not trusted."""
    health = tmp_path / "healthy"

    class Unreachable(type(open_outbox("memory:"))):  # type: ignore[misc]
        def next_due(self, *, now: float) -> float | None:
            raise OutboxError("no route to host")

    _touch_if_reachable(health, Unreachable())
    assert not health.exists()

    with open_outbox("memory:") as outbox:
        _touch_if_reachable(health, outbox)
    assert health.exists()


# -- processes ------------------------------------------------------------------------------------


class Gate:
    """A model server that answers once it is opened."""

    def __init__(self, server: HTTPServer) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        server.expect_request("/v1/chat/completions").respond_with_handler(self.answer)

    def answer(self, _: Request) -> Response:
        self.entered.set()
        self.opened.wait(LIMIT_SECONDS)
        message = {"role": "assistant", "content": update_answer("Name is Ada.")}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return Response(json.dumps(body), content_type="application/json")


@pytest.fixture
def gate(httpserver: HTTPServer) -> Iterator[Gate]:
    gate = Gate(httpserver)
    yield gate
    gate.opened.set()


@pytest.fixture
def start_worker(
    tmp_path: Path, httpserver: HTTPServer, enqueue: Callable[..., None]
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a worker whose model is on the test's server; each conversation is due at once."""
    started: list[subprocess.Popen[str]] = []
    variables = {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "MEMGRAPH_MODEL_NAME": "openai:m",
        "MEMGRAPH_GROUNDING": "off",
        "OPENAI_BASE_URL": httpserver.url_for("/v1"),
        "OPENAI_API_KEY": "none",
    }

    def start(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "memgraph", "worker", "--json", *OFFLINE, *options]
        # a child inherits an ignored SIGINT, which a CI runner and `nohup` have
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = subprocess.Popen(
                command, cwd=tmp_path, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, previous)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["", "SIGINT is ignored"])
def sigint(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the process of the tests does on SIGINT."""
    previous = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, previous)


def wait_for_entry(process: subprocess.Popen[str], message: str) -> None:
    """Read the log up to *message*; a worker that does not write it within the limit is killed."""
    assert process.stdout
    limit = threading.Timer(LIMIT_SECONDS, process.kill)
    limit.start()
    try:
        while message not in (line := process.stdout.readline()):
            assert line, f"the worker ended without {message!r}"
    finally:
        limit.cancel()


def make_due(tmp_path: Path) -> None:
    with open_outbox(str(tmp_path / "outbox.db")) as outbox:
        outbox.expedite(now=time.time())


@pytest.mark.usefixtures("sigint")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_running_update(
    start_worker: Callable[..., subprocess.Popen[str]],
    enqueue: Callable[..., None],
    gate: Gate,
    tmp_path: Path,
    number: int,
) -> None:
    """And leaves with exit code 0, so that a deployment does not look like a crash."""
    enqueue()
    make_due(tmp_path)
    process = start_worker()
    assert gate.entered.wait(LIMIT_SECONDS)

    process.send_signal(number)
    wait_for_entry(process, "worker stopping")
    gate.opened.set()

    assert process.wait(LIMIT_SECONDS) == 0
    assert known(tmp_path) == ["Name is Ada."]
    with open_outbox(str(tmp_path / "outbox.db")) as outbox:
        assert outbox.pending(now=time.time()) == ()


def test_a_second_signal_abandons_the_running_update(
    start_worker: Callable[..., subprocess.Popen[str]], enqueue: Callable[..., None], gate: Gate, tmp_path: Path
) -> None:
    """Its lease expires, and another worker takes over."""
    enqueue()
    make_due(tmp_path)
    process = start_worker()
    assert gate.entered.wait(LIMIT_SECONDS)
    process.terminate()
    wait_for_entry(process, "worker stopping")

    process.terminate()

    assert process.wait(LIMIT_SECONDS) == 130
    with open_outbox(str(tmp_path / "outbox.db")) as outbox:
        assert len(outbox.pending(now=time.time())) == 1


def test_workers_share_an_outbox_and_report_their_health(
    start_worker: Callable[..., subprocess.Popen[str]], enqueue: Callable[..., None], gate: Gate, tmp_path: Path
) -> None:
    """What one of them runs, the other leaves alone."""
    gate.opened.set()
    for thread in ("t1", "t2", "t3"):
        enqueue(f"Hi, I am in {thread}.", thread)
    make_due(tmp_path)

    workers = [start_worker("--health", f"healthy-{name}") for name in "ab"]

    deadline = time.monotonic() + LIMIT_SECONDS
    with open_outbox(str(tmp_path / "outbox.db")) as outbox:
        while outbox.pending(now=time.time()) or not all((tmp_path / f"healthy-{name}").exists() for name in "ab"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    for process in workers:
        process.terminate()
    counts = [json.loads(process.communicate()[0].splitlines()[-1]) for process in workers]
    assert [process.returncode for process in workers] == [0, 0]
    # the answers are the same: what was said before on the same day confirms nothing
    assert sum(count["learned"] + count["nothing_new"] for count in counts) == 3
