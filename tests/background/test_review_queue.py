"""Reviewed updates in the background: held, decided, and applied without another model call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph import BackgroundInvoker, EditError, MemoryStorage, Policy, Scope, Settings, build_graph
from memgraph.background.compute_limiter import ComputeLimiter
from memgraph.background.drain import discard_forgotten
from memgraph.background.outbox import ConversationKey
from memgraph.background.reviews import decide_review, discard_deleted, in_review
from memgraph.background.sql_outbox import SqliteOutbox
from memgraph.errors import NotInReviewError
from memgraph.models import Section
from memgraph.testing import ScriptedModel, update_answer

TRUSTING = Policy(grounding="off")
ADA = Scope("ada")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(Scope("bob"), "t9")


@pytest.fixture
def graph(model: Any, storage: MemoryStorage, policy: Any) -> Any:
    return build_graph(model=model, storage=storage, policy=policy, review="always")


@pytest.fixture
def decide(runner: Any) -> Callable[..., None]:
    """Decide the only pending review."""

    def decide(answer: object = "accept") -> None:
        (review,) = in_review(runner.outbox)
        decide_review(runner.outbox, review.id, answer, now=runner.now())

    return decide


def proposed(runner: Any) -> list[list[str]]:
    """The proposed facts, without the suffix that makes each call's facts unique."""
    return [[item.after.partition(" #")[0] for item in review.proposal.items] for review in in_review(runner.outbox)]


# -- held -----------------------------------------------------------------------------------------


def test_update_under_review_is_held(runner: Any, say: Any, learned: Any) -> None:
    runner.add(say(1))
    hook_calls: list[Any] = []
    runner.add_hooks(hook_calls.append, lambda *failed: hook_calls.append(failed))

    runner.run_all()

    (review,) = in_review(runner.outbox)
    assert (review.key, proposed(runner)) == (KEY, [["turn-1"]])
    stats = runner.stats()
    assert (stats.held, stats.learned, stats.failed, stats.running) == (1, 0, 0, 0)
    assert (learned(), hook_calls, runner.outbox.pending(now=0)) == ([], [], ())
    assert review.proposal.thread_id == "t1"


def test_accepted_changes_are_learned_without_a_model_call(
    runner: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """A second model call could return something other than what was accepted."""
    runner.add(say(1))
    runner.run_all()
    decide("accept")

    runner.run_due()

    stats = runner.stats()
    assert (learned(), model.seen) == (["turn-1"], [["turn-1"]])
    assert (stats.held, stats.learned, stats.failed) == (1, 1, 0)
    assert (runner.outbox.pending(now=0), runner.outbox.in_review()) == ((), ())


def test_tokens_are_counted_once(make_runner: Any, storage: Any, outbox: Any, say: Any) -> None:
    """They were spent before it was held; applying it costs nothing."""
    answer = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    runner = make_runner(graph=_graph(storage, usage=answer))
    runner.add(say(1))
    runner.run_all()
    before = runner.stats()
    (review,) = in_review(outbox)
    decide_review(outbox, review.id, "accept", now=runner.now())

    runner.run_due()

    after = runner.stats()
    assert (before.input_tokens, before.output_tokens) == (after.input_tokens, after.output_tokens) == (7, 3)


def test_rejected_changes_are_not_proposed_again(runner: Any, say: Any, learned: Any, model: Any, decide: Any) -> None:
    runner.add(say(1))
    runner.run_all()
    decide("reject")
    runner.run_due()

    runner.add(say(1))
    runner.run_all()

    stats = runner.stats()
    assert (learned(), len(model.seen)) == ([], 1)
    assert (stats.rejected, stats.nothing_new) == (1, 1)


def test_edited_changes_are_learned_as_edited(runner: Any, say: Any, storage: Any, decide: Any) -> None:
    runner.add(say(1))
    runner.run_all()
    (item,) = in_review(runner.outbox)[0].proposal.items
    decide({"items": {item.key: {"after": "Likes turns, 喜欢。"}}})

    runner.run_due()

    (fact,) = storage.load(ADA).facts
    assert (fact.content, fact.is_manual) == ("Likes turns, 喜欢。", True)


def test_submission_during_review_is_learned_after_the_decision(
    runner: Any, say: Any, learned: Any, model: Any, decide: Any
) -> None:
    """It is reviewed next, and separately."""
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


def test_each_batch_of_a_long_conversation_is_reviewed_separately(
    *, make_runner: Any, storage: Any, model: Any, policy: Any, say: Any, learned: Any
) -> None:
    short = policy.model_copy(update={"batch_tokens": 1})
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=short, review="always"))
    runner.add(say(1, 2, 3))
    seen: list[Any] = []

    for answer in ("accept", "reject", "accept"):
        runner.run_all()
        seen += proposed(runner)
        (review,) = in_review(runner.outbox)
        decide_review(runner.outbox, review.id, answer, now=runner.now())
    runner.run_all()

    assert seen == [["turn-1"], ["turn-2"], ["turn-3"]]
    assert (learned(), len(model.seen)) == (["turn-1", "turn-3"], 3)
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()


