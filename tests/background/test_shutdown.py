"""How a process with an invoker ends: at exit, by SIGTERM, and after a fork. Real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import memgraph
from memgraph import Scope, open_outbox, open_storage
from memgraph.background.shutdown import CAN_START_THREADS

ADA, BOB = Scope("ada"), Scope("bob")

SETUP = """
import os, signal, sys, threading, time
from langchain_core.messages import HumanMessage
from memgraph import BackgroundInvoker, Policy, Scope, Settings, build_graph
from memgraph.background import shutdown
from memgraph.background.shared import REGISTRY
from memgraph.testing import ScriptedModel, update_answer

folder, model_returns, exit_seconds = sys.argv[1:]
shutdown.EXIT_SECONDS = float(exit_seconds)  # of SIGTERM
model_called = threading.Event()

def answer(prompt):
    model_called.set()
    if model_returns == "while closing":
        while not invoker._group.runner.is_closing:
            time.sleep(0.01)
    elif model_returns == "never":
        time.sleep(600)
    elif model_returns == "during the exit":
        while REGISTRY._exit_deadline is None:
            time.sleep(0.01)
    return update_answer("learned")

def submit(user):
    invoker.submit([HumanMessage("hello there", id="m1")], Scope(user), "t1")

graph = build_graph(model=ScriptedModel(answer), storage=f"sqlite:{folder}/memory.db", policy=Policy(grounding="off"))
settings = Settings(debounce_seconds=0, max_concurrency=1, exit_seconds=float(exit_seconds))
invoker = BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=settings)
"""
SUBMIT = """
submit("ada")
model_called.wait(120)
submit("bob")
"""
WAIT_FOR_SIGNAL = """
print("ready", flush=True)
time.sleep(600)
print("not reached", flush=True)
"""
FORK = """
submit("ada")
invoker.flush(120)
child = os.fork()
if not child:
    submit("bob")
    flushed = invoker.flush(120)
    invoker.close()
    os._exit(0 if flushed else 1)
status = os.waitpid(child, 0)[1]
submit("eve")
assert invoker.flush(120)
invoker.close()
sys.exit(status)
"""
FORK_WITH_OTHER_SETTINGS = """
submit("ada")
invoker.flush(120)
child = os.fork()
if not child:
    policy, storage = Policy(grounding="off"), f"sqlite:{folder}/memory.db"
    other = build_graph(model=ScriptedModel(answer), storage=storage, policy=policy, review="always")
    with BackgroundInvoker(other, outbox=f"sqlite:{folder}/outbox.db") as own:
        own.submit([HumanMessage("hello there", id="m1")], Scope("bob"), "t1")
        own.flush(120)
        waiting = len(own.storage.load(Scope("bob")).pending)
    os._exit(0 if waiting == 1 else 1)
status = os.waitpid(child, 0)[1]
submit("eve")
assert invoker.flush(120)
sys.exit(status)
"""
WAIT_FOR_QUIET = """
invoker.close()
settings = settings.model_copy(update={"debounce_seconds": 3_600, "max_wait_seconds": 3_600, "max_concurrency": 2})
invoker = BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=settings)
"""
ON_A_TERMINAL = """
import io
class Terminal(io.StringIO):
    def isatty(self): return True
    def write(self, text): return sys.stdout.write(text)
sys.stderr = Terminal()
"""
STANDS_STILL = """
import atexit
from memgraph._concurrency import seconds_left
from memgraph.background import shared
from memgraph.errors import OutboxError
def stand_still(*args, **options):
    time.sleep(min(max(0, seconds_left()), 600))
    raise OutboxError("no answer")
