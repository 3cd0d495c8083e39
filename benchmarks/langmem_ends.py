"""When the background learns, and what a killed process leaves, beside LangMem's ReflectionExecutor.

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

from common import HERE, Measured, Plot, Row, alone, at_least
from comparison import ours, talk, theirs
from fakes import NotedStore, ToolCaller, langmem, manager, of_user
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memgraph import Scope, open_storage

LIVING = """
import pathlib, sys
from langmem_ends import living
living(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))
"""
NOTES = (
    (
        "Quiet time: a person says something every 0.25 s for a while, and the whole conversation is handed over "
        "each time, as LangMem's documentation does. LangMem's executor waits for quiet only; ours also for "
        "`max_wait_seconds` (2) at most, so updates while the person talks are meant. LangMem's are not: a "
        "submission replaces the one before it, but when its thread drops one that was replaced it also forgets "
        "which one came last (version 0.0.30), and the next submission then replaces nothing."
    ),
    (
        "kill -9: conversations are handed over, and the process is killed a while later, with many of them waiting;"
        " one is learned from at a time. Then it is started again and may finish, once the lease (3 s) of the killed"
        " process has expired. LangMem is given a store that notes each write in a file, so all it had learned "
        "counts."
    ),
    "What LangMem's executor does and does not claim is said at its throughput, above.",
)


# -- quiet time -----------------------------------------------------------------------------------

PAUSE, QUIET, LONGEST = 0.25, 0.6, 2.0


def chatter(turns: int, submit: Callable[[list[BaseMessage]], object]) -> None:
    """Say something every quarter of a second, with all that was said before."""
    said: list[BaseMessage] = []
    for number in range(turns):
        said = [*said, HumanMessage(f"Thing {number}", id=f"m{number}"), AIMessage("Yes.", id=f"a{number}")]
        submit(said)
        time.sleep(PAUSE)


def our_quiet(turns: int) -> tuple[int, int]:
    """Updates while a person talked without a pause, and in all."""
    counts: list[int] = []
    with ours(None, seconds=0, debounce=QUIET, longest=LONGEST) as invoker:

        def done() -> int:
            stats = invoker.stats()
            return stats.learned + stats.nothing_new

        def submit(said: list[BaseMessage]) -> None:
            invoker.submit(said, Scope("ada"), "t")
            counts.append(done())

        chatter(turns, submit)
        time.sleep(QUIET + 1.5)
        return counts[-1], done()


def their_quiet(turns: int) -> tuple[int, int]:
    """The same of LangMem."""
    model, store = ToolCaller(), InMemoryStore()
    executor = langmem().ReflectionExecutor(manager(model, store), store=store)
    counts: list[int] = []

    def submit(said: list[BaseMessage]) -> None:
        executor.submit({"messages": said}, config=of_user("ada"), after_seconds=QUIET, thread_id="t")
        counts.append(len(model.asked))

    chatter(turns, submit)
    time.sleep(QUIET + 1.5)
    executor.shutdown(wait=True)
    return counts[-1], len(model.asked)


def quiet(turns: int) -> list[Row]:
    """How often each learned."""
    said = f"{turns} submissions within {turns * PAUSE:.0f} s"
    found = {"memgraph": our_quiet(turns), "LangMem": their_quiet(turns)}
    return [
        Row(f"{said}, updates {when}: {name}", counts[place])
        for place, when in enumerate(("while they came", "in all"))
        for name, counts in found.items()
    ]


# -- the end of the process -----------------------------------------------------------------------


def living(kind: str, folder: Path, conversations: int) -> None:
    """In a process of its own: hand over, say so, and wait to be killed."""
    if kind == "memgraph":
        with ours(folder, at_once=1) as invoker:
            for number in range(conversations):
                invoker.submit(talk(number), Scope(f"user-{number}"), "t")
            print("ready", flush=True)
            invoker.flush(120)
        return
    with theirs(store=NotedStore(folder / "noted.jsonl")) as submit:
        for number in range(conversations):
            submit(number)
        print("ready", flush=True)


def killed(kind: str, folder: Path, conversations: int, after: float) -> int:
    """Kill the process that long after it handed over; start it again, without handing over; count what was learned."""
    command = [sys.executable, "-c", LIVING, kind, str(folder), str(conversations)]
    process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout
    process.stdout.readline()
    time.sleep(after)
    process.kill()
    process.communicate()
    if kind == "memgraph":
        with ours(folder, at_once=16) as invoker:
            invoker.flush(120)
        storage = open_storage(f"file:{folder / 'memory'}")
        return sum(len(storage.load(Scope(f"user-{number}")).facts) for number in range(conversations))
    noted = folder / "noted.jsonl"
    return len({json.loads(line)["content"]["content"] for line in noted.read_text("utf-8").splitlines()})


def kills(conversations: int, moments: Sequence[float]) -> dict[str, list[int]]:
    """What is learned in the end, by the moment of the kill."""
    learned: dict[str, list[int]] = {"memgraph": [], "LangMem": []}
    for kind, counts in learned.items():
        for after in moments:
            with tempfile.TemporaryDirectory() as folder:
                counts.append(killed(kind, Path(folder), conversations, after))
    return learned


def kill_rows(learned: Mapping[str, Sequence[int]], conversations: int, moments: Sequence[float]) -> list[Row]:
    """A row a moment."""
    return [
        Row(
            f"killed {after:g} s after {conversations} were handed over, learned in the end: {kind}",
            count,
            bound=at_least(conversations) if kind == "memgraph" else None,
        )
        for kind, counts in learned.items()
        for after, count in zip(moments, counts, strict=True)
    ]


def kill_plot(learned: Mapping[str, Sequence[int]], conversations: int, moments: Sequence[float]) -> Plot:
    """What survives a kill."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for marker, (kind, counts) in zip("os", learned.items(), strict=True):
            axes.plot(moments, counts, marker=marker, label=kind)
        axes.set(xlabel=f"kill -9, seconds after {conversations} conversations were handed over, a model of 0.3 s")
        axes.set(ylabel="conversations learned in the end", ylim=(0, conversations * 1.05), xlim=(0, None))
        axes.legend(loc="center left")

    return Plot("background_kill", "Conversations learned although the process was killed and started again.", draw)


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure both."""
    langmem()
    waiting, moments = (6, (0.5,)) if quick else (40, (0.5, 2.0, 4.0, 8.0))
    learned = kills(waiting, moments)
    rows = [*quiet(4 if quick else 32), *kill_rows(learned, waiting, moments)]
    plots = [kill_plot(learned, waiting, moments)]
    return Measured("Quiet time and kill -9, beside LangMem", rows, plots, notes=NOTES)


if __name__ == "__main__":
    alone(measure)
