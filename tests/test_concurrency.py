"""Threads that wait for memory."""

from __future__ import annotations

import asyncio
import threading

import pytest

from memgraph._concurrency import DaemonExecutor


def test_results_and_errors_come_back() -> None:
    """In both ways of waiting."""
    hands = DaemonExecutor()

    assert hands.run(5, lambda: 1) == 1
    assert asyncio.run(hands.arun(5, lambda: 2)) == 2
    with pytest.raises(ZeroDivisionError):
        hands.run(5, lambda: 1 // 0)


def test_when_all_hands_hang_others_give_up_in_time() -> None:
    """No thread more than was said, and what gave up in line is never called."""
    hands, release, called = DaemonExecutor(max_workers=2), threading.Event(), list[int]()
    for _ in range(2):
        hands.submit(lambda: release.wait(10))

    with pytest.raises(TimeoutError):
        hands.run(0.05, lambda: called.append(1))
    with pytest.raises(TimeoutError):
        asyncio.run(hands.arun(0.05, lambda: called.append(2)))

    assert len(hands._threads) == 2
    release.set()
    assert hands.run(5, lambda: 3) == 3
    assert called == []


def test_many_at_once_are_all_served() -> None:
    """By a few threads."""
    hands = DaemonExecutor(max_workers=3)

    async def everybody() -> list[int]:
        return await asyncio.gather(*(hands.arun(10, lambda n=n: n) for n in range(200)))

    assert asyncio.run(everybody()) == list(range(200))
    assert len(hands._threads) <= 3


def test_idle_threads_go() -> None:
    """And new ones come when there is work again."""
    hands = DaemonExecutor(idle_seconds=0.01)
    hands.run(5, lambda: None)
    (thread,) = hands._threads

    thread.join(5)

    assert not hands._threads
    assert hands.run(5, lambda: 4) == 4
