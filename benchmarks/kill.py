"""kill -9 at random moments: is every turn learned exactly once?

    python benchmarks/kill.py [--quick]

Processes share one outbox and one storage, submit turns and learn from them. Each is killed at a random moment within
its first 600 ms and replaced by a new one. A turn counts as submitted once `submit` has returned and a ledger has noted
it; if the process is killed in between, the turn is submitted again with the same message id. In the end one process
runs the remaining jobs. Each model call makes a unique fact of each new turn, so a turn that is learned twice shows as
two facts. Each turn must also be kept as one episode, and the history must lead back to the empty memory, without a
gap.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from common import Measurement, Row, Skipped, at_least, at_most, run_standalone
from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import BackgroundInvoker, Context, Policy, Scope, Settings, build_graph, open_outbox, open_storage
from memgraph.history.diff import reverse
from memgraph.prompts.update_prompt import read_turns
from memgraph.testing import ScriptedModel, update_answer

SCOPES = [Scope(user) for user in ("ada", "bob", "eve")]
SETTINGS = Settings(debounce_seconds=0.01, max_wait_seconds=0.1, lease_seconds=3, max_concurrency=4)
MODEL_SECONDS = 0.01


def learn(prompt: Sequence[BaseMessage]) -> str:
    """Return one fact for each new turn, made unique by a nonce."""
    time.sleep(MODEL_SECONDS)
    turns = read_turns(str(prompt[-1].content))
    return update_answer(*(f"{turn.text} #{secrets.token_hex(4)}" for turn in turns if turn.is_new))


def make_invoker(folder: str, storage: str) -> BackgroundInvoker:
    graph = build_graph(model=ScriptedModel(learn), storage=storage, policy=Policy(max_facts=10_000, grounding="off"))
    return BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=SETTINGS)


def submit_until_killed(folder: str, storage: str, writer: int) -> None:
    """Submit turns, each with the previous ones of this process, until killed."""
    ledger = Path(folder, f"acknowledged-{writer}")
    first = len(ledger.read_text().splitlines()) if ledger.exists() else 0
    messages: list[HumanMessage] = []
    with make_invoker(folder, storage) as background, ledger.open("a") as notes:
        for number in range(first, 1_000_000):
            turn = f"turn-{writer}-{number}"
            messages = [*messages, HumanMessage(turn, id=turn)][-6:]
            background.submit(messages, SCOPES[writer % len(SCOPES)], f"thread-{writer}")
            notes.write(f"{turn}\n")
            notes.flush()
            time.sleep(random.uniform(0, 0.03))  # noqa: S311


def finish(folder: str, storage: str) -> None:
    """Run the remaining jobs, once the leases of killed processes have expired."""
    with make_invoker(folder, storage) as background:
        for _ in range(20):
            if background.flush(60):
                return


def warm_up() -> None:
    """Import everything that a first update needs, before forking."""
    graph = build_graph(model=ScriptedModel(learn), storage="memory:")
    graph.invoke({"messages": [HumanMessage("warm")]}, context=Context(user_id="warm"))


def kill(folder: str, storage: str, kills: int, at_once: int) -> None:
    running = [start(folder, storage, writer) for writer in range(at_once)]
    for number in range(kills):
        time.sleep(random.uniform(0, 0.6 / at_once))  # noqa: S311
        kill_process(running[number % at_once])
        running[number % at_once] = start(folder, storage, number % at_once)
    for process in running:
        kill_process(process)


def start(folder: str, storage: str, writer: int) -> int:
    return fork(lambda: submit_until_killed(folder, storage, writer))


def fork(work: Callable[[], None]) -> int:
    process = os.fork()
    if not process:
        try:
            work()
        finally:
            os._exit(0)
    return process


def kill_process(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def rows_of(kind: str, folder: str, storage: str, killed: int) -> list[Row]:
    """Count the turns by their fate."""
    submitted = [turn for ledger in Path(folder).glob("acknowledged-*") for turn in ledger.read_text().split()]
    memories = [open_storage(storage).load(scope) for scope in SCOPES]
    kept = Counter(episode.text for scope in SCOPES for episode in open_storage(storage).episodes(scope))
    learned = Counter(fact.content.partition(" #")[0] for memory in memories for fact in memory.facts)
    with closing(sqlite3.connect(f"{folder}/outbox.db")) as db:
        is_intact = db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    with open_outbox(f"sqlite:{folder}/outbox.db") as outbox:
        remaining = len(outbox.pending(now=0)) + len(outbox.dead_letters())
    once = sum(learned[turn] == 1 for turn in submitted)
    return [
        Row(f"{kind}: processes killed", killed),
        Row(f"{kind}: turns submitted", len(submitted)),
        Row(f"{kind}: turns learned exactly once", once, bound=at_least(len(submitted))),
        Row(f"{kind}: turns lost", sum(not learned[turn] for turn in submitted), bound=at_most(0)),
        Row(f"{kind}: turns learned twice", sum(times > 1 for times in learned.values()), bound=at_most(0)),
        Row(f"{kind}: turns not kept word for word", sum(not kept[turn] for turn in submitted), bound=at_most(0)),
        Row(f"{kind}: turns kept twice", sum(times > 1 for times in kept.values()), bound=at_most(0)),
        Row(f"{kind}: memories whose history disagrees", disagreeing(storage), bound=at_most(0)),
        Row(f"{kind}: jobs left over", remaining, bound=at_most(0)),
        Row(f"{kind}: damaged files", int(not is_intact), bound=at_most(0)),
    ]


def disagreeing(storage: str) -> int:
    """Count the memories whose history has a gap, or does not lead back to an empty document."""
    count = 0
    with open_storage(storage) as opened:
        for scope in SCOPES:
            memory, entries = opened.load(scope), opened.revisions(scope)
            is_gapless = [entry.revision for entry in entries] == list(range(memory.revision, 0, -1))
            conflicts = 0
            for entry in entries:
                memory, found = reverse(memory, entry.changes)
                conflicts += len(found)
            count += not is_gapless or bool(conflicts or memory.facts or memory.threads)
    return count


def kill_rows(kind: str, kills: int, at_once: int = 2) -> list[Row]:
    """Kill processes whose memories are in storage *kind*."""
    with tempfile.TemporaryDirectory(prefix="memgraph-kill-") as folder:
        storage = f"sqlite:{folder}/memory.db" if kind == "sqlite" else f"file:{folder}/memory"
        kill(folder, storage, kills, at_once)
        os.waitpid(fork(lambda: finish(folder, storage)), 0)
        return rows_of(kind, folder, storage, kills + at_once)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Kill processes, then count the turns."""
    if not hasattr(os, "fork"):
        raise Skipped("needs a system with fork")
    warm_up()
    kills = 6 if quick else 200
    rows = [row for kind in (("file",) if quick else ("file", "sqlite")) for row in kill_rows(kind, kills)]
    note = (
        "Two concurrent processes with one outbox in SQLite, each killed within its first 600 ms. No loss in "
        f"{kills} kills means, with 95 % confidence, that fewer than one kill in {kills // 3} loses something."
    )
    return Measurement("kill -9", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
