"""Executors with daemon threads."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from memgraph._concurrency import DaemonExecutor, FairSemaphore, KeyedExecutor


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
    """And new ones start with the next call; what was submitted is run, although the executor was dropped."""
    executor, release = DaemonExecutor(), threading.Event()
    futures = [executor.submit(lambda n=n: (release.wait(60), n)[1]) for n in range(10)]
    threads = list(executor._threads)

    del executor
    release.set()

    assert [future.result(60) for future in futures] == list(range(10))
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_calls_of_a_key_run_in_order_and_keys_at_the_same_time() -> None:
    """A key that is busy does not delay the others."""
    executor, release, calls = KeyedExecutor(4, name="test"), threading.Event(), list[str]()
    executor.submit("slow", lambda: release.wait(120))
    waiting = [executor.submit("slow", lambda n=n: calls.append(f"slow {n}")) for n in range(5)]
    others = [executor.submit(key, lambda key=key, n=n: calls.append(f"{key} {n}")) for n in range(5) for key in "abc"]

    for other in others:
        other.result(60)
    assert [[call for call in calls if call.startswith(key)] for key in "abc"] == [
        [f"{key} {n}" for n in range(5)] for key in "abc"
    ]
    assert not any(each.done() for each in waiting)
    release.set()
    for each in waiting:
        each.result(60)
    assert calls[-5:] == [f"slow {n}" for n in range(5)]
    assert executor._queues == {}


def test_failed_or_cancelled_call_does_not_hold_up_its_key() -> None:
    """The next one still runs."""
    executor, release = KeyedExecutor(1, name="test"), threading.Event()
    executor.submit("key", lambda: release.wait(120))
    failed, cancelled = executor.submit("key", lambda: 1 // 0), executor.submit("key", lambda: 1)
    last = executor.submit("key", lambda: 2)
    assert cancelled.cancel()
    release.set()

    assert last.result(60) == 2
    with pytest.raises(ZeroDivisionError):
        failed.result(60)


def test_keys_take_turns() -> None:
    """With more keys than threads, a key with many calls does not starve the next."""
    executor, release, calls = KeyedExecutor(1, name="test"), threading.Event(), list[str]()
    executor.submit("a", lambda: release.wait(120))
    last = [executor.submit("a", lambda: calls.append("a")) for _ in range(3)][-1]
    executor.submit("b", lambda: calls.append("b"))
    release.set()
    last.result(60)

    assert calls == ["b", "a", "a", "a"]


def test_who_waits_for_a_turn_gets_it_before_who_gave_it_back() -> None:
    """As a question that waits for the embedding model, while a thread makes batch after batch of vectors."""
    turn, order = FairSemaphore(1), list[str]()

    def wait() -> None:
        with turn:
            order.append("question")

    question = threading.Thread(target=wait)
    with turn:
        question.start()
        while not turn._waiting:
            time.sleep(0.001)
    with turn:
        order.append("next batch")
    question.join(60)

    assert order == ["question", "next batch"]


def test_a_wait_that_a_signal_interrupts_keeps_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = FairSemaphore(1)

    def interrupt(_event: threading.Event, _timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with turn, monkeypatch.context() as patched:
        patched.setattr(threading.Event, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            turn.acquire()

    assert turn.acquire(0)