def test_conversation_without_thread_id_keeps_unknown_source(runner: Any, say: Any, storage: Any, decide: Any) -> None:
    runner.add(say(1), ConversationKey(ADA))
    runner.run_all()
    decide("accept")

    runner.run_due()

    assert storage.load(ADA).facts[0].source == "unknown"


def test_update_without_corrections_is_not_held(make_runner: Any, storage: Any, model: Any, say: Any) -> None:
    """`corrections` requires review of corrections and removals only."""
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING, review="corrections"))
    runner.add(say(1))

    runner.run_all()

    assert (runner.stats().learned, runner.outbox.in_review()) == (1, ())


# -- deciding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["perhaps", {"items": {"add:nothing": "accept"}}, {}, None, 7, [], {"items": 3}])
def test_invalid_answer_changes_nothing(runner: Any, say: Any, decide: Any, answer: object) -> None:
    runner.add(say(1))
    runner.run_all()

    with pytest.raises(EditError):
        decide(answer)

    assert proposed(runner) == [["turn-1"]]
    assert runner.outbox.pending(now=0) == ()


def test_second_concurrent_decision_raises(runner: Any, say: Any, learned: Any, monkeypatch: Any) -> None:
    """Both listed the review before either decided."""
    runner.add(say(1))
    runner.run_all()
    before = runner.outbox.in_review()
    (review,) = in_review(runner.outbox)
    decide_review(runner.outbox, review.id, "accept", now=runner.now())
    monkeypatch.setattr(runner.outbox, "in_review", lambda: before)

    with pytest.raises(NotInReviewError, match="decided already"):
        decide_review(runner.outbox, review.id, "reject", now=runner.now())

    runner.run_due()
    assert learned() == ["turn-1"]


def test_unknown_review_cannot_be_decided(runner: Any) -> None:
    with pytest.raises(NotInReviewError, match="no update is waiting for review under 'x'"):
        decide_review(runner.outbox, "x", "accept", now=0)


def test_reviews_can_be_limited_to_a_scope(runner: Any, say: Any) -> None:
    runner.add(say(1))
    runner.add(say(1), OTHER)
    runner.run_all()

    assert [review.key for review in in_review(runner.outbox, ADA)] == [KEY]
    assert {review.key for review in in_review(runner.outbox)} == {KEY, OTHER}


# -- what changed meanwhile -----------------------------------------------------------------------


def test_facts_learned_during_review_are_kept(runner: Any, say: Any, storage: Any, learned: Any, decide: Any) -> None:
    """The changes are applied to the current memory, without a second review."""
    runner.add(say(1))
    runner.run_all()
    unreviewed = build_graph(model=ScriptedModel(update_answer("Lives in Turin.")), storage=storage, policy=TRUSTING)
    unreviewed.invoke({"messages": say(7)}, context={"user_id": "ada", "thread_id": "t7"})
    decide("accept")

    runner.run_due()

    assert learned() == ["Lives in Turin.", "turn-1"]


