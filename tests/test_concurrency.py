"""Executors with daemon threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from memgraph._concurrency import DaemonExecutor


def test_results_and_errors_come_back() -> None:
    """Sync and async."""
    executor = DaemonExecutor()

    assert executor.run(60, lambda: 1) == 1
    assert asyncio.run(executor.arun(60, lambda: 2)) == 2
    with pytest.raises(ZeroDivisionError):
        executor.run(60, lambda: 1 // 0)


def test_queued_calls_time_out_if_all_threads_hang() -> None:
    """No further threads are started, and calls that timed out in the queue never run."""
    executor, release, called = DaemonExecutor(max_workers=2), threading.Event(), list[int]()
    for _ in range(2):
        executor.submit(lambda: release.wait(120))

    with pytest.raises(TimeoutError):
        executor.run(0.05, lambda: called.append(1))
    with pytest.raises(TimeoutError):
        asyncio.run(executor.arun(0.05, lambda: called.append(2)))

    assert len(executor._threads) == 2
    release.set()
    assert executor.run(60, lambda: 3) == 3
    assert called == []


def test_many_concurrent_calls_share_a_few_threads() -> None:
    """All of them are run."""
    executor = DaemonExecutor(max_workers=3)

    async def run_all() -> list[int]:
        return await asyncio.gather(*(executor.arun(60, lambda n=n: n) for n in range(200)))

    assert asyncio.run(run_all()) == list(range(200))
    assert len(executor._threads) <= 3


def test_idle_threads_end() -> None:
    """And new ones start with the next call."""
    executor = DaemonExecutor(idle_seconds=0.01)
    executor.run(60, lambda: None)
    (thread,) = executor._threads

    thread.join(60)

    assert not executor._threads
    assert executor.run(60, lambda: 4) == 4
