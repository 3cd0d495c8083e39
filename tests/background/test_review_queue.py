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
def decide(desk: Any) -> Callable[..., None]:
    """Decide the one thing that waits."""

    def decide(answer: object = "accept") -> None:
        (asked,) = in_review(desk.outbox)
        decide_review(desk.outbox, asked.id, answer, now=desk.clock.now())

    return decide


def proposed(desk: Any) -> list[list[str]]:
    """What a person is asked, less what tells the facts of two calls apart."""
    return [[item.after.partition(" #")[0] for item in asked.proposal.items] for asked in in_review(desk.outbox)]


# -- held -----------------------------------------------------------------------------------------


def test_an_update_that_has_to_be_reviewed_is_held_and_never_taken_for_finished(
    desk: Any, say: Any, learned: Any
) -> None:
    desk.submit(say(1))
    told: list[Any] = []
    desk.engine.add_hooks(told.append, lambda *failed: told.append(failed))

    desk.run_all()

    (asked,) = in_review(desk.outbox)
    assert (asked.key, proposed(desk)) == (KEY, [["turn-1"]])
    stats = desk.engine.stats()
    assert (stats.held, stats.learned, stats.failed, stats.running) == (1, 0, 0, 0)
    assert (learned(), told, desk.outbox.pending(now=0)) == ([], [], ())
    assert asked.proposal.thread_id == "t1"