def test_revision_conflict_does_not_reopen_the_review(
    *, runner: Any, say: Any, storage: Any, learned: Any, model: Any, decide: Any, monkeypatch: Any
) -> None:
    runner.add(say(1))
    runner.run_all()
    decide("accept")
    save, conflicts = type(storage).save, iter([True, True, False])

    def save_after_another_writer(self: Any, scope: Any, memory: Any) -> Any:
        if next(conflicts, False):
            save(self, scope, self.load(scope))
        return save(self, scope, memory)

    monkeypatch.setattr(type(storage), "save", save_after_another_writer)
    runner.run_due()

    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_changed_summary_is_proposed_again(make_runner: Any, storage: Any, say: Any, outbox: Any) -> None:
    """The accepted text was a rewrite of another summary."""
    answer = json.dumps(
        {
            "user": {"workContext": {"summary": "Works on compilers.", "shouldUpdate": True}},
            "history": {},
            "newFacts": [],
        }
    )
    model = ScriptedModel(answer)
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING, review="always"))
    runner.add(say(1))
    runner.run_all()
    (review,) = in_review(outbox)
    memory = storage.load(ADA).with_section("work_context", Section(summary="Compilers."))
    storage.save(ADA, memory)
    decide_review(outbox, review.id, "accept", now=runner.now())

    runner.run_due()

    (next_review,) = in_review(outbox)
    assert [(item.before, item.after) for item in next_review.proposal.items] == [("Compilers.", "Works on compilers.")]
    assert next_review.id != review.id
    assert len(model.asked) == 2
    assert storage.load(ADA).section("work_context").summary == "Compilers."


def test_turn_learned_during_review_is_not_learned_twice(
    runner: Any, say: Any, storage: Any, learned: Any, decide: Any
) -> None:
    runner.add(say(1))
    runner.run_all()
    unreviewed = build_graph(model=ScriptedModel(update_answer("turn-1 #elsewhere")), storage=storage, policy=TRUSTING)
    unreviewed.invoke({"messages": say(1)}, context={"user_id": "ada", "thread_id": "t1"})
    decide("accept")

    runner.run_due()

    assert learned() == ["turn-1"]
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()


@pytest.mark.parametrize("decided", [False, True])
def test_deletion_during_review_discards_the_proposal(
    *, runner: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, decided: bool
) -> None:
    """With or without a decision. Later turns are learned."""
    runner.add(say(1))
    runner.run_all()
    if decided:
        decide("accept")
    clock.sleep(5)
    tombstone = storage.delete(ADA)
    clock.sleep(5)

    discard_forgotten(runner, ADA, tombstone)

    assert learned() == []
    assert runner.outbox.pending(now=0) == runner.outbox.in_review() == ()
    runner.add(say(1, 2))
    runner.run_all()
    assert proposed(runner) == [["turn-2"]]


def test_deletion_by_another_process_discards_the_decision(
    *, runner: Any, say: Any, storage: Any, learned: Any, clock: Any, decide: Any, model: Any
) -> None:
    """The other process did not touch this outbox."""
    runner.add(say(1))
    runner.run_all()
    clock.sleep(5)
    storage.delete(ADA)
    clock.sleep(5)
    decide("accept")

    runner.run_due()

    assert (learned(), len(model.seen), runner.stats().forgotten) == ([], 1, 1)


# -- processes ------------------------------------------------------------------------------------


def test_decision_is_applied_after_a_crash(
    *, make_runner: Any, say: Any, learned: Any, model: Any, clock: Any, tmp_path: Path
) -> None:
    """The decision and the changes are on disk."""
    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        killed = make_runner(outbox=outbox)
        killed.add(say(1))
        killed.run_all()
        (review,) = in_review(outbox)
        decide_review(outbox, review.id, "accept", now=clock.now())
        outbox.claim(now=clock.now(), lease_seconds=30)
    clock.sleep(31)

    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        next_start = make_runner(outbox=outbox)
        next_start.run_due()

        assert (outbox.pending(now=0), outbox.in_review()) == ((), ())
    assert (learned(), len(model.seen)) == (["turn-1"], 1)


