"""Cost of the history of a memory: of a save, of listing and undoing, and on disk; and whether it has gaps.

    python benchmarks/history.py [--quick]

The updates go through the rules and a storage, without a graph and a model. Each adds three facts with a quote of the
user; from 2,000 facts on, each also evicts three.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from common import Measurement, Row, at_most, median_row, run_standalone
from datasets import cpu_ms

from memgraph import Fact, MemoryClient, MemoryDocument, MemoryStorage, Policy, Scope, Settings, open_storage
from memgraph.editing import update_memory
from memgraph.history.diff import reverse
from memgraph.models import Addition, ChangeOrigin, MemoryUpdate, Turn
from memgraph.rules.apply import apply
from memgraph.storage.revisions import recorded_as

ADA = Scope("ada")
THREADS = 20
FACTS = 1_000
WRITER = """
import sys
from memgraph import Fact, Scope, open_storage
from memgraph.editing import update_memory
url, name, count = sys.argv[1:]
with open_storage(url) as storage:
    for number in range(int(count)):
        added = Fact(content=f"{name}-{number}")
        update_memory(storage, Scope("ada"), lambda memory: memory.with_facts((*memory.facts, added)))
"""


def update(number: int) -> tuple[MemoryUpdate, Turn]:
    """Return the update number *number*: three facts of 60 characters from one turn."""
    said = [f"I cooked dish {3 * number + index} of the {name} Lion restaurant" for index, name in enumerate(NAMES)]
    at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    turn = Turn(at=at, id=f"{number:08x}-9a1c-4f3e-8b7d-5e6f7a8b9c0d", role="human", text=". ".join(said))
    changes = MemoryUpdate(
        at=at,
        thread=f"thread-{number % THREADS}",
        message_ids=(turn.id,),
        additions=tuple(
            Addition(id=f"fact_{3 * number + index:08x}", content=f"{text}.", quote=text, confidence=0.9)
            for index, text in enumerate(said)
        ),
    )
    return changes, turn


NAMES = ("Red", "Old", "New")


def learn(storage: MemoryStorage, number: int, policy: Policy) -> MemoryDocument:
    """Apply and save an update."""
    changes, turn = update(number)
    memory = apply(changes, storage.load(ADA), policy, [turn]).memory
    with recorded_as(ChangeOrigin(by="update", thread=changes.thread), policy):
        return storage.save(ADA, memory)


# -- the cost of a save ---------------------------------------------------------------------------


@contextmanager
def counted_fsyncs() -> Iterator[list[int]]:
    """Count the calls of fsync in this process; SQLite's own are not among them."""
    counted: list[int] = []
    sync = os.fsync

    def count(file: int) -> None:
        counted.append(file)
        sync(file)

    with patch.object(os, "fsync", count):
        yield counted


def save_rows(kind: str, open_new: Callable[[str], MemoryStorage], rounds: int) -> list[Row]:
    """Compare updates of a memory of 1,000 facts with and without a history, in turns."""
    policies = {"with": Policy(max_facts=50_000), "without": Policy(max_facts=50_000, max_revisions=0)}
    storages = {name: open_new(name) for name in policies}
    facts = tuple(Fact(id=f"k{number}", content=f"Knows the word {number}.") for number in range(FACTS))
    for name, storage in storages.items():
        with recorded_as(ChangeOrigin(), policies[name]):
            storage.save(ADA, MemoryDocument(facts=facts))
        learn(storage, 0, policies[name])
    spent = {name: list[float]() for name in policies}
    for number in range(1, rounds + 1):
        for name, storage in storages.items():
            spent[name] += cpu_ms(lambda _, store=storage, name=name: learn(store, number, policies[name]), 1)  # noqa: B023
    extra = [more - less for more, less in zip(spent["with"], spent["without"], strict=True)]
    rows = [median_row(f"{kind}: a history costs an update at 1,000 facts", extra, "ms CPU", at_most(3))]
    if kind == "file":
        syncs = {}
        for name, storage in storages.items():
            with counted_fsyncs() as counted:
                learn(storage, rounds + 1, policies[name])
            syncs[name] = len(counted)
        more = syncs["with"] - syncs["without"]
        rows.append(Row(f"{kind}: further fsyncs of an update", more, bound=at_most(1)))
    return rows