atexit.register(lambda: print(time.monotonic() - began))  # called last
shared.HAND_OVER_SECONDS = 4
submit("ada")
invoker.outbox.pending = invoker.outbox.expedite = stand_still
began = time.monotonic()
"""
NO_TIME, ENOUGH_TIME = "0.2", "120"
"""Seconds that an exit waits for updates."""

NO_THREADS = """
from memgraph.background import shutdown
shutdown.CAN_START_THREADS = False
"""

learns_at_exit = pytest.mark.skipif(
    not CAN_START_THREADS, reason="Python 3.12.0 and 3.12.1 start no thread once the exit has begun"
)


def start(
    script: str, folder: Path, model_returns: str = "while closing", exit_seconds: str = ENOUGH_TIME
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SETUP + script, str(folder), model_returns, exit_seconds],
        cwd=Path(memgraph.__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def count_facts(folder: Path, scope: Scope) -> int:
    return len(open_storage(f"sqlite:{folder}/memory.db").load(scope).facts)


def pending_scopes(folder: Path) -> list[Scope]:
    with open_outbox(f"sqlite:{folder}/outbox.db") as outbox:
        return [job.key.scope for job in outbox.pending(now=0)]


@learns_at_exit
def test_exit_finishes_running_jobs_and_those_that_are_due(tmp_path: Path) -> None:
    process = start(SUBMIT, tmp_path, "during the exit")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert (count_facts(tmp_path, ADA), count_facts(tmp_path, BOB), pending_scopes(tmp_path)) == (1, 1, [])


@learns_at_exit
def test_exit_learns_what_waits_for_quiet(tmp_path: Path) -> None:
    process = start(WAIT_FOR_QUIET + "submit('ada')\nsubmit('bob')", tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert (count_facts(tmp_path, ADA), count_facts(tmp_path, BOB), pending_scopes(tmp_path)) == (1, 1, [])


@learns_at_exit
def test_exit_leaves_what_waits_for_another_process(tmp_path: Path) -> None:
    """It may still be in the middle of the conversation."""
    other = WAIT_FOR_QUIET + "submit('bob')\nprint('ready', flush=True)\nsys.stdin.read()\nos._exit(0)"
    running = start(other, tmp_path, "at once")
    assert running.stdout
    assert running.stdout.readline() == "ready\n"
    process = start(WAIT_FOR_QUIET + "submit('ada')", tmp_path, "at once")
    _, errors = process.communicate(timeout=300)
    pending = pending_scopes(tmp_path)
    running.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert (count_facts(tmp_path, ADA), pending) == (1, [BOB])


def test_next_process_learns_at_once_what_an_exit_has_left(tmp_path: Path) -> None:
    """Although neither its quiet time nor the lease of the abandoned update has passed."""
    process = start(WAIT_FOR_QUIET + "submit('ada')\nsubmit('bob')", tmp_path, "never", NO_TIME)
    process.communicate(timeout=300)
    left = pending_scopes(tmp_path)
    began = time.time()
    following = start("while invoker.pending(): time.sleep(0.01)", tmp_path, "at once")
    _, errors = following.communicate(timeout=300)

    assert (following.returncode, errors) == (0, "")
    assert (sorted(left, key=str), pending_scopes(tmp_path)) == ([ADA, BOB], [])
    assert (count_facts(tmp_path, ADA), count_facts(tmp_path, BOB)) == (1, 1)
    assert time.time() - began < 3_600


def test_exit_without_time_learns_nothing(tmp_path: Path) -> None:
    process = start(WAIT_FOR_QUIET + "submit('ada')", tmp_path, "at once", "0")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert (count_facts(tmp_path, ADA), pending_scopes(tmp_path)) == (0, [ADA])


def test_exit_that_cannot_start_threads_leaves_what_waits_to_the_next_process(tmp_path: Path) -> None:
    process = start(NO_THREADS + WAIT_FOR_QUIET + "submit('ada')", tmp_path, "at once")
    _, errors = process.communicate(timeout=300)
    left = pending_scopes(tmp_path)
    following = start("while invoker.pending(): time.sleep(0.01)", tmp_path, "at once")
    following.communicate(timeout=300)

    assert (process.returncode, errors, left) == (0, "", [ADA])
    assert (count_facts(tmp_path, ADA), pending_scopes(tmp_path)) == (1, [])


@learns_at_exit
def test_an_outbox_that_stands_still_delays_an_exit_by_one_limit(tmp_path: Path) -> None:
    """Of `exit_seconds` and the time to leave the rest; it is not asked for both after it gave no answer."""
    process = start(STANDS_STILL, tmp_path, "never", "1")
    output, _ = process.communicate(timeout=300)

    assert float(output) < 1 + 4 + 3


@learns_at_exit
def test_exit_shows_one_line_on_a_terminal(tmp_path: Path) -> None:
    process = start(ON_A_TERMINAL + WAIT_FOR_QUIET + "submit('ada')\nsubmit('bob')", tmp_path, "at once")
    output, _ = process.communicate(timeout=300)

    assert output.splitlines() == ["memgraph: learning from 2 conversations, at most 120 s (Ctrl-C leaves the rest)"]


def test_exit_shows_nothing_if_nothing_is_pending(tmp_path: Path) -> None:
    process = start(ON_A_TERMINAL + "submit('ada')\ninvoker.flush()", tmp_path, "at once")
    output, _ = process.communicate(timeout=300)

    assert (process.returncode, output) == (0, "")


def test_exit_does_not_wait_for_a_hanging_model(tmp_path: Path) -> None:
    process = start(SUBMIT, tmp_path, "never", NO_TIME)
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert set(pending_scopes(tmp_path)) == {ADA, BOB}


@pytest.mark.parametrize(
    ("model_returns", "exit_seconds", "pending"),
    [("while closing", ENOUGH_TIME, [BOB]), ("never", NO_TIME, [ADA, BOB])],
)
def test_sigterm_finishes_running_jobs_and_terminates(
    tmp_path: Path, model_returns: str, exit_seconds: str, pending: list[Scope]
) -> None:
    process = start(SUBMIT + WAIT_FOR_SIGNAL, tmp_path, model_returns, exit_seconds)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    output, errors = process.communicate(timeout=300)

    assert (process.returncode, output, errors) == (-signal.SIGTERM, "", "")
    assert sorted(pending_scopes(tmp_path), key=str) == pending


@learns_at_exit
def test_existing_sigterm_handler_is_kept(tmp_path: Path) -> None:
    script = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + SUBMIT + WAIT_FOR_SIGNAL
    process = start(script, tmp_path, "during the exit")
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=300)

    assert process.returncode == 7
    assert (count_facts(tmp_path, ADA), count_facts(tmp_path, BOB), pending_scopes(tmp_path)) == (1, 1, [])


@pytest.mark.parametrize(
    ("before", "installed"),
    [
        ("submit('ada')", True),
        ("", False),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); submit('ada')", False),
        ("thread = threading.Thread(target=submit, args=('ada',)); thread.start(); thread.join()", False),
        ("invoker.start()", True),
    ],
    ids=["submission", "no submission", "ignored", "other thread", "start"],
)
def test_sigterm_handler_is_installed_by_the_first_submission(tmp_path: Path, before: str, *, installed: bool) -> None:
    """On the main thread, and only if the signal would kill the process."""
    check = f"""
