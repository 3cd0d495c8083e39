"""Updates that a person has to agree to, in the background: held, decided, and then learned without asking again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph import BackgroundInvoker, EditError, MemoryStorage, Scope, Settings, build_graph
from memgraph.background.drain import discard_forgotten
from memgraph.background.outbox import ConversationKey
from memgraph.background.planning import deleted_at
from memgraph.background.reviews import decide_review, in_review
from memgraph.background.sqlite_outbox import SqliteOutbox
from memgraph.errors import NotInReviewError
from memgraph.models import Section
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(Scope("bob"), "t9")


@pytest.fixture
def graph(model: Any, storage: MemoryStorage, policy: Any) -> Any:
    return build_graph(model=model, storage=storage, policy=policy, review="always")


@pytest.fixture
def decide(runner: Any) -> Callable[..., None]:
    """Decide the one thing that waits."""

    def decide(answer: object = "accept") -> None:
        (asked,) = in_review(runner.outbox)
        decide_review(runner.outbox, asked.id, answer, now=runner.now())

    return decide


def proposed(runner: Any) -> list[list[str]]:
    """What a person is asked, less what tells the facts of two calls apart."""
    return [[item.after.partition(" #")[0] for item in asked.proposal.items] for asked in in_review(runner.outbox)]


# -- held -----------------------------------------------------------------------------------------


def test_an_update_that_has_to_be_reviewed_is_held_and_never_taken_for_finished(
    runner: Any, say: Any, learned: Any
) -> None:
    runner.add(say(1))
    told: list[Any] = []
    runner.add_hooks(told.append, lambda *failed: told.append(failed))

    runner.run_all()

    (asked,) = in_review(runner.outbox)
    assert (asked.key, proposed(runner)) == (KEY, [["turn-1"]])
    stats = runner.stats()
    assert (stats.held, stats.learned, stats.failed, stats.running) == (1, 0, 0, 0)
    assert (learned(), told, runner.outbox.pending(now=0)) == ([], [], ())
    assert asked.proposal.thread_id == "t1"


def test_what_was_accepted_is_learned_without_asking_the_model_again(
    runner: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """A second answer of a model is another answer: not the one that was agreed to."""
    runner.add(say(1))
    runner.run_all()
    decide("accept")

    runner.run_due()

    stats = runner.stats()
    assert (learned(), model.seen) == (["turn-1"], [["turn-1"]])
    assert (stats.held, stats.learned, stats.failed) == (1, 1, 0)
    assert (runner.outbox.pending(now=0), runner.outbox.in_review()) == ((), ())


def test_tokens_are_counted_once(make_runner: Any, storage: Any, outbox: Any, say: Any) -> None:
    """They were spent when it was held; learning it costs nothing."""
    answer = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    runner = make_runner(graph=_graph(storage, usage=answer))
    runner.add(say(1))
    runner.run_all()
    before = runner.stats()
    (asked,) = in_review(outbox)
    decide_review(outbox, asked.id, "accept", now=runner.now())

    runner.run_due()

    after = runner.stats()
    assert (before.input_tokens, before.output_tokens) == (after.input_tokens, after.output_tokens) == (7, 3)


def test_what_was_rejected_is_not_learned_and_not_asked_about_again(
    runner: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    runner.add(say(1))
    runner.run_all()
    decide("reject")
    runner.run_due()

    runner.add(say(1))
    runner.run_all()

    stats = runner.stats()
    assert (learned(), len(model.seen)) == ([], 1)
    assert (stats.rejected, stats.nothing_new) == (1, 1)


def test_what_was_edited_is_learned_as_it_was_edited(runner: Any, say: Any, storage: Any, decide: Any) -> None:
    runner.add(say(1))
    runner.run_all()
    (item,) = in_review(runner.outbox)[0].proposal.items
    decide({"items": {item.key: {"after": "Likes turns, 喜欢。"}}})

    runner.run_due()

    (fact,) = storage.load(ADA).facts
    assert (fact.content, fact.is_manual) == ("Likes turns, 喜欢。", True)


def test_what_is_said_meanwhile_is_learned_after_the_decision(
    runner: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """It is reviewed in its turn, and by itself."""
    runner.add(say(1))
    runner.run_all()
    runner.add(say(1, 2))
    runner.add(say(3))
    runner.run_all()
    decide("accept")

    runner.run_due()

    assert (learned(), model.seen) == (["turn-1"], [["turn-1"], ["turn-2", "turn-3"]])
    assert proposed(runner) == [["turn-2", "turn-3"]]
    decide("accept")
    runner.run_due()
    assert learned() == ["turn-1", "turn-2", "turn-3"]
    assert len(model.seen) == 2


def test_each_batch_of_a_long_conversation_is_reviewed_by_itself(
    *, make_runner: Any, storage: Any, model: Any, policy: Any, say: Any, learned: Any
) -> None:
    short = policy.model_copy(update={"batch_tokens": 1})
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=short, review="always"))
    runner.add(say(1, 2, 3))
    seen: list[Any] = []

    for answer in ("accept", "reject", "accept"):
        runner.run_all()
        seen += proposed(runner)
        (asked,) = in_review(runner.outbox)
        decide_review(runner.outbox, asked.id, answer, now=runner.now())
    runner.run_all()

    assert seen == [["turn-1"], ["turn-2"], ["turn-3"]]
    assert (learned(), len(model.seen)) == (["turn-1", "turn-3"], 3)
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()


def test_a_conversation_without_a_name_is_held_under_none(runner: Any, say: Any, storage: Any, decide: Any) -> None:
    runner.add(say(1), ConversationKey(ADA))
    runner.run_all()
    decide("accept")

    runner.run_due()

    assert storage.load(ADA).facts[0].source == "unknown"


def test_where_nothing_has_to_be_reviewed_nothing_is_held(make_runner: Any, storage: Any, model: Any, say: Any) -> None:
    """`corrections` asks about corrections, and what would go."""
    runner = make_runner(graph=build_graph(model=model, storage=storage, review="corrections"))
    runner.add(say(1))

    runner.run_all()

    assert (runner.stats().learned, runner.outbox.in_review()) == (1, ())


# -- deciding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["perhaps", {"items": {"add:nothing": "accept"}}, {}, None, 7, [], {"items": 3}])
def test_an_answer_that_cannot_be_understood_changes_nothing(
    runner: Any, say: Any, decide: Any, answer: object
) -> None:
    runner.add(say(1))
    runner.run_all()

    with pytest.raises(EditError):
        decide(answer)

    assert proposed(runner) == [["turn-1"]]
    assert runner.outbox.pending(now=0) == ()


def test_of_two_who_decide_at_once_one_is_told(runner: Any, say: Any, learned: Any, monkeypatch: Any) -> None:
    """Both had looked before either decided."""
    runner.add(say(1))
    runner.run_all()
    before = runner.outbox.in_review()
    (asked,) = in_review(runner.outbox)
    decide_review(runner.outbox, asked.id, "accept", now=runner.now())
    monkeypatch.setattr(runner.outbox, "in_review", lambda: before)

    with pytest.raises(NotInReviewError, match="decided already"):
        decide_review(runner.outbox, asked.id, "reject", now=runner.now())

    runner.run_due()
    assert learned() == ["turn-1"]


def test_what_is_not_there_cannot_be_decided(runner: Any) -> None:
    with pytest.raises(NotInReviewError, match="no update is waiting for review under 'x'"):
        decide_review(runner.outbox, "x", "accept", now=0)


def test_only_what_is_of_a_scope_is_told(runner: Any, say: Any) -> None:
    runner.add(say(1))
    runner.add(say(1), OTHER)
    runner.run_all()

    assert [asked.key for asked in in_review(runner.outbox, ADA)] == [KEY]
    assert {asked.key for asked in in_review(runner.outbox)} == {KEY, OTHER}


# -- what changed meanwhile -----------------------------------------------------------------------


def test_what_others_learned_meanwhile_is_kept(runner: Any, say: Any, storage: Any, learned: Any, decide: Any) -> None:
    """The changes are applied to the memory as it is now; nobody is asked twice."""
    runner.add(say(1))
    runner.run_all()
    free = build_graph(model=ScriptedModel(update_answer("Lives in Turin.")), storage=storage)
    free.invoke({"messages": say(7)}, context={"user_id": "ada", "thread_id": "t7"})
    decide("accept")

    runner.run_due()

    assert learned() == ["Lives in Turin.", "turn-1"]


def test_a_save_that_loses_a_race_asks_nobody_again(
    *, runner: Any, say: Any, storage: Any, learned: Any, model: Any, decide: Any, monkeypatch: Any
) -> None:
    runner.add(say(1))
    runner.run_all()
    decide("accept")
    save, races = type(storage).save, iter([True, True, False])

    def lose(self: Any, scope: Any, memory: Any) -> Any:
        if next(races, False):
            save(self, scope, self.load(scope))
        return save(self, scope, memory)

    monkeypatch.setattr(type(storage), "save", lose)
    runner.run_due()

    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_where_a_summary_moved_the_model_is_asked_anew_and_its_answer_is_held(
    make_runner: Any, storage: Any, say: Any, outbox: Any
) -> None:
    """What was agreed to was agreed to beside another text."""
    answer = json.dumps(
        {
            "user": {"workContext": {"summary": "Works on compilers.", "shouldUpdate": True}},
            "history": {},
            "newFacts": [],
        }
    )
    model = ScriptedModel(answer)
    runner = make_runner(graph=build_graph(model=model, storage=storage, review="always"))
    runner.add(say(1))
    runner.run_all()
    (asked,) = in_review(outbox)
    memory = storage.load(ADA).with_section("work_context", Section(summary="Retired."))
    storage.save(ADA, memory)
    decide_review(outbox, asked.id, "accept", now=runner.now())

    runner.run_due()

    (again,) = in_review(outbox)
    assert [(item.before, item.after) for item in again.proposal.items] == [("Retired.", "Works on compilers.")]
    assert again.id != asked.id
    assert len(model.asked) == 2
    assert storage.load(ADA).section("work_context").summary == "Retired."


def test_what_was_learned_elsewhere_meanwhile_is_not_learned_twice(
    runner: Any, say: Any, storage: Any, learned: Any, decide: Any
) -> None:
    runner.add(say(1))
    runner.run_all()
    free = build_graph(model=ScriptedModel(update_answer("turn-1 #elsewhere")), storage=storage)
    free.invoke({"messages": say(1)}, context={"user_id": "ada", "thread_id": "t1"})
    decide("accept")

    runner.run_due()

    assert learned() == ["turn-1"]
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()


@pytest.mark.parametrize("decided", [False, True])
def test_what_was_forgotten_while_it_was_held_stays_forgotten(
    *, runner: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, decided: bool
) -> None:
    """Whatever was decided before; and what is said afterwards is learned."""
    runner.add(say(1))
    runner.run_all()
    if decided:
        decide("accept")
    clock.sleep(5)
    tombstone = storage.delete(ADA)
    clock.sleep(5)

    discard_forgotten(runner, ADA, deleted_at(tombstone))

    assert learned() == []
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()
    runner.add(say(1, 2))
    runner.run_all()
    assert proposed(runner) == [["turn-2"]]


def test_what_was_forgotten_by_others_is_not_learned_when_it_is_decided(
    *, runner: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, model: Any
) -> None:
    """Another process deleted the memory, and this one's outbox knows nothing of it."""
    runner.add(say(1))
    runner.run_all()
    clock.sleep(5)
    storage.delete(ADA)
    clock.sleep(5)
    decide("accept")

    runner.run_due()

    assert (learned(), len(model.seen), runner.stats().forgotten) == ([], 1, 1)


