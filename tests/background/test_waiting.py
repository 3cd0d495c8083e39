"""What a review asks for while the list of pending changes is full waits in the outbox."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph import MemoryClient, MemoryStorage, Policy, Scope, build_graph
from memgraph.background.planning import last_deletion
from memgraph.background.runner import Client
from memgraph.models import REVIEW_ASKED, Fact, PendingChange
from memgraph.models.document import MAX_PENDING
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")


def fill(storage: MemoryStorage, number: int) -> None:
    """Let *number* changes wait for a decision."""
    facts = (Fact(id=f"f{n}", content=f"Likes tea number {n}.") for n in range(number))
    waiting = (PendingChange(id=f"c{n}", reason=REVIEW_ASKED, facts=(fact,)) for n, fact in enumerate(facts))
    storage.save(ADA, storage.load(ADA).with_pending(*waiting))


@pytest.fixture
def runner(make_runner: Any, model: Any, storage: MemoryStorage, policy: Any) -> Any:
    return make_runner(graph=build_graph(model=model, storage=storage, policy=policy, review="always"))


def proposed(storage: MemoryStorage) -> list[str]:
    """The turns of which something waits for a decision."""
    facts = (fact.content for change in storage.load(ADA).pending for fact in change.facts)
    return sorted(text.partition(" #")[0] for text in facts if text.startswith("turn"))


def test_what_the_full_list_has_no_room_for_follows_once_persons_have_decided(
    runner: Any, storage: MemoryStorage, clock: Any, say: Any, model: Any
) -> None:
    """The model is not asked again, nothing that waited is dropped, and no attempt has failed."""
    fill(storage, MAX_PENDING - 1)
    runner.add(say(1, 2, 3))
    runner.run_all()
    before = proposed(storage)
    client = MemoryClient(storage, user_id="ada")

    for change in ("c0", "c1", "c2"):
        client.decide(change, "reject")
    clock.sleep(60)
    runner.run_due()

    assert (len(before), proposed(storage)) == (1, ["turn-1", "turn-2", "turn-3"])
    assert (runner.stats().failed, runner.outbox.pending(now=clock.now())) == (0, ())
    assert len(model.seen) == 1


def test_waiting_is_no_failure_takes_no_lease_and_is_no_update(
    runner: Any, storage: MemoryStorage, clock: Any, say: Any
) -> None:
    """No hook hears of it, and it takes no place in the queue."""
    fill(storage, MAX_PENDING)
    runner.add(say(1))
    updates: list[Any] = []
    runner.run_all()
    runner.clients = lambda: [Client(updates.append)]

    for _ in range(10):
        clock.sleep(60)
        runner.run_due()

    assert (updates, runner.drain()) == ([], True)
    (job,) = runner.outbox.pending(now=clock.now())
    assert (job.attempts, job.error, job.running) == (0, "", False)


def test_a_process_that_dies_before_the_save_loses_no_proposal_and_makes_none_twice(
    make_runner: Any, storage: MemoryStorage, clock: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The changes are in the outbox before the save, and have an id of what they change."""
    answer = update_answer("turn-1 was a fine day.")
    model, policy = ScriptedModel(answer, answer), Policy(grounding="off")
    graph = build_graph(model=model, storage=storage, policy=policy, review="always")
    runner = make_runner(graph=graph)
    fill(storage, MAX_PENDING)
    runner.add(say(1))
    with monkeypatch.context() as dying:
        dying.setattr(storage, "save_with_episodes", _die)
        runner.run_due()
        clock.sleep(5)
        runner.run_due()
    MemoryClient(storage, user_id="ada").decide("c0", "reject")
    clock.sleep(60)

    while runner.run_due():
        clock.sleep(60)

    assert proposed(storage) == ["turn-1 was a fine day."]


def _die(*args: object, **given: object) -> None:
    raise OSError("the process dies here")


def test_what_is_deleted_while_the_model_answers_does_not_wait(
    make_runner: Any, storage: MemoryStorage, clock: Any, say: Any
) -> None:
    def answer(prompt: Any) -> str:
        runner.outbox.record_deletion(ADA, last_deletion(storage.delete(ADA)))
        return update_answer("turn-1 was a fine day.")

    policy = Policy(grounding="off")
    graph = build_graph(model=ScriptedModel(answer), storage=storage, policy=policy, review="always")
    runner = make_runner(graph=graph)
    fill(storage, MAX_PENDING)
    runner.add(say(1))

    runner.run_all()

    assert (proposed(storage), runner.outbox.pending(now=clock.now())) == ([], ())


def test_what_waits_is_forgotten_with_the_memory(runner: Any, storage: MemoryStorage, clock: Any, say: Any) -> None:
    """As the words that wait are."""
    fill(storage, MAX_PENDING)
    runner.add(say(1))
    runner.run_all()

    runner.discard(ADA, storage.delete(ADA))

    assert (proposed(storage), runner.outbox.pending(now=clock.now())) == ([], ())
