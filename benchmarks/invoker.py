"""How fast the background invoker is: throughput, what submit costs, how long an event loop is blocked.

    python benchmarks/invoker.py [--quick]

The disk decides much of it, so the time of a bare durable SQLite insert is measured beside it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing

from common import Bound, Measured, Row, alone, at_least, at_most, median_row, quantile_row
from datasets import learning_model
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import BackgroundInvoker, Scope, Settings, build_graph

MODEL_SECONDS = 0.3
CONCURRENCY = 16
TALK = [HumanMessage("I work on compilers and prefer Rust.", id="m1"), AIMessage("Noted.", id="m2")]
LATER = Settings(debounce_seconds=3_600, max_wait_seconds=3_600, max_concurrency=CONCURRENCY)


def invoker(folder: str, name: str) -> BackgroundInvoker:
    graph = build_graph(model=learning_model(MODEL_SECONDS), storage=f"file:{folder}/memory-{name}")
    return BackgroundInvoker(graph, outbox=f"sqlite:{folder}/{name}.db", settings=LATER)


def times_of(what: str, seconds: Sequence[float], bound: Bound | None = None) -> list[Row]:
    """The middle and the end of a row of times; *bound* is of the end."""
    ms = [second * 1e3 for second in seconds]
    return [
        median_row(f"{what}: median", ms, "ms wall"),
        quantile_row(f"{what}: 99th percentile", ms, 0.99, "ms wall", bound=bound),
    ]


def bare_insert(folder: str, count: int) -> list[float]:
    """What the disk allows: seconds of durable inserts of as much text."""
    times: list[float] = []
    with closing(sqlite3.connect(f"{folder}/bare.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE bare (text)")
        for _ in range(count):
            began = time.perf_counter()
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO bare VALUES (?)", ("x" * 600,))
            db.execute("COMMIT")
            times.append(time.perf_counter() - began)
    return times


def submits(background: BackgroundInvoker, count: int, pause: float = 0.0) -> list[float]:
    times: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        background.submit(TALK, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
        times.append(time.perf_counter() - began)
        time.sleep(pause)
    return times


def throughput(folder: str, keys: int) -> list[Row]:
    """Learn from many conversations at once."""
    with invoker(folder, "throughput") as background:
        for number in range(keys):
            background.submit(TALK, Scope(f"user-{number}"), "thread")
        began, spent = time.perf_counter(), time.process_time()
        background.flush(240)
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
        learned = background.stats().learned
    said = f"{keys:,} conversations, {CONCURRENCY} at once"
    return [
        Row(f"{said}: learned from", learned, bound=at_least(keys)),
        Row(f"{said}: time", seconds, "s wall"),
        Row(f"{said}: time that the model takes of it", keys * MODEL_SECONDS / CONCURRENCY, "s wall"),
        Row(f"{said}: an update", spent / keys * 1e3, "ms CPU"),
    ]


def latency(folder: str, count: int) -> list[Row]:
    """What a caller waits for."""
    rows = times_of("bare durable insert", bare_insert(folder, count))
    with invoker(folder, "idle") as background:
        rows += times_of("submit, nothing running", submits(background, count))
    with invoker(folder, "busy") as background:
        background.submit(TALK, Scope("first"), "thread")
        background.flush(60)  # what is loaded once a process is not what submissions wait for
        for number in range(count // 2):
            background.submit(TALK, Scope(f"busy-{number}"), "thread")
        background.flush_nowait()
        time.sleep(0.5)
        rows += times_of("submit, updates running", submits(background, count // 2, 0.002), at_most(30))
    return rows


async def blocked(background: BackgroundInvoker, count: int) -> list[float]:
    """How late a timer comes that is due at every moment, while *count* submissions are awaited."""
    late: list[float] = []
    over = threading.Event()

    async def watch() -> None:
        while not over.is_set():
            began = time.perf_counter()
            await asyncio.sleep(0)
            late.append(time.perf_counter() - began)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    late.clear()
    for number in range(count):
        await background.asubmit(TALK, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
    over.set()
    await watcher
    return late


def loop(folder: str, count: int) -> list[Row]:
    """What an event loop notices."""

    async def main() -> list[float]:
        async with invoker(folder, "loop") as background:
            await background.asubmit(TALK, Scope("warm"))
            return await blocked(background, count)

    return times_of("event loop blocked, by submissions that are awaited", asyncio.run(main()))


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure the background."""
    keys, count = (32, 60) if quick else (1_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="memgraph-invoker-", ignore_cleanup_errors=True) as folder:
        rows = [*throughput(folder, keys), *latency(folder, count), *loop(folder, count)]
    note = (
        f"An outbox in SQLite, memories in files, a model of {MODEL_SECONDS} s. What was submitted is on disk when "
        "`submit` returns."
    )
    return Measured("The background", rows, notes=[note])


if __name__ == "__main__":
    alone(measure)
