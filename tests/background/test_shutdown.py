"""How a process ends that has an invoker: at exit, by SIGTERM, and after a fork. Real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memgraph
from memgraph import Scope, open_outbox, open_storage

ADA, BOB = Scope("ada"), Scope("bob")

BEGIN = """
import os, signal, sys, threading, time
from langchain_core.messages import HumanMessage
from memgraph import BackgroundInvoker, Policy, Scope, Settings, build_graph
from memgraph.background import shutdown
from memgraph.testing import ScriptedModel, update_answer

folder, slow, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
shutdown.EXIT_SECONDS = limit
asked = threading.Event()

def answer(prompt):
    asked.set()
    time.sleep(slow)
    return update_answer("learned")

def say(user):
    invoker.submit([HumanMessage("hello there", id="m1")], Scope(user), "t1")

graph = build_graph(model=ScriptedModel(answer), storage=f"sqlite:{folder}/memory.db")
settings = Settings(debounce_seconds=0, max_concurrency=1)
invoker = BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=settings)
"""
SUBMIT = """
say("ada")
asked.wait(20)
say("bob")
"""
WAIT_FOR_SIGNAL = """
print("ready", flush=True)
time.sleep(60)
print("not reached", flush=True)
"""
FORK = """
say("ada")
invoker.flush(20)
child = os.fork()
if not child:
    say("bob")
    flushed = invoker.flush(20)
    invoker.close()
    os._exit(0 if flushed else 1)
status = os.waitpid(child, 0)[1]
say("eve")
assert invoker.flush(20)
invoker.close()
sys.exit(status)
"""
EXIT, HANG = "0.3", "60"


def start(script: str, folder: Path, slow: str = EXIT, limit: str = "20") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", BEGIN + script, str(folder), slow, limit],
        cwd=Path(memgraph.__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def facts(folder: Path, scope: Scope) -> int:
    return len(open_storage(f"sqlite:{folder}/memory.db").load(scope).facts)


def waiting(folder: Path) -> list[Scope]:
    with open_outbox(f"sqlite:{folder}/outbox.db") as outbox:
        return [job.key.scope for job in outbox.pending(now=0)]


def test_an_exit_finishes_what_runs_and_keeps_the_rest(tmp_path: Path) -> None:
    process = start(SUBMIT, tmp_path)
    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, "")
    assert (facts(tmp_path, ADA), waiting(tmp_path)) == (1, [BOB])


def test_an_exit_does_not_wait_for_a_model_that_hangs(tmp_path: Path) -> None:
    process = start(SUBMIT, tmp_path, HANG, "0.2")
    _, errors = process.communicate(timeout=40)

    assert (process.returncode, errors) == (0, "")
    assert set(waiting(tmp_path)) == {ADA, BOB}


@pytest.mark.parametrize(("slow", "limit", "left"), [(EXIT, "20", [BOB]), (HANG, "0.2", [ADA, BOB])])
def test_a_process_that_is_terminated_finishes_what_runs_and_dies_of_it(
    tmp_path: Path, slow: str, limit: str, left: list[Scope]
) -> None:
    process = start(SUBMIT + WAIT_FOR_SIGNAL, tmp_path, slow, limit)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    said, errors = process.communicate(timeout=40)

    assert (process.returncode, said, errors) == (-signal.SIGTERM, "", "")
    assert sorted(waiting(tmp_path), key=str) == left


def test_a_handler_of_somebody_else_stays(tmp_path: Path) -> None:
    script = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + SUBMIT + WAIT_FOR_SIGNAL
    process = start(script, tmp_path)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=40)

    assert process.returncode == 7
    assert (facts(tmp_path, ADA), waiting(tmp_path)) == (1, [BOB])


def test_after_closing_sigterm_is_as_it_was(tmp_path: Path) -> None:
    script = "invoker.close()\nassert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    process = start(script, tmp_path)
    _, errors = process.communicate(timeout=40)

    assert (process.returncode, errors) == (0, "")


def test_a_forked_child_works_for_itself(tmp_path: Path) -> None:
    """It has its own threads and its own connection, and the parent goes on with its."""
    process = start(FORK, tmp_path, "0")
    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, "")
    assert [facts(tmp_path, scope) for scope in (ADA, BOB, Scope("eve"))] == [1, 1, 1]
    assert waiting(tmp_path) == []
