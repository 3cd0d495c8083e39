"""The background invoker: throughput, latency of submit, and how long an event loop is blocked.

    python benchmarks/invoker.py [--quick]

The disk determines much of it, so a bare durable SQLite insert is measured for comparison.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing

from common import Bound, Measurement, Row, at_least, at_most, median_row, quantile_row, run_standalone
from datasets import learning_model
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import BackgroundInvoker, Scope, Settings, build_graph

MODEL_SECONDS = 0.3
CONCURRENCY = 16
CONVERSATION = [HumanMessage("I work on compilers and prefer Rust.", id="m1"), AIMessage("Noted.", id="m2")]
LATER = Settings(debounce_seconds=3_600, max_wait_seconds=3_600, max_concurrency=CONCURRENCY)


def make_invoker(folder: str, name: str) -> BackgroundInvoker:
    graph = build_graph(model=learning_model(MODEL_SECONDS), storage=f"file:{folder}/memory-{name}")
    return BackgroundInvoker(graph, outbox=f"sqlite:{folder}/{name}.db", settings=LATER)


def latency_rows(name: str, seconds: Sequence[float], bound: Bound | None = None) -> list[Row]:
    """Return the median and the 99th percentile; *bound* applies to the percentile."""
    ms = [second * 1e3 for second in seconds]
    return [
        median_row(f"{name}: median", ms, "ms wall"),
        quantile_row(f"{name}: 99th percentile", ms, 0.99, "ms wall", bound=bound),
    ]


def bare_insert(folder: str, count: int) -> list[float]:
    """Return the seconds of durable inserts of as much text: the limit set by the disk."""
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


def time_submits(background: BackgroundInvoker, count: int, pause: float = 0.0) -> list[float]:
    times: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        background.submit(CONVERSATION, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
        times.append(time.perf_counter() - began)
        time.sleep(pause)
    return times


def throughput(folder: str, keys: int) -> list[Row]:
    """Process many conversations in parallel."""
    with make_invoker(folder, "throughput") as background:
        for number in range(keys):
            background.submit(CONVERSATION, Scope(f"user-{number}"), "thread")
        began, cpu = time.perf_counter(), time.process_time()
        background.flush(240)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        learned = background.stats().learned
    name = f"{keys:,} conversations, {CONCURRENCY} at once"
    return [
        Row(f"{name}: processed", learned, bound=at_least(keys)),
        Row(f"{name}: time", seconds, "s wall"),
        Row(f"{name}: time that the model takes of it", keys * MODEL_SECONDS / CONCURRENCY, "s wall"),
        Row(f"{name}: an update", cpu / keys * 1e3, "ms CPU"),
    ]


def latency(folder: str, count: int) -> list[Row]:
    """Measure how long a caller of submit waits."""
    rows = latency_rows("bare durable insert", bare_insert(folder, count))
    with make_invoker(folder, "idle") as background:
        rows += latency_rows("submit, nothing running", time_submits(background, count))
    with make_invoker(folder, "busy") as background:
        background.submit(CONVERSATION, Scope("first"), "thread")
        background.flush(60)  # exclude what is loaded once per process
        for number in range(count // 2):
            background.submit(CONVERSATION, Scope(f"busy-{number}"), "thread")
        background.flush_nowait()
        time.sleep(0.5)
        rows += latency_rows("submit, updates running", time_submits(background, count // 2, 0.002), at_most(30))
    return rows


async def measure_blocking(background: BackgroundInvoker, count: int) -> list[float]:
    """Return the delays of the event loop while *count* submissions are awaited."""
    delays: list[float] = []
    is_over = threading.Event()

    async def watch() -> None:
        while not is_over.is_set():
            began = time.perf_counter()
            await asyncio.sleep(0)
            delays.append(time.perf_counter() - began)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    delays.clear()
    for number in range(count):
        await background.asubmit(CONVERSATION, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
    is_over.set()
    await watcher
    return delays


def event_loop(folder: str, count: int) -> list[Row]:
    """Measure how long submissions block an event loop."""

    async def main() -> list[float]:
        async with make_invoker(folder, "loop") as background:
            await background.asubmit(CONVERSATION, Scope("warm"))
            return await measure_blocking(background, count)

    return latency_rows("event loop blocked by awaited submissions", asyncio.run(main()))


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure background updates."""
    keys, count = (32, 60) if quick else (1_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="memgraph-invoker-", ignore_cleanup_errors=True) as folder:
        rows = [*throughput(folder, keys), *latency(folder, count), *event_loop(folder, count)]
    note = (
        f"An outbox in SQLite, memories in files, a model latency of {MODEL_SECONDS} s. A submission is on disk when "
        "`submit` returns."
    )
    return Measurement("Background updates", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
