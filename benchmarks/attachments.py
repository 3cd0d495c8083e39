"""Attachable memories: what `simple` takes to remember and to find, and `blackboard` to append, however much is there.

    python benchmarks/attachments.py [--quick]

The embedding model costs next to nothing here, so that what is measured is the memory. The disk decides what a durable
write takes, so the time of a bare durable SQLite insert is measured beside it.
"""

from __future__ import annotations

import random
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from common import Bound, Measured, Row, alone, at_most, median_row, quantile_row
from invoker import bare_insert

from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.simple import SimpleConfig, SimpleMemory
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery

DIMENSION = 384
ITEM_CHARS = 500
MANY = 1_000_000
"""More than any limit here, so that nothing has to go."""

DRAW = random.Random(7)  # noqa: S311 - the same texts every time
WORDS = ["".join(DRAW.choices("abcdefghijklmnopqrstuvwxyz", k=DRAW.randint(3, 9))) for _ in range(5_000)]
POOL = np.random.default_rng(7).normal(size=(4_096, DIMENSION)).astype(np.float32).tolist()


def embed(texts: list[str]) -> list[list[float]]:
    """A vector for each text, ready made."""
    return [POOL[zlib.crc32(text.encode()) % len(POOL)] for text in texts]


def text(chars: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=chars // 7))


def exchange() -> Interaction:
    return Interaction(take_snapshot(text(ITEM_CHARS // 4)), take_snapshot(text(ITEM_CHARS * 3 // 4)), "writer")


def fill(store: SimpleMemory | BlackboardMemory, count: int) -> None:
    """Bring it to *count* items, not waiting for the disk: it is not this that is measured."""
    store.close()
    store._database._synchronous = "OFF"  # noqa: SLF001
    said = exchange()
    for number in range(count):
        store.update(exchange() if isinstance(store, SimpleMemory) or not number % 100 else said)
    store.close()
    store._database._synchronous = "FULL"  # noqa: SLF001
    store.load()


def times(act: Callable[[], object], count: int) -> list[float]:
    """Milliseconds of *count* calls."""
    found: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        act()
        found.append((time.perf_counter() - began) * 1e3)
    return found


def updates(store: MemoryStore, count: int) -> list[float]:
    """Milliseconds of *count* updates."""
    ready = iter([exchange() for _ in range(count)])
    return times(lambda: store.update(next(ready)), count)


def questions(store: MemoryStore, count: int) -> list[float]:
    """Milliseconds of *count* questions, each a new one."""
    ready = iter([SearchQuery(text(60)) for _ in range(count)])
    return times(lambda: store.retrieve(next(ready), top_k=3, threshold=-1), count)


def simple(folder: str, sizes: Sequence[tuple[int, Bound]], count: int) -> list[Row]:
    rows: list[Row] = []
    for items, bound in sizes:
        config = SimpleConfig(memory_path=f"{items}.db", embedding=embed, max_memories=MANY)
        with SimpleMemory("notes", config, folder=folder) as store:
            empty = updates(store, count)
            fill(store, items - count)
            began = time.perf_counter()
            store.retrieve(SearchQuery("the first question"), top_k=3)
            first = (time.perf_counter() - began) * 1e3
            name = f"simple, {items:,} items of {ITEM_CHARS} characters"
            rows += [
                median_row(f"{name}: retrieve 3, the median", asked := questions(store, count), "ms wall", bound),
                quantile_row(f"{name}: retrieve 3, 95th percentile", asked, 0.95, "ms wall"),
                Row(f"{name}: the first question after opening", first, "ms wall"),
                median_row(f"{name}: the first ones added", empty, "ms wall"),
                median_row(f"{name}: one more added", updates(store, count), "ms wall"),
            ]
    return rows


def blackboard(folder: str, items: int, count: int, limit: Bound) -> list[Row]:
    config = BlackboardConfig(memory_path="board.db", max_items=MANY)
    with BlackboardMemory("board", config, folder=folder) as store:
        empty = updates(store, count)
        fill(store, items - count)
        full = updates(store, count)
        read = times(lambda: store.retrieve(SearchQuery(""), top_k=3), count)
    small = BlackboardConfig(memory_path="small.db", max_items=count // 4)
    with BlackboardMemory("small", small, folder=folder) as store:
        trimming = updates(store, count)[count // 2 :]
    return [
        median_row("blackboard: append to an empty one", empty, "ms wall", limit),
        median_row(f"blackboard: append as entry {items:,}", full, "ms wall", limit),
        median_row("blackboard: append to a full one, the oldest going", trimming, "ms wall"),
        median_row(f"blackboard: read the last 3 of {items:,}", read, "ms wall"),
    ]


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure both."""
    count, entries = (40, 1_000) if quick else (300, 100_000)
    sizes = [(200, at_most(5))] if quick else [(1_000, at_most(5)), (10_000, at_most(15))]
    with tempfile.TemporaryDirectory(prefix="memgraph-attachments-") as folder:
        Path(folder, "simple").mkdir()
        bare = [second * 1e3 for second in bare_insert(folder, count)]
        rows = [
            median_row("bare durable SQLite insert", bare, "ms wall"),
            *simple(f"{folder}/simple", sizes, count),
            *blackboard(folder, entries, count, at_most(1)),
        ]
    note = (
        f"{DIMENSION} dimensions, with FAISS where it is installed; the vectors are ready made. An update is on disk "
        "when it returns, and one of `simple` waits for the disk twice: for the exchange, and for its vector."
    )
    return Measured("Attachable memories: simple and blackboard", rows, notes=[note])


if __name__ == "__main__":
    alone(measure)