# -- a long history -------------------------------------------------------------------------------


def long_rows(kind: str, storage: MemoryStorage, revisions: int, rounds: int) -> list[Row]:
    """List the latest of many revisions, and undo the last one."""
    policy = Policy(max_revisions=1_000_000)
    for number in range(revisions):
        fact = Fact(id=f"f{number % 20}", content=f"Counts to {number}.")
        update_memory(
            storage,
            ADA,
            lambda memory, fact=fact: memory.with_facts((*(f for f in memory.facts if f.id != fact.id), fact)),
            policy=policy,
        )
    listed = cpu_ms(lambda _: storage.revisions(ADA, limit=20), rounds)
    client = MemoryClient(storage, user_id=ADA.user_id, settings=Settings(max_revisions=policy.max_revisions))
    undone = cpu_ms(lambda _: client.undo(), rounds)
    count = f"{revisions:,} revisions"
    return [
        median_row(f"{kind}: the latest 20 of {count}", listed, "ms CPU", at_most(50)),
        median_row(f"{kind}: undo of the latest of {count}", undone, "ms CPU", at_most(100)),
    ]


# -- on disk --------------------------------------------------------------------------------------


def size_rows(updates: int, folder: str) -> list[Row]:
    """Measure the histories on disk after updates of three facts."""
    policy = Policy()
    file, sqlite = open_storage(f"file:{folder}/size"), open_storage(f"sqlite:{folder}/size.db")
    for number in range(updates):
        learn(file, number, policy)
        learn(sqlite, number, policy)
    (history,) = Path(folder, "size").rglob("history.jsonl")
    with sqlite3.connect(f"{folder}/size.db") as db:
        (rows,) = db.execute("SELECT sum(length(CAST(document AS BLOB))) FROM revision").fetchone()
    bound = at_most(2_000_000)
    name = f"history of {updates:,} updates of three facts"
    return [
        Row(f"file: {name}", history.stat().st_size, "bytes", bound=bound),
        Row(f"sqlite: {name}", rows, "bytes", bound=bound),
    ]


# -- several writers ------------------------------------------------------------------------------


def writer_rows(kind: str, url: str, writers: int, saves: int) -> list[Row]:
    """Save from several processes at once, and follow the history back to the empty memory."""
    command = [sys.executable, "-c", WRITER, url]
    running = [subprocess.Popen([*command, f"p{number}", str(saves)]) for number in range(writers)]  # noqa: S603
    failed = sum(process.wait() != 0 for process in running)
    with open_storage(url) as storage:
        memory, entries = storage.load(ADA), storage.revisions(ADA)
    numbers = [entry.revision for entry in entries]
    expected = list(range(writers * saves, 0, -1))
    conflicts = 0
    for entry in entries:
        memory, found = reverse(memory, entry.changes)
        conflicts += len(found)
    name = f"{kind}: {writers} processes, {saves} saves each"
    wrong = sum(one != other for one, other in zip(numbers, expected, strict=False)) + abs(len(expected) - len(numbers))
    return [
        Row(f"{name}: processes that failed", failed, bound=at_most(0)),
        Row(f"{name}: revisions missing or out of order", wrong, bound=at_most(0)),
        Row(f"{name}: entries left after reversing all", len(memory.facts) + conflicts, bound=at_most(0)),
    ]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure file and sqlite."""
    rounds, revisions, updates, writers, saves = (3, 100, 30, 2, 5) if quick else (40, 10_000, 1_000, 8, 50)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="memgraph-history-") as folder:
        for kind in ("file", "sqlite"):
            url = f"{kind}:{folder}/{kind}"
            rows += save_rows(kind, lambda name, url=url: open_storage(f"{url}-{name}"), rounds)
            with open_storage(f"{url}-long") as storage:
                rows += long_rows(kind, storage, revisions, min(rounds, 20))
            rows += writer_rows(kind, f"{url}-writers", writers, saves)
        rows += size_rows(updates, folder)
    note = "Without a history: max_revisions is 0. The fsyncs of SQLite are its own and are not counted."
    return Measurement("The history of a memory", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