def test_failed_save_of_a_decision_is_retried(
    *, runner: Any, say: Any, storage: Any, learned: Any, model: Any, clock: Any, decide: Any, monkeypatch: Any
) -> None:
    """A full disk must not require a second decision."""
    runner.add(say(1))
    runner.run_all()
    decide("accept")
    with monkeypatch.context() as disk_full:
        disk_full.setattr(type(storage), "save_with_episodes", _fail)
        runner.run_due()
    clock.sleep(600)

    runner.run_due()

    assert (learned(), len(model.seen), runner.stats().failed) == (["turn-1"], 1, 1)


def test_job_that_could_not_be_held_runs_again(
    runner: Any, say: Any, clock: Any, monkeypatch: Any, learned: Any
) -> None:
    """The proposal was not stored, so it cannot be decided, and must not be learned without a decision."""
    runner.add(say(1))
    with monkeypatch.context() as disk_full:
        disk_full.setattr(runner.outbox, "hold_for_review", _fail)
        runner.run_all()
    clock.sleep(31)

    runner.run_due()

    assert (learned(), proposed(runner)) == ([], [["turn-1"]])


# -- deleted memories -----------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [-7_200, 7_200])
def test_only_reviews_of_deleted_memories_are_discarded_whatever_the_clock_says(
    *, runner: Any, storage: Any, outbox: Any, say: Any, ahead: int
) -> None:
    """Also if the storage itself was called to delete them, and the proposal is from a machine with another clock."""
    runner.add(say(1))
    (claim,) = outbox.claim(now=runner.now() + 60, lease_seconds=30)
    paused = runner._executor.run(claim, lambda _: None, lambda _: None, ComputeLimiter().permit())
    outbox.hold_for_review(claim, paused.stored.model_dump_json(), now=runner.now() + ahead)

    discard_deleted(outbox, storage, now=runner.now())
    assert proposed(runner) == [["turn-1"]]
    storage.delete(ADA)
    discard_deleted(outbox, storage, now=runner.now())

    assert proposed(runner) == []


# -- the invoker ----------------------------------------------------------------------------------


def test_flush_does_not_wait_for_a_review(graph: Any, say: Any, learned: Any) -> None:
    """It returns False for a job that is held now, and ignores those held before."""
    with BackgroundInvoker(graph, outbox="memory:", settings=Settings(debounce_seconds=60)) as invoker:
        invoker.submit(say(1), ADA, "t1")
        first = invoker.flush(120)
        second = invoker.flush(120)
        (review,) = invoker.in_review()
        pending = invoker.pending()

        invoker.decide(review.id, "accept")
        last = invoker.flush(120)

    assert (first, second, last) == (False, True, True)
    assert (pending, learned()) == ((), ["turn-1"])
    assert invoker.stats().held == 1


def test_immediate_invoker_applies_decisions_immediately(graph: Any, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")
        (review,) = invoker.in_review()
        before = learned()

        invoker.decide(review.id, "accept")

        assert (before, learned(), invoker.in_review()) == ([], ["turn-1"], ())
        assert invoker.flush()


def test_forget_discards_held_updates(graph: Any, storage: Any, say: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", storage=storage, immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")

        invoker.forget(ADA)

        assert invoker.in_review() == invoker.pending() == ()


def test_review_is_configured_by_settings(tmp_path: Path, say: Any) -> None:
    settings = Settings(review="always", storage_path=str(tmp_path), model_name="offline", outbox="memory:")
    with BackgroundInvoker(settings=settings, immediate=True) as invoker:
        invoker.submit([("user", "I prefer tea to coffee.")], ADA, "t1")

        assert len(invoker.in_review()) == 1


def test_disabled_invoker_has_no_reviews() -> None:
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
    return build_graph(model=model, storage=storage, policy=TRUSTING, review="always")
