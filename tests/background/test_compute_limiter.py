"""ComputePermit: how many updates compute at the same time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from memgraph import MemoryDocument, Scope, build_graph
from memgraph.background import Outbox
from memgraph.background.execution import Attempt, ComputePermit
from memgraph.storage.memory import InMemoryStorage
from memgraph.testing import ScriptedModel
from tests.background.conftest import ADA, KEY, POLICY, FakeClock, FakeTimeRunner, learn, learned, say


def _permits(count: int, *, max_computing: int) -> list[ComputePermit]:
    """Acquire permits one after the other, without any patience."""
    shared = threading.Semaphore(max_computing)
    permits = [ComputePermit(shared, patience=0) for _ in range(count)]
    for permit in permits:
        permit.acquire()
    return permits


def test_no_more_updates_have_a_permit_than_may_compute() -> None:
    assert [permit.is_held for permit in _permits(4, max_computing=2)] == [True, True, False, False]


@pytest.mark.parametrize("holder", [0, 1])
def test_only_a_permit_that_was_held_goes_to_the_next_update(holder: int) -> None:
    """The first update has the permit; the second one got none, so it has none to give back."""
    permits = _permits(2, max_computing=1)

    permits[1 - holder].close()
    permits[1].acquire()

    assert [permit.is_held for permit in permits] == [holder == 0, holder == 1]


def test_a_permit_that_is_held_is_not_taken_twice() -> None:
    first, second = _permits(2, max_computing=2)

    first.acquire()
    first.close()
    second.close()
    first.acquire()
    second.acquire()

    assert (first.is_held, second.is_held) == (True, True)


def test_a_permit_is_given_back_once_however_often_it_is_released() -> None:
    first, second, third = _permits(3, max_computing=1)

    first.close()
    first.close()
    second.acquire()
    third.acquire()

    assert (second.is_held, third.is_held) == (True, False)


def test_an_update_that_fails_gives_its_permit_back() -> None:
    shared = threading.Semaphore(1)

    with suppress(ValueError), ComputePermit(shared, patience=0):
        raise ValueError
    with ComputePermit(shared, patience=0) as permit:
        assert permit.is_held


class _WatchedRun:
    """Runs one job, and notes whether its permit was held when the model answered, and when the memory was saved."""

    def __init__(self, outbox: Outbox, clock: FakeClock) -> None:
        self.held: dict[str, bool] = {}
        self.permit = ComputePermit(threading.Semaphore(), patience=0)
        graph = build_graph(model=ScriptedModel(self._answer), storage=_WatchedStorage(self), policy=POLICY)
        self.runner = FakeTimeRunner(outbox, graph, clock)

    def run(self) -> None:
        self.runner.add(say(1))
        self.runner.outbox.expedite(now=self.runner.now())
        (claim,) = self.runner.claim(1)
        with self.permit:
            self.runner._executor.run(Attempt(claim, self.permit, self.runner.outbox, self.runner.now, 30), pytest.fail)

    def _answer(self, prompt: Sequence[BaseMessage]) -> str:
        self.held["model"] = self.permit.is_held
        return learn(prompt)


class _WatchedStorage(InMemoryStorage):
    def __init__(self, run: _WatchedRun) -> None:
        super().__init__()
        self._run = run

    def save_with_episodes(self, scope: Scope, memory: MemoryDocument, *arguments: Any) -> MemoryDocument:
        self._run.held["save"] = self._run.permit.is_held
        return super().save_with_episodes(scope, memory, *arguments)


def test_an_update_has_its_permit_except_while_the_model_answers(outbox: Outbox, clock: FakeClock) -> None:
    watched = _WatchedRun(outbox, clock)

    watched.run()

    assert watched.held == {"model": False, "save": True}
    assert not watched.permit.is_held


def test_updates_that_hang_with_all_permits_block_no_other(
    outbox: Outbox, graph: Any, clock: FakeClock, storage: Any
) -> None:
    runner = FakeTimeRunner(outbox, graph, clock)
    runner._permits = threading.Semaphore(1)
    hanging = ComputePermit(runner._permits)
    hanging.acquire()
    runner.add(say(1), KEY)

    runner.run_all()

    assert hanging.is_held
    assert learned(storage, ADA) == ["turn-1"]