handler = signal.getsignal(signal.SIGTERM)
assert (handler not in (signal.SIG_DFL, signal.SIG_IGN)) is {installed}, handler
"""
    process = start(f"{before}{check}", tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")


def test_sigterm_handler_can_be_switched_off(tmp_path: Path) -> None:
    script = """
invoker.close()
settings = settings.model_copy(update={"handle_sigterm": False})
invoker = BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=settings)
submit("ada")
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    process = start(script, tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")


def test_later_sigterm_handler_can_call_the_one_before(tmp_path: Path) -> None:
    """As a handler that wraps others does: updates finish, and the process ends as by the signal."""
    script = """
previous = signal.getsignal(signal.SIGTERM)
def wrap(number, frame):
    print("wrapped", flush=True)
    previous(number, frame)
signal.signal(signal.SIGTERM, wrap)
"""
    process = start(SUBMIT + script + WAIT_FOR_SIGNAL, tmp_path)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    output, errors = process.communicate(timeout=300)

    assert (process.returncode, output, errors) == (-signal.SIGTERM, "wrapped\n", "")
    assert (count_facts(tmp_path, ADA), pending_scopes(tmp_path)) == (1, [BOB])


def test_close_restores_the_sigterm_handler(tmp_path: Path) -> None:
    script = "submit('ada')\ninvoker.close()\nassert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    process = start(script, tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")


def test_forked_child_has_its_own_workers(tmp_path: Path) -> None:
    """It has its own threads and its own connection, and the parent keeps its own."""
    process = start(FORK, tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert [count_facts(tmp_path, scope) for scope in (ADA, BOB, Scope("eve"))] == [1, 1, 1]
    assert pending_scopes(tmp_path) == []


def test_forked_child_can_open_the_outbox_with_another_configuration(tmp_path: Path) -> None:
    """The parent's invokers are not in use in the child."""
    process = start(FORK_WITH_OTHER_SETTINGS, tmp_path, "at once")
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (0, "")
    assert [count_facts(tmp_path, scope) for scope in (ADA, Scope("eve"))] == [1, 1]
