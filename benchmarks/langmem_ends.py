"""Debouncing and durability after kill -9, compared with LangMem's ReflectionExecutor.

python benchmarks/langmem_ends.py [--quick]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import HERE, Measurement, Plot, Row, at_least, run_standalone
from comparison import langmem_executors, make_conversation, memgraph_invoker
from fakes import LoggingStore, ToolCaller, langmem, make_manager, user_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memgraph import Scope, open_storage

CHILD = """
import pathlib, sys
from langmem_ends import submit_until_killed
submit_until_killed(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))
"""
NOTES = (
    (
        "Debouncing: a user sends a message every 0.25 s for a while, and the whole conversation is submitted each "
        "time, as in LangMem's documentation. LangMem's executor waits only for quiet; memgraph also processes after "
        "`max_wait_seconds` (2), so its updates during the submissions are intended. LangMem's are not: a submission "
        "replaces the previous one, but when the thread drops a replaced one it also loses track of the latest "
        "(version 0.0.30), and the next submission replaces nothing."
    ),
    (
        "kill -9: conversations are submitted and processed one at a time, and the process is killed while many are "
        "pending. It is then restarted and may finish, once the lease (3 s) of the killed process has expired. LangMem "
        "gets a store that logs each write to a file, so everything it had learned counts."
    ),
    "The notes on throughput above state what LangMem's executor does and does not claim.",
)


# -- debouncing -----------------------------------------------------------------------------------

PAUSE, QUIET, LONGEST = 0.25, 0.6, 2.0


def submit_repeatedly(turns: int, submit: Callable[[list[BaseMessage]], object]) -> None:
    """Submit a growing conversation every quarter of a second."""
    messages: list[BaseMessage] = []
    for number in range(turns):
        messages = [*messages, HumanMessage(f"Thing {number}", id=f"m{number}"), AIMessage("Yes.", id=f"a{number}")]
        submit(messages)
        time.sleep(PAUSE)


def memgraph_updates(turns: int) -> tuple[int, int]:
    """Return memgraph's number of updates during the submissions, and in total."""
    counts: list[int] = []
    with memgraph_invoker(None, seconds=0, debounce=QUIET, longest=LONGEST) as invoker:

        def done() -> int:
            stats = invoker.stats()
            return stats.learned + stats.nothing_new

        def submit(messages: list[BaseMessage]) -> None:
            invoker.submit(messages, Scope("ada"), "t")
            counts.append(done())

        submit_repeatedly(turns, submit)
        time.sleep(QUIET + 1.5)
        return counts[-1], done()


def langmem_updates(turns: int) -> tuple[int, int]:
    """Return the same for LangMem."""
    model, store = ToolCaller(), InMemoryStore()
    executor = langmem().ReflectionExecutor(make_manager(model, store), store=store)
    counts: list[int] = []

    def submit(messages: list[BaseMessage]) -> None:
        executor.submit({"messages": messages}, config=user_config("ada"), after_seconds=QUIET, thread_id="t")
        counts.append(len(model.asked))

    submit_repeatedly(turns, submit)
    time.sleep(QUIET + 1.5)
    executor.shutdown(wait=True)
    return counts[-1], len(model.asked)


def debounce_rows(turns: int) -> list[Row]:
    """Count the updates of each."""
    name = f"{turns} submissions within {turns * PAUSE:.0f} s"
    counts = {"memgraph": memgraph_updates(turns), "LangMem": langmem_updates(turns)}
    return [
        Row(f"{name}, updates {when}: {library}", numbers[index])
        for index, when in enumerate(("during them", "in total"))
        for library, numbers in counts.items()
    ]


# -- kill -9 -----------------------------------------------------------------------


def submit_until_killed(kind: str, folder: Path, conversations: int) -> None:
    """Run in a child process: submit all conversations, print "ready", and process them until killed."""
    if kind == "memgraph":
        with memgraph_invoker(folder, at_once=1) as invoker:
            for number in range(conversations):
                invoker.submit(make_conversation(number), Scope(f"user-{number}"), "t")
            print("ready", flush=True)
            invoker.flush(120)
        return
    with langmem_executors(store=LoggingStore(folder / "writes.jsonl")) as submit:
        for number in range(conversations):
            submit(number)
        print("ready", flush=True)


def kill_and_restart(kind: str, folder: Path, conversations: int, after: float) -> int:
    """Kill the process some time after its submissions; restart it without submitting; count what was learned."""
    command = [sys.executable, "-c", CHILD, kind, str(folder), str(conversations)]
    process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout
    process.stdout.readline()
    time.sleep(after)
    process.kill()
    process.communicate()
    if kind == "memgraph":
        with memgraph_invoker(folder, at_once=16) as invoker:
            invoker.flush(120)
        storage = open_storage(f"file:{folder / 'memory'}")
        return sum(len(storage.load(Scope(f"user-{number}")).recallable) for number in range(conversations))
    log = folder / "writes.jsonl"
    return len({json.loads(line)["content"]["content"] for line in log.read_text("utf-8").splitlines()})


def kills(conversations: int, moments: Sequence[float]) -> dict[str, list[int]]:
    """Count what is learned in the end, by the moment of the kill."""
    learned: dict[str, list[int]] = {"memgraph": [], "LangMem": []}
    for kind, counts in learned.items():
        for after in moments:
            with tempfile.TemporaryDirectory() as folder:
                counts.append(kill_and_restart(kind, Path(folder), conversations, after))
    return learned


def kill_rows(learned: Mapping[str, Sequence[int]], conversations: int, moments: Sequence[float]) -> list[Row]:
    """Return one row per moment."""
    return [
        Row(
            f"killed {after:g} s after {conversations} were submitted, learned in the end: {kind}",
            count,
            bound=at_least(conversations) if kind == "memgraph" else None,
        )
        for kind, counts in learned.items()
        for after, count in zip(moments, counts, strict=True)
    ]


def kill_plot(learned: Mapping[str, Sequence[int]], conversations: int, moments: Sequence[float]) -> Plot:
    """Plot what survives a kill."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for marker, (kind, counts) in zip("os", learned.items(), strict=True):
            axes.plot(moments, counts, marker=marker, label=kind)
        axes.set(xlabel=f"kill -9, seconds after {conversations} submissions, model latency 0.3 s")
        axes.set(ylabel="conversations learned in the end", ylim=(0, conversations * 1.05), xlim=(0, None))
        axes.legend(loc="center left")

    return Plot("background_kill", "Conversations learned although the process was killed and restarted.", draw)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure memgraph and LangMem."""
    langmem()
    conversations, moments = (6, (0.5,)) if quick else (40, (0.5, 2.0, 4.0, 8.0))
    learned = kills(conversations, moments)
    rows = [*debounce_rows(4 if quick else 32), *kill_rows(learned, conversations, moments)]
    plots = [kill_plot(learned, conversations, moments)]
    return Measurement("Debouncing and kill -9, compared with LangMem", rows, plots, notes=NOTES)


if __name__ == "__main__":
    run_standalone(measure)