# -- processes ------------------------------------------------------------------------------------


def test_who_is_killed_between_decision_and_save_applies_it_at_the_next_start(
    *, make_runner: Any, say: Any, learned: Any, model: Any, clock: Any, tmp_path: Path
) -> None:
    """The decision is on disk, and so are the changes it is of."""
    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        killed = make_runner(outbox=outbox)
        killed.add(say(1))
        killed.run_all()
        (asked,) = in_review(outbox)
        decide_review(outbox, asked.id, "accept", now=clock.now())
        outbox.claim(now=clock.now(), lease_seconds=30)
    clock.sleep(31)

    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        next_start = make_runner(outbox=outbox)
        next_start.run_due()

        assert (outbox.pending(now=0), outbox.in_review()) == ((), ())
    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_a_decision_that_cannot_be_saved_yet_is_tried_again(
    *, runner: Any, say: Any, storage: Any, learned: Any, model: Any, clock: Any, decide: Any, monkeypatch: Any
) -> None:
    """Nobody is asked twice because a disk was full."""
    runner.add(say(1))
    runner.run_all()
    decide("accept")
    with monkeypatch.context() as full:
        full.setattr(type(storage), "save", _fail)
        runner.run_due()
    clock.sleep(600)

    runner.run_due()

    assert (learned(), len(model.seen), runner.stats().failed) == (["turn-1"], 1, 1)


