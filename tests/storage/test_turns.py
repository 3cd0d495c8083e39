"""Writers that lost several races take turns, so that each of them succeeds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.editing.update import update_memory
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.storage import base, open_storage
from memgraph.storage.base import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

ADA = Scope("ada")
BOB = Scope("bob")


@pytest.mark.parametrize("name", ["file", "memory", "sqlite", "postgresql"])
def test_32_threads_make_12_updates_each(name: str, url_for: Callable[[str], Any]) -> None:
    with open_storage(url_for(name)) as storage, ThreadPoolExecutor(32) as threads:

        def learn(who: int) -> None:
            for number in range(12):
                fact = Fact(content=f"{who}-{number}")

                def add(memory: MemoryDocument, fact: Fact = fact) -> MemoryDocument:
                    return memory.with_facts((*memory.facts, fact))

                update_memory(storage, ADA, add)

        list(threads.map(learn, range(32)))

        assert len({fact.content for fact in storage.load(ADA).facts}) == 384


def test_a_writer_waits_for_the_turn_of_another() -> None:
    queue, taken = Turns(), threading.Event()
    queue.take(ADA, "first")
    second = threading.Thread(target=lambda: (queue.take(ADA, "second"), taken.set()))
    second.start()
    waited = not taken.wait(0.05)

    queue.end(ADA, "first")

    assert (waited, taken.wait(5)) == (True, True)


def test_an_edit_that_begins_does_not_overtake_the_turn_of_another() -> None:
    with open_storage("memory:") as storage, ThreadPoolExecutor(1) as threads:
        storage.turns.take(ADA, "first")
        fact = Fact(content="Keeps bees.")
        edit = threads.submit(update_memory, storage, ADA, lambda memory: memory.with_facts((fact,)))
        waited = not wait((edit,), 0.05).done

        storage.turns.end(ADA, "first")

        assert (waited, edit.result(5).facts) == (True, (fact,))


def test_a_turn_is_kept_until_it_ends_and_concerns_one_memory() -> None:
    queue = Turns()
    queue.take(ADA, "first")

    queue.take(ADA, "first")
    queue.take(BOB, "second")
    queue.end(ADA, "first")
    queue.take(ADA, "third")


def test_a_writer_that_does_not_end_its_turn_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may wait for a person, or its run may have failed."""
    queue = Turns()
    queue.take(ADA, "gone")
    monkeypatch.setattr(base, "TURN_SECONDS", 0.01)

    queue.take(ADA, "next")