def test_what_was_accepted_is_learned_without_asking_the_model_again(
    desk: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """A second answer of a model is another answer: not the one that was agreed to."""
    desk.submit(say(1))
    desk.run_all()
    decide("accept")

    desk.run_due()

    stats = desk.engine.stats()
    assert (learned(), model.seen) == (["turn-1"], [["turn-1"]])
    assert (stats.held, stats.learned, stats.failed) == (1, 1, 0)
    assert (desk.outbox.pending(now=0), desk.outbox.in_review()) == ((), ())


def test_tokens_are_counted_once(make_desk: Any, storage: Any, outbox: Any, say: Any) -> None:
    """They were spent when it was held; learning it costs nothing."""
    answer = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    desk = make_desk(graph=_graph(storage, usage=answer))
    desk.submit(say(1))
    desk.run_all()
    before = desk.engine.stats()
    (asked,) = in_review(outbox)
    decide_review(outbox, asked.id, "accept", now=desk.clock.now())

    desk.run_due()

    after = desk.engine.stats()
    assert (before.input_tokens, before.output_tokens) == (after.input_tokens, after.output_tokens) == (7, 3)


def test_what_was_rejected_is_not_learned_and_not_asked_about_again(
    desk: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    desk.submit(say(1))
    desk.run_all()
    decide("reject")
    desk.run_due()

    desk.submit(say(1))
    desk.run_all()

    stats = desk.engine.stats()
    assert (learned(), len(model.seen)) == ([], 1)
    assert (stats.rejected, stats.nothing_new) == (1, 1)


def test_what_was_edited_is_learned_as_it_was_edited(desk: Any, say: Any, storage: Any, decide: Any) -> None:
    desk.submit(say(1))
    desk.run_all()
    (item,) = in_review(desk.outbox)[0].proposal.items
    decide({"items": {item.key: {"after": "Likes turns, 喜欢。"}}})

    desk.run_due()

    (fact,) = storage.load(ADA).facts
    assert (fact.content, fact.is_manual) == ("Likes turns, 喜欢。", True)


def test_what_is_said_meanwhile_is_learned_after_the_decision(
    desk: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """It is reviewed in its turn, and by itself."""
    desk.submit(say(1))
    desk.run_all()
    desk.submit(say(1, 2))
    desk.submit(say(3))
    desk.run_all()
    decide("accept")

    desk.run_due()

    assert (learned(), model.seen) == (["turn-1"], [["turn-1"], ["turn-2", "turn-3"]])
    assert proposed(desk) == [["turn-2", "turn-3"]]
    decide("accept")
    desk.run_due()
    assert learned() == ["turn-1", "turn-2", "turn-3"]
    assert len(model.seen) == 2


def test_each_batch_of_a_long_conversation_is_reviewed_by_itself(
    *, make_desk: Any, storage: Any, model: Any, policy: Any, say: Any, learned: Any
) -> None:
    short = policy.model_copy(update={"batch_tokens": 1})
    desk = make_desk(graph=build_graph(model=model, storage=storage, policy=short, review="always"))
    desk.submit(say(1, 2, 3))
    seen: list[Any] = []

    for answer in ("accept", "reject", "accept"):
        desk.run_all()
        seen += proposed(desk)
        (asked,) = in_review(desk.outbox)
        decide_review(desk.outbox, asked.id, answer, now=desk.clock.now())
    desk.run_all()

    assert seen == [["turn-1"], ["turn-2"], ["turn-3"]]
    assert (learned(), len(model.seen)) == (["turn-1", "turn-3"], 3)
    assert desk.outbox.pending(now=0) == desk.outbox.in_review() == ()


def test_a_conversation_without_a_name_is_held_under_none(desk: Any, say: Any, storage: Any, decide: Any) -> None:
    desk.submit(say(1), ConversationKey(ADA))
    desk.run_all()
    decide("accept")

    desk.run_due()

    assert storage.load(ADA).facts[0].source == "unknown"


def test_where_nothing_has_to_be_reviewed_nothing_is_held(make_desk: Any, storage: Any, model: Any, say: Any) -> None:
    """`corrections` asks about corrections, and what would go."""
    desk = make_desk(graph=build_graph(model=model, storage=storage, review="corrections"))
    desk.submit(say(1))

    desk.run_all()

    assert (desk.engine.stats().learned, desk.outbox.in_review()) == (1, ())


# -- deciding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["perhaps", {"items": {"add:nothing": "accept"}}, {}, None, 7, [], {"items": 3}])
def test_an_answer_that_cannot_be_understood_changes_nothing(desk: Any, say: Any, decide: Any, answer: object) -> None:
    desk.submit(say(1))
    desk.run_all()

    with pytest.raises(EditError):
        decide(answer)

    assert proposed(desk) == [["turn-1"]]
    assert desk.outbox.pending(now=0) == ()


def test_of_two_who_decide_at_once_one_is_told(desk: Any, say: Any, learned: Any, monkeypatch: Any) -> None:
    """Both had looked before either decided."""
    desk.submit(say(1))
    desk.run_all()
    before = desk.outbox.in_review()
    (asked,) = in_review(desk.outbox)
    decide_review(desk.outbox, asked.id, "accept", now=desk.clock.now())
    monkeypatch.setattr(desk.outbox, "in_review", lambda: before)

    with pytest.raises(NotInReviewError, match="decided already"):
        decide_review(desk.outbox, asked.id, "reject", now=desk.clock.now())

    desk.run_due()
    assert learned() == ["turn-1"]


def test_what_is_not_there_cannot_be_decided(desk: Any) -> None:
    with pytest.raises(NotInReviewError, match="no update is waiting for review under 'x'"):
        decide_review(desk.outbox, "x", "accept", now=0)


def test_only_what_is_of_a_scope_is_told(desk: Any, say: Any) -> None:
    desk.submit(say(1))
    desk.submit(say(1), OTHER)
    desk.run_all()

    assert [asked.key for asked in in_review(desk.outbox, ADA)] == [KEY]
    assert {asked.key for asked in in_review(desk.outbox)} == {KEY, OTHER}


# -- what changed meanwhile -----------------------------------------------------------------------


def test_what_others_learned_meanwhile_is_kept(desk: Any, say: Any, storage: Any, learned: Any, decide: Any) -> None:
    """The changes are applied to the memory as it is now; nobody is asked twice."""
    desk.submit(say(1))
    desk.run_all()
    free = build_graph(model=ScriptedModel(update_answer("Lives in Turin.")), storage=storage)
    free.invoke({"messages": say(7)}, context={"user_id": "ada", "thread_id": "t7"})
    decide("accept")

    desk.run_due()

    assert learned() == ["Lives in Turin.", "turn-1"]


def test_a_save_that_loses_a_race_asks_nobody_again(
    *, desk: Any, say: Any, storage: Any, learned: Any, model: Any, decide: Any, monkeypatch: Any
) -> None:
    desk.submit(say(1))
    desk.run_all()
    decide("accept")
    save, races = type(storage).save, iter([True, True, False])

    def lose(self: Any, scope: Any, memory: Any) -> Any:
        if next(races, False):
            save(self, scope, self.load(scope))
        return save(self, scope, memory)

    monkeypatch.setattr(type(storage), "save", lose)
    desk.run_due()

    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_where_a_summary_moved_the_model_is_asked_anew_and_its_answer_is_held(
    make_desk: Any, storage: Any, say: Any, outbox: Any
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
    desk = make_desk(graph=build_graph(model=model, storage=storage, review="always"))
    desk.submit(say(1))
    desk.run_all()
    (asked,) = in_review(outbox)
    memory = storage.load(ADA).with_section("work_context", Section(summary="Retired."))
    storage.save(ADA, memory)
    decide_review(outbox, asked.id, "accept", now=desk.clock.now())

    desk.run_due()

    (again,) = in_review(outbox)
    assert [(item.before, item.after) for item in again.proposal.items] == [("Retired.", "Works on compilers.")]
    assert again.id != asked.id
    assert len(model.asked) == 2
    assert storage.load(ADA).section("work_context").summary == "Retired."


def test_what_was_learned_elsewhere_meanwhile_is_not_learned_twice(
    desk: Any, say: Any, storage: Any, learned: Any, decide: Any
) -> None:
    desk.submit(say(1))
    desk.run_all()
    free = build_graph(model=ScriptedModel(update_answer("turn-1 #elsewhere")), storage=storage)
    free.invoke({"messages": say(1)}, context={"user_id": "ada", "thread_id": "t1"})
    decide("accept")

    desk.run_due()

    assert learned() == ["turn-1"]
    assert desk.outbox.pending(now=0) == desk.outbox.in_review() == ()


@pytest.mark.parametrize("decided", [False, True])
def test_what_was_forgotten_while_it_was_held_stays_forgotten(
    *, desk: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, decided: bool
) -> None:
    """Whatever was decided before; and what is said afterwards is learned."""
    desk.submit(say(1))
    desk.run_all()
    if decided:
        decide("accept")
    clock.sleep(5)
    tombstone = storage.delete(ADA)
    clock.sleep(5)

    discard_forgotten(desk.engine, ADA, deleted_at(tombstone))

    assert learned() == []
    assert desk.outbox.pending(now=0) == desk.outbox.in_review() == ()
    desk.submit(say(1, 2))
    desk.run_all()
    assert proposed(desk) == [["turn-2"]]


def test_what_was_forgotten_by_others_is_not_learned_when_it_is_decided(
    *, desk: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, model: Any
) -> None:
    """Another process deleted the memory, and this one's outbox knows nothing of it."""
    desk.submit(say(1))
    desk.run_all()
    clock.sleep(5)
    storage.delete(ADA)
    clock.sleep(5)
    decide("accept")

    desk.run_due()

    assert (learned(), len(model.seen), desk.engine.stats().forgotten) == ([], 1, 1)


# -- processes ------------------------------------------------------------------------------------


def test_who_is_killed_between_decision_and_save_applies_it_at_the_next_start(
    *, make_desk: Any, say: Any, learned: Any, model: Any, clock: Any, tmp_path: Path
) -> None:
    """The decision is on disk, and so are the changes it is of."""
    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        killed = make_desk(outbox=outbox)
        killed.submit(say(1))
        killed.run_all()
        (asked,) = in_review(outbox)
        decide_review(outbox, asked.id, "accept", now=clock.now())
        outbox.claim(now=clock.now(), lease_seconds=30)
    clock.sleep(31)

    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        next_start = make_desk(outbox=outbox)
        next_start.run_due()

        assert (outbox.pending(now=0), outbox.in_review()) == ((), ())
    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_a_decision_that_cannot_be_saved_yet_is_tried_again(
    *, desk: Any, say: Any, storage: Any, learned: Any, model: Any, clock: Any, decide: Any, monkeypatch: Any
) -> None:
    """Nobody is asked twice because a disk was full."""
    desk.submit(say(1))
    desk.run_all()
    decide("accept")
    with monkeypatch.context() as full:
        full.setattr(type(storage), "save", _fail)
        desk.run_due()
    clock.sleep(600)

    desk.run_due()

    assert (learned(), len(model.seen), desk.engine.stats().failed) == (["turn-1"], 1, 1)


def test_what_could_not_be_kept_for_review_is_run_again(
    desk: Any, say: Any, clock: Any, monkeypatch: Any, learned: Any
) -> None:
    """Without its proposal in the outbox nobody could decide, and nothing may be learned undecided."""
    desk.submit(say(1))
    with monkeypatch.context() as full:
        full.setattr(desk.outbox, "hold_for_review", _fail)
        desk.run_all()
    clock.sleep(31)

    desk.run_due()

    assert (learned(), proposed(desk)) == ([], [["turn-1"]])


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