def test_what_could_not_be_kept_for_review_is_run_again(
    runner: Any, say: Any, clock: Any, monkeypatch: Any, learned: Any
) -> None:
    """Without its proposal in the outbox nobody could decide, and nothing may be learned undecided."""
    runner.add(say(1))
    with monkeypatch.context() as full:
        full.setattr(runner.outbox, "hold_for_review", _fail)
        runner.run_all()
    clock.sleep(31)

    runner.run_due()

    assert (learned(), proposed(runner)) == ([], [["turn-1"]])


# -- the invoker ----------------------------------------------------------------------------------


def test_flush_does_not_wait_for_a_person(graph: Any, say: Any, learned: Any) -> None:
    """And does not say that it was learned; what waited for one before is not its business."""
    with BackgroundInvoker(graph, outbox="memory:", settings=Settings(debounce_seconds=60)) as invoker:
        invoker.submit(say(1), ADA, "t1")
        first = invoker.flush(20)
        second = invoker.flush(20)
        (asked,) = invoker.in_review()
        waiting = invoker.pending()

        invoker.decide(asked.id, "accept")
        last = invoker.flush(20)

    assert (first, second, last) == (False, True, True)
    assert (waiting, learned()) == ((), ["turn-1"])
    assert invoker.stats().held == 1


