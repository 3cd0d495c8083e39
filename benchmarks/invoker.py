"""How fast the background invoker is: throughput, what submit costs, how long an event loop is blocked.

    python benchmarks/invoker.py [throughput] [submit] [loop]

The disk decides much of it, so the time of a bare durable SQLite insert, measured beside it, is printed too.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from contextlib import closing

from langchain_core.messages import AIMessage, HumanMessage

from memgraph import BackgroundInvoker, Scope, Settings, build_graph
from memgraph.testing import ScriptedModel, update_answer

KEYS = 1_000
SUBMITS = 1_000
MODEL_SECONDS = 0.3
CONCURRENCY = 16
TALK = [HumanMessage("I work on compilers and prefer Rust.", id="m1"), AIMessage("Noted.", id="m2")]
LATER = Settings(debounce_seconds=3_600, max_wait_seconds=3_600, max_concurrency=CONCURRENCY)


def slow_model(seconds: float = MODEL_SECONDS) -> ScriptedModel:
    def answer(_: object) -> str:
        time.sleep(seconds)
        return update_answer("Works on compilers.")

    return ScriptedModel(answer)


def invoker(folder: str, name: str) -> BackgroundInvoker:
    graph = build_graph(model=slow_model(), storage=f"file:{folder}/memory-{name}")
    return BackgroundInvoker(graph, outbox=f"sqlite:{folder}/{name}.db", settings=LATER)


def bare_insert(folder: str) -> list[float]:
    """What the disk allows: seconds of durable inserts of as much text."""
    times: list[float] = []
    with closing(sqlite3.connect(f"{folder}/bare.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE bare (text)")
        for _ in range(SUBMITS // 2):
            began = time.perf_counter()
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO bare VALUES (?)", ("x" * 600,))
            db.execute("COMMIT")
            times.append(time.perf_counter() - began)
    return times


def told(what: str, times: list[float]) -> None:
    ordered = sorted(times)
    p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    print(f"{what:<44} median {p50 * 1e3:6.2f} ms   99th {p99 * 1e3:6.2f} ms   worst {ordered[-1] * 1e3:6.2f} ms")


def submits(background: BackgroundInvoker, count: int = SUBMITS, pause: float = 0.0) -> list[float]:
    times: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        background.submit(TALK, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
        times.append(time.perf_counter() - began)
        time.sleep(pause)
    return times


def throughput(folder: str) -> None:
    with invoker(folder, "throughput") as background:
        for number in range(KEYS):
            background.submit(TALK, Scope(f"user-{number}"), "thread")
        began, spent = time.perf_counter(), time.process_time()
        done = background.flush(120)
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
        learned = background.stats().learned
    ideal = KEYS * MODEL_SECONDS / CONCURRENCY
    print(
        f"{KEYS} keys, model {MODEL_SECONDS} s, {CONCURRENCY} at once: {seconds:.1f} s (ideal {ideal:.1f} s);", end=" "
    )
    print(f"{spent / KEYS * 1e3:.1f} ms of CPU an update; learned {learned}, all {done}")


def submit(folder: str) -> None:
    told("bare durable insert", bare_insert(folder))
    with invoker(folder, "idle") as background:
        told("submit, no update running", submits(background))
    with invoker(folder, "busy") as background:
        background.submit(TALK, Scope("first"), "thread")
        background.flush(60)  # what is loaded once a process is not what submissions wait for
        for number in range(500):
            background.submit(TALK, Scope(f"busy-{number}"), "thread")
        background.flush_nowait()
        time.sleep(0.5)
        times = submits(background, 400, 0.002)
        told(f"submit, {background.stats().running} updates running", times)


def loop(folder: str) -> None:
    async def blocked(background: BackgroundInvoker) -> list[float]:
        """How late a timer comes that is due at every moment."""
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
        for number in range(SUBMITS):
            await background.asubmit(TALK, Scope(f"user-{number % 200}"), f"thread-{number % 7}")
        over.set()
        await watcher
        return late

    async def main() -> None:
        async with invoker(folder, "loop") as background:
            await background.asubmit(TALK, Scope("warm"))
            times = await blocked(background)
            told(f"event loop blocked, {SUBMITS} submits awaited", times)

    asyncio.run(main())


PARTS = {"throughput": throughput, "submit": submit, "loop": loop}


if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory(prefix="memgraph-invoker-", ignore_cleanup_errors=True) as folder:
            PARTS[name](folder)
