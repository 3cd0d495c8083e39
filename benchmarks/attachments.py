"""Attachable memories: updates and retrieval of `simple`, and appends of `blackboard`, by number of items.

    python benchmarks/attachments.py [--quick]

The embedding model costs almost nothing, so the figures are those of the memory itself. The disk determines the time of
a durable write, so a bare durable SQLite insert is measured for comparison.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from common import Bound, Measurement, Row, at_most, median_row, quantile_row, run_standalone
from invoker import bare_insert

from memgraph.attachments.item import take_snapshot
from memgraph.attachments.simple import BlackboardConfig, BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import ANSWER_SEPARATOR, Interaction, MemoryStore, SearchQuery

DIMENSION = 384
ITEM_CHARS = 500
MANY = 1_000_000
"""More than any number of items here, so that nothing is evicted."""

DRAW = random.Random(7)  # noqa: S311 - reproducible texts
WORDS = ["".join(DRAW.choices("abcdefghijklmnopqrstuvwxyz", k=DRAW.randint(3, 9))) for _ in range(5_000)]
POOL = np.random.default_rng(7).normal(size=(4_096, DIMENSION)).astype(np.float32).tolist()


def embed(texts: list[str]) -> list[list[float]]:
    """Return a precomputed vector for each text."""
    return [POOL[zlib.crc32(text.encode()) % len(POOL)] for text in texts]


def text(chars: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=chars // 7))


def exchange() -> Interaction:
    return Interaction(take_snapshot(text(ITEM_CHARS // 4)), take_snapshot(text(ITEM_CHARS * 3 // 4)), "writer")


def write_items(folder: str, count: int) -> str:
    """Write a memory of ChatDev with *count* items, which a memory next to it takes at once, and return its name."""
    written = [(text(ITEM_CHARS // 4), text(ITEM_CHARS * 3 // 4)) for _ in range(count)]
    items = [
        {
            "content_summary": f"{asked}{ANSWER_SEPARATOR}{said}",
            "input_snapshot": {"text": asked},
            "output_snapshot": {"text": said},
        }
        for asked, said in written
    ]
    Path(folder, f"{count}.json").write_text(json.dumps(items), encoding="utf-8")
    return f"{count}.json"


def time_calls(act: Callable[[], object], count: int) -> list[float]:
    """Return the milliseconds of *count* calls."""
    elapsed: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        act()
        elapsed.append((time.perf_counter() - began) * 1e3)
    return elapsed


def time_updates(store: MemoryStore, count: int) -> list[float]:
    """Return the milliseconds of *count* updates."""
    prepared = iter([exchange() for _ in range(count)])
    return time_calls(lambda: store.update(next(prepared)), count)


def time_queries(store: MemoryStore, count: int) -> list[float]:
    """Return the milliseconds of *count* different queries."""
    prepared = iter([SearchQuery(text(60)) for _ in range(count)])
    return time_calls(lambda: store.retrieve(next(prepared), top_k=3, threshold=-1), count)


def simple(folder: str, sizes: Sequence[tuple[int, Bound]], count: int) -> list[Row]:
    rows: list[Row] = []
    for items, bound in sizes:
        empty = SimpleConfig(memory_path=f"{items}.db", embedding=embed, max_memories=MANY)
        with SimpleMemory("notes", empty, folder=folder) as store:
            adding = time_updates(store, count)
        config = empty.model_copy(update={"memory_path": write_items(folder, items)})
        with SimpleMemory("notes", config, folder=folder) as store:
            store.load()
            began = time.perf_counter()
            store.retrieve(SearchQuery("the first question"), top_k=3)
            first = (time.perf_counter() - began) * 1e3
            name = f"simple, {items:,} items of {ITEM_CHARS} characters"
            rows += [
                median_row(
                    f"{name}: retrieve 3, the median", retrieving := time_queries(store, count), "ms wall", bound
                ),
                quantile_row(f"{name}: retrieve 3, 95th percentile", retrieving, 0.95, "ms wall"),
                Row(f"{name}: the first question after opening", first, "ms wall"),
                median_row(f"{name}: adding the first items", adding, "ms wall"),
                median_row(f"{name}: adding one more", time_updates(store, count), "ms wall"),
            ]
    return rows


def blackboard(folder: str, items: int, count: int, limit: Bound) -> list[Row]:
    config = BlackboardConfig(memory_path="board.db", max_items=MANY)
    with BlackboardMemory("board", config, folder=folder) as store:
        empty = time_updates(store, count)
    filled = config.model_copy(update={"memory_path": write_items(folder, items)})
    with BlackboardMemory("board", filled, folder=folder) as store:
        store.load()
        full = time_updates(store, count)
        read = time_calls(lambda: store.retrieve(SearchQuery(""), top_k=3), count)
    small = BlackboardConfig(memory_path="small.db", max_items=count // 4)
    with BlackboardMemory("small", small, folder=folder) as store:
        trimming = time_updates(store, count)[count // 2 :]
    return [
        median_row("blackboard: append to an empty one", empty, "ms wall", limit),
        median_row(f"blackboard: append as entry {items:,}", full, "ms wall", limit),
        median_row("blackboard: append to a full one, evicting the oldest", trimming, "ms wall"),
        median_row(f"blackboard: read the last 3 of {items:,}", read, "ms wall"),
    ]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure both types."""
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
        f"{DIMENSION} dimensions, precomputed vectors. An update is on disk when it "
        "returns; one of `simple` waits for the disk twice: for the exchange and for its vector."
    )
    return Measurement("Attachable memories: simple and blackboard", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