def test_at_once_means_decided_at_once_too(graph: Any, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")
        (asked,) = invoker.in_review()
        before = learned()

        invoker.decide(asked.id, "accept")

        assert (before, learned(), invoker.in_review()) == ([], ["turn-1"], ())
        assert invoker.flush()


def test_forgetting_drops_what_is_held(graph: Any, storage: Any, say: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", storage=storage, immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")

        invoker.forget(ADA)

        assert invoker.in_review() == invoker.pending() == ()


def test_settings_say_what_is_reviewed(tmp_path: Path, say: Any) -> None:
    settings = Settings(review="always", storage_path=str(tmp_path), model_name="offline", outbox="memory:")
    with BackgroundInvoker(settings=settings, immediate=True) as invoker:
        invoker.submit([("user", "I prefer tea to coffee.")], ADA, "t1")

        assert len(invoker.in_review()) == 1


def test_switched_off_there_is_nothing_to_review() -> None:
    with BackgroundInvoker(settings=Settings(enabled=False)) as invoker:
        assert invoker.in_review() == ()
        with pytest.raises(NotInReviewError):
            invoker.decide("x", "accept")


def _fail(*_: object, **__: object) -> None:
    from memgraph.errors import OutboxError

    raise OutboxError("disk is full")


def _graph(storage: Any, usage: Any) -> Any:
    from langchain_core.messages import AIMessage

    model = ScriptedModel(AIMessage(update_answer("Said."), usage_metadata=usage))
    return build_graph(model=model, storage=storage, review="always")
