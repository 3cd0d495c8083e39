"""Kill -9 at random moments: is every turn learned exactly once?

    python benchmarks/kill.py [--kills 200] [--processes 2] [--storage file|sqlite]

Processes share one outbox and one storage, submit turns and learn them. One after the other is killed, at a moment
drawn at random from the first 600 ms of its work, and a new one takes its place. A turn counts as submitted once
`submit` has returned, and was then noted; one that was killed in between is submitted again, with the same message id.
In the end one process runs what is left. Each call of the model makes a new fact of each new turn, so a turn that is
learned twice is two facts.
"""

from __future__ import annotations

import argparse
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

from langchain_core.messages import BaseMessage, HumanMessage

from memgraph import BackgroundInvoker, Context, Policy, Scope, Settings, build_graph, open_outbox, open_storage
from memgraph.prompts.blocks import read_turns
from memgraph.testing import ScriptedModel, update_answer

SCOPES = [Scope(user) for user in ("ada", "bob", "eve")]
SETTINGS = Settings(debounce_seconds=0.01, max_wait_seconds=0.1, lease_seconds=3, max_concurrency=4)
MODEL_SECONDS = 0.01


def learn(prompt: Sequence[BaseMessage]) -> str:
    """One fact for each new turn, with a nonce."""
    time.sleep(MODEL_SECONDS)
    turns = read_turns(str(prompt[-1].content))
    return update_answer(*(f"{turn.text} #{secrets.token_hex(4)}" for turn in turns if turn.is_new))


def invoker(folder: str, storage: str) -> BackgroundInvoker:
    graph = build_graph(model=ScriptedModel(learn), storage=storage, policy=Policy(max_facts=10_000))
    return BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db", settings=SETTINGS)


def live(folder: str, storage: str, writer: int) -> None:
    """Submit turns, each with those before it that this process said, until killed."""
    ledger = Path(folder, f"acknowledged-{writer}")
    first = len(ledger.read_text().splitlines()) if ledger.exists() else 0
    said: list[HumanMessage] = []
    with invoker(folder, storage) as background, ledger.open("a") as noted:
        for number in range(first, 1_000_000):
            turn = f"turn-{writer}-{number}"
            said = [*said, HumanMessage(turn, id=turn)][-6:]
            background.submit(said, SCOPES[writer % len(SCOPES)], f"thread-{writer}")
            noted.write(f"{turn}\n")
            noted.flush()
            time.sleep(random.uniform(0, 0.03))  # noqa: S311


def finish(folder: str, storage: str) -> None:
    """Learn what is left, once the leases of the killed have expired."""
    with invoker(folder, storage) as background:
        for _ in range(20):
            if background.flush(60):
                return


def main() -> None:
    options = argparse.ArgumentParser(description="Kill -9 at random moments.")
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--storage", choices=["file", "sqlite"], default="file")
    given = options.parse_args()
    warm_up()
    with tempfile.TemporaryDirectory(prefix="memgraph-kill-") as folder:
        storage = f"sqlite:{folder}/memory.db" if given.storage == "sqlite" else f"file:{folder}/memory"
        began = time.perf_counter()
        kill(folder, storage, given.kills, given.processes)
        os.waitpid(fork(lambda: finish(folder, storage)), 0)
        report(folder, storage, given, time.perf_counter() - began)


def warm_up() -> None:
    """Load what a first update loads, so that the children need not."""
    graph = build_graph(model=ScriptedModel(learn), storage="memory:")
    graph.invoke({"messages": [HumanMessage("warm")]}, context=Context(user_id="warm"))


def kill(folder: str, storage: str, kills: int, at_once: int) -> None:
    running = [start(folder, storage, writer) for writer in range(at_once)]
    for number in range(kills):
        time.sleep(random.uniform(0, 0.6 / at_once))  # noqa: S311
        end(running[number % at_once])
        running[number % at_once] = start(folder, storage, number % at_once)
    for process in running:
        end(process)


def start(folder: str, storage: str, writer: int) -> int:
    return fork(lambda: live(folder, storage, writer))


def fork(work: Callable[[], None]) -> int:
    process = os.fork()
    if not process:
        try:
            work()
        finally:
            os._exit(0)
    return process


def end(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def report(folder: str, storage: str, given: argparse.Namespace, seconds: float) -> None:
    submitted = [turn for ledger in Path(folder).glob("acknowledged-*") for turn in ledger.read_text().split()]
    memories = [open_storage(storage).load(scope) for scope in SCOPES]
    learned = Counter(fact.content.partition(" #")[0] for memory in memories for fact in memory.facts)
    with closing(sqlite3.connect(f"{folder}/outbox.db")) as db:
        whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    with open_outbox(f"sqlite:{folder}/outbox.db") as outbox:
        left, aside = len(outbox.waiting(now=0)), len(outbox.aside())
    lost = [turn for turn in submitted if not learned[turn]]
    twice = [turn for turn, times in learned.items() if times > 1]
    print(f"{given.storage} storage, {given.processes} processes at once, {seconds:.0f} s")
    print(f"kills                 {given.kills + given.processes}")
    print(f"turns submitted       {len(submitted)}")
    print(f"learned exactly once  {sum(learned[turn] == 1 for turn in submitted)}")
    print(f"lost                  {len(lost)} {lost[:5] or ''}")
    print(f"learned twice         {len(twice)} {twice[:5] or ''}")
    print(f"still waiting         {left}, set aside {aside}; outbox file: {whole}")
    raise SystemExit(bool(lost or twice or left or aside or whole != "ok"))


if __name__ == "__main__":
    main()
