"""Which job runs when, and what becomes of it: with a clock that stands still, and no threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import ConfigError, Fact, ModelError, Policy, RevisionConflictError, Scope, build_graph
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import MAX_TRIES
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(Scope("bob"), "t9")
POLICY = Policy(model_tries=1)


class RateLimitedError(Exception):
    """As a provider's client raises it."""

    def __init__(self, after: str) -> None:
        super().__init__("429")
        self.status_code = 429
        self.response = SimpleNamespace(headers={"retry-after": after})


# -- when -----------------------------------------------------------------------------------------


def test_steady_submissions_are_one_run_after_the_last(make_desk: Any, clock: Any, model: Any, say: Any) -> None:
    """20 submissions, one every 2 s, 5 s of quiet."""
    desk, runs = make_desk(debounce=5, max_wait=300), []
    for number in range(20):
        desk.submit(say(number))
        runs.append(desk.run_due())
        clock.sleep(2)

    clock.sleep(2.9)
    runs.append(desk.run_due())
    clock.sleep(0.1)

    assert runs == [0] * 21
    assert desk.run_due() == 1
    assert model.seen == [[f"turn-{number}" for number in range(20)]]


@pytest.mark.parametrize("others", [0, 3])
def test_steady_submissions_do_not_postpone_for_ever(
    make_desk: Any, clock: Any, model: Any, say: Any, others: int
) -> None:
    """With a longest wait of 10 s there is a run at least every 10 s, whatever happens on other keys."""
    desk, runs = make_desk(debounce=5, max_wait=10), []
    desk.engine.add_hooks(lambda update: runs.append(clock.now() - start) if update.key == KEY else None, None)
    start = clock.now()
    for second in range(60):
        if second % 2 == 0:
            desk.submit(say(second))
        for other in range(others):
            desk.submit(say(second), ConversationKey(Scope(f"u{other}"), f"t{second % 7}"))
        desk.run_due()
        clock.sleep(1)

    assert runs == pytest.approx([10, 22, 34, 46, 58])


def test_traffic_on_other_keys_postpones_nothing(desk: Any, clock: Any, say: Any, learned: Any) -> None:
    desk.submit(say(1))
    for number in range(5):
        clock.sleep(1)
        desk.submit(say(number), OTHER)

    assert desk.run_due() == 1
    assert learned() == ["turn-1"]


# -- what is learned ------------------------------------------------------------------------------


def test_three_submissions_of_one_turn_are_one_run_that_saw_all(desk: Any, model: Any, say: Any) -> None:
    for number in range(3):
        desk.submit(say(number))

    assert desk.run_all() == 1
    assert model.seen == [["turn-0", "turn-1", "turn-2"]]


def test_of_a_history_that_is_submitted_each_time_each_turn_is_learned_once(desk: Any, say: Any, learned: Any) -> None:
    for length in range(1, 13):
        desk.submit(say(*range(length)))
        if length % 3 == 0:
            desk.run_all()

    assert learned() == [f"turn-{number}" for number in range(12)]


def test_messages_without_ids_are_learned_once(desk: Any, learned: Any) -> None:
    turns = [HumanMessage(f"turn-{number}") for number in range(6)]
    for length in range(1, 7):
        desk.submit(turns[:length])
        if length % 2 == 0:
            desk.run_all()

    assert learned() == [f"turn-{number}" for number in range(6)]


def test_an_old_part_submitted_late_hides_nothing_new(desk: Any, model: Any, say: Any, learned: Any) -> None:
    desk.submit(say(1, 2))
    desk.run_all()
    desk.submit(say(3))
    desk.submit(say(1, 2))
    desk.run_all()

    assert learned() == ["turn-1", "turn-2", "turn-3"]
    assert len(model.asked) == 2


def test_the_later_version_of_a_message_counts(desk: Any, learned: Any) -> None:
    desk.submit([HumanMessage("turn-typo", id="m1")])
    desk.submit([HumanMessage("turn-right", id="m1")])
    desk.run_all()

    assert learned() == ["turn-right"]


def test_scopes_do_not_mix(desk: Any, say: Any, learned: Any) -> None:
    bot = Scope("eve", "bot")
    desk.submit(say(1))
    desk.submit(say(2), OTHER)
    desk.submit(say(3), ConversationKey(bot, "t1"))
    desk.run_all()

    assert (learned(), learned(OTHER.scope), learned(bot)) == (["turn-1"], ["turn-2"], ["turn-3"])


def test_what_comes_in_while_a_job_runs_is_learned_next(make_desk: Any, storage: Any, say: Any) -> None:
    """Also where it repeats what is just being learned."""

    def answer(prompt: object) -> str:
        if len(model.asked) == 1:
            desk.submit(say(3))
            desk.submit(say(1, 2))
        return update_answer(f"fact of call {len(model.asked)}")

    model = ScriptedModel(answer)
    desk = make_desk(graph=build_graph(model=model, storage=storage))
    desk.submit(say(1, 2))

    assert (desk.run_all(), desk.run_all()) == (1, 1)
    assert "turn-3" in str(model.asked[1])
    assert [fact.content for fact in storage.load(ADA).facts] == ["fact of call 1", "fact of call 2"]
    assert desk.outbox.pending(now=0) == ()


def test_tool_calls_and_pictures_do_not_stop_it(desk: Any, learned: Any) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    desk.submit(
        [
            HumanMessage([{"type": "text", "text": "turn-1"}, picture], id="m1"),
            AIMessage("", tool_calls=[{"name": "look", "args": {"at": object()}, "id": "c1"}], id="m2"),
        ]
    )
    desk.run_all()

    assert learned() == ["turn-1 [image]"]


def test_pictures_are_not_kept(desk: Any, clock: Any) -> None:
    """Memory learns from words; the rest would be written to disk at every submission."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    desk.submit([HumanMessage([{"type": "text", "text": "B" * 5_000}, picture])])
    clock.sleep(5)
    (claim,) = desk.engine.claim(1)

    assert 6_000 < len(claim.submissions[0].messages) < 8_000


# -- two workers ----------------------------------------------------------------------------------


def test_a_job_that_two_workers_run_is_learned_once(make_desk: Any, clock: Any, storage: Any, say: Any) -> None:
    """The lease of the first expires while its model thinks."""

    def answer(prompt: object) -> str:
        if len(model.asked) == 1:
            clock.sleep(31)
            assert second.run_due() == 1
        return update_answer(f"fact of call {len(model.asked)}")

    model = ScriptedModel(answer)
    graph = build_graph(model=model, storage=storage)
    first, second = make_desk(graph=graph), make_desk(graph=graph)
    first.submit(say(1))
    clock.sleep(5)

    assert first.run_due() == 1
    assert len(storage.load(ADA).facts) == 1
    assert (first.engine.stats().superseded, second.engine.stats().learned) == (1, 1)
    assert first.outbox.pending(now=0) == ()


def test_a_job_that_was_learned_but_not_removed_costs_nothing(desk: Any, clock: Any, model: Any, say: Any) -> None:
    """As after a crash between save and removal."""
    desk.submit(say(1))
    clock.sleep(5)
    (claim,) = desk.engine.claim(1)
    desk.engine._executor.run(claim, pytest.fail, pytest.fail)
    clock.sleep(31)

    assert desk.run_due() == 1
    assert (len(model.asked), desk.engine.stats().nothing_new) == (1, 1)
    assert desk.outbox.pending(now=0) == ()


def test_many_turns_that_were_learned_but_not_removed_are_not_learned_again(
    desk: Any, clock: Any, storage: Any, say: Any, learned: Any
) -> None:
    """A memory knows the last 8 messages of a thread only; what was learned together is kept together."""
    for number in range(20):
        desk.submit(say(number))
    clock.sleep(10)
    with pytest.MonkeyPatch.context() as crash:
        crash.setattr(desk.outbox, "complete", lambda *_, **__: True)
        desk.run_due()
    for number in range(20, 23):
        desk.submit(say(number))
    clock.sleep(60)
    desk.run_due()

    assert learned() == [f"turn-{number}" for number in range(23)]
    assert desk.outbox.pending(now=0) == ()


def test_who_lost_the_lease_before_asking_asks_no_model(desk: Any, clock: Any, model: Any, say: Any) -> None:
    desk.submit(say(1))
    desk.submit(say(2))
    clock.sleep(10)
    (lost,) = desk.engine.claim(1)
    clock.sleep(31)
    (taken,) = desk.engine.claim(1)

    assert desk.engine.run(lost) is None
    assert (len(model.asked), desk.engine.stats().failed) == (0, 0)
    desk.engine.run(taken)
    assert desk.outbox.pending(now=0) == ()


def test_half_a_surrogate_pair_does_not_stop_it(desk: Any, learned: Any) -> None:
    """Models and clients cut emoji in half; no file can hold the half."""
    desk.submit([HumanMessage("turn-\ud83d", id="m1")])
    desk.run_all()

    assert learned() == ["turn-\ufffd"]


# -- edits and deletions --------------------------------------------------------------------------


def answering(act: Callable[[], object]) -> ScriptedModel:
    """A model during whose call somebody does something."""

    def answer(prompt: object) -> str:
        act()
        return update_answer("learned meanwhile")

    return ScriptedModel(answer)


def test_an_edit_during_a_slow_model_call_survives(make_desk: Any, storage: Any, say: Any) -> None:
    def edit() -> None:
        if not storage.load(ADA).facts:
            storage.save(ADA, storage.load(ADA).with_facts((Fact(content="by hand", source="manual"),)))

    desk = make_desk(graph=build_graph(model=answering(edit), storage=storage))
    desk.submit(say(1))
    desk.run_all()

    assert [fact.content for fact in storage.load(ADA).facts] == ["by hand", "learned meanwhile"]


def test_what_was_submitted_before_a_deletion_is_dropped(
    *, desk: Any, clock: Any, model: Any, storage: Any, say: Any, learned: Any
) -> None:
    """Also where the whole history comes again afterwards: only what is said later is learned."""
    desk.submit(say(1, 2))
    storage.delete(ADA)
    clock.sleep(3_600)
    desk.submit(say(1, 2, 3))
    desk.run_all()

    assert learned() == ["turn-3"]
    assert model.seen == [["turn-3"]]


def test_a_job_from_before_a_deletion_asks_no_model(desk: Any, model: Any, storage: Any, say: Any) -> None:
    desk.submit(say(1, 2))
    storage.delete(ADA)
    desk.run_all()

    assert (len(model.asked), desk.engine.stats().forgotten) == (0, 1)
    assert storage.load(ADA).threads["t1"].last_message_id == "m2"
    assert desk.outbox.pending(now=0) == ()


def test_a_deletion_during_a_slow_model_call_stays(make_desk: Any, clock: Any, storage: Any, say: Any) -> None:
    slow = make_desk(graph=build_graph(model=answering(lambda: storage.delete(ADA)), storage=storage))
    slow.submit(say(1))
    slow.run_all()
    after_deletion = storage.load(ADA).is_empty

    clock.sleep(3_600)
    later = make_desk()
    later.submit(say(1, 2))
    later.run_all()

    assert after_deletion
    assert slow.engine.stats().forgotten == 1
    assert [fact.content.partition(" #")[0] for fact in storage.load(ADA).facts] == ["turn-2"]


def test_a_deletion_of_one_memory_is_none_of_anothers(desk: Any, storage: Any, say: Any, learned: Any) -> None:
    desk.submit(say(1), OTHER)
    desk.submit(say(2), ConversationKey(Scope("ada", "bot"), "t1"))
    storage.delete(ADA)
    desk.run_all()

    assert (learned(OTHER.scope), learned(Scope("ada", "bot"))) == (["turn-1"], ["turn-2"])


# -- failures -------------------------------------------------------------------------------------


def test_a_model_that_always_fails_is_tried_five_times_and_set_aside(
    *, make_desk: Any, clock: Any, storage: Any, say: Any, learned: Any
) -> None:
    """The waits grow; put back by hand, with the model well again, it is learned."""
    failing = make_desk(graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY))
    failing.submit(say(1))
    clock.sleep(5)
    waits = []
    while failing.run_due():
        for job in failing.outbox.pending(now=clock.now()):
            waits.append(job.due_at - clock.now())
            clock.sleep(job.due_at - clock.now())
    (job,) = failing.outbox.dead_letters()

    assert (job.attempts, failing.engine.stats().failed, failing.engine.stats().set_aside) == (MAX_TRIES, MAX_TRIES, 1)
    assert waits == sorted(waits) == pytest.approx([5, 20, 80, 320])
    assert job.error == "ModelError: the model did not answer: ConnectionError: down"
    assert learned() == []

    well = make_desk()
    assert well.outbox.retry(now=clock.now()) == 1
    assert well.run_due() == 1
    assert (learned(), well.outbox.dead_letters()) == (["turn-1"], ())


def test_a_failure_leaves_other_keys_alone(make_desk: Any, clock: Any, storage: Any, say: Any, learned: Any) -> None:
    def answer(prompt: object) -> str:
        if "turn-1" in str(prompt):
            raise ConnectionError
        return update_answer("of the other")

    desk = make_desk(graph=build_graph(model=ScriptedModel(answer), storage=storage, policy=POLICY))
    desk.submit(say(1))
    desk.submit(say(2), OTHER)
    desk.run_all()

    assert [job.key for job in desk.outbox.pending(now=clock.now())] == [KEY]
    assert learned(OTHER.scope) == ["of the other"]


def test_what_no_waiting_cures_is_set_aside_at_once(make_desk: Any, storage: Any, say: Any) -> None:
    desk = make_desk(graph=build_graph(model="nobody:has-this", storage=storage))
    desk.submit(say(1))
    desk.run_all()

    (job,) = desk.outbox.dead_letters()
    assert (job.attempts, desk.engine.stats().failed) == (1, 1)


def test_what_cannot_be_read_is_set_aside(desk: Any, clock: Any) -> None:
    """A later version of memgraph may have written it."""
    desk.engine.submit(KEY, "no json")
    for _ in range(MAX_TRIES):
        desk.run_all()

    assert "JSONDecodeError" in desk.outbox.dead_letters()[0].error


def test_a_provider_that_asks_for_quiet_gets_it(make_desk: Any, clock: Any, storage: Any, say: Any) -> None:
    """A 429 pauses all keys for its Retry-After."""
    model = ScriptedModel(RateLimitedError("40"), update_answer("a"))
    desk = make_desk(graph=build_graph(model=model, storage=storage, policy=POLICY))
    desk.submit(say(1))
    desk.submit(say(2), OTHER)

    assert desk.run_all() == 1
    clock.sleep(39)
    assert desk.run_all() == 0
    clock.sleep(1)
    assert desk.run_all() == 2


def test_a_storage_that_is_away_is_waited_for(
    *, make_desk: Any, storage: Any, say: Any, monkeypatch: Any, learned: Any
) -> None:
    desk = make_desk()
    desk.submit(say(1))
    with monkeypatch.context() as away:
        away.setattr(type(storage), "save", lambda *_: (_ for _ in ()).throw(RevisionConflictError(ADA, 1)))
        away.setattr("memgraph.nodes.save_memory._JITTER_SECONDS", 0)
        desk.run_all()
    assert (learned(), len(desk.outbox.pending(now=0))) == ([], 1)

    desk.run_all()

    assert learned() == ["turn-1"]


def test_what_fails_while_closing_counts_as_not_tried(make_desk: Any, clock: Any, storage: Any, say: Any) -> None:
    desk = make_desk(graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY))
    desk.submit(say(1))
    desk.engine.closing = True
    desk.outbox.expedite(now=clock.now())
    (claim,) = desk.engine.claim(1)
    desk.engine.run(claim)

    (job,) = desk.outbox.pending(now=clock.now())
    assert (job.attempts, job.running) == (0, False)


# -- what is told ---------------------------------------------------------------------------------


def test_an_update_leaves_one_line_without_what_was_said(desk: Any, say: Any, caplog: Any) -> None:
    desk.submit(say(7))
    with caplog.at_level(logging.INFO, "memgraph.invoker"):
        desk.run_all()

    (record,) = caplog.records
    fields = record.memgraph
    assert record.getMessage().startswith("update user='ada' agent=None thread='t1' outcome='learned' added=1")
    assert "turn-7" not in record.getMessage()
    assert next(iter(fields["ms_by_node"])) == "filter_messages"
    assert len(fields["ms_by_node"]) == 9
    assert fields["calls"] == 1


def test_hooks_are_told(desk: Any, make_desk: Any, storage: Any, say: Any) -> None:
    updates: list[Any] = []
    desk.engine.add_hooks(updates.append, None)
    desk.submit(say(1))
    desk.run_all()

    assert [(update.key, update.outcome, len(update.report.added)) for update in updates] == [(KEY, "learned", 1)]


def test_hooks_are_told_of_errors(make_desk: Any, storage: Any, say: Any) -> None:
    desk = make_desk(graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY))
    errors: list[Any] = []
    desk.engine.add_hooks(None, lambda claim, error: errors.append((claim.key, type(error))))
    desk.submit(say(1))
    desk.run_all()

    assert errors == [(KEY, ModelError)]


def test_a_hook_that_fails_hurts_nothing(desk: Any, say: Any, learned: Any, caplog: Any) -> None:
    def fail(_: object) -> None:
        raise ConfigError("the hook's own")

    desk.engine.add_hooks(fail, None)
    desk.submit(say(1))
    desk.run_all()

    assert learned() == ["turn-1"]
    assert desk.outbox.pending(now=0) == ()
    assert "a hook of the invoker failed" in caplog.text


def test_tokens_are_counted(make_desk: Any, storage: Any, say: Any) -> None:
    usage = {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    model = ScriptedModel(lambda _: AIMessage(update_answer("a"), usage_metadata=usage))
    desk = make_desk(graph=build_graph(model=model, storage=storage))
    desk.submit(say(1))
    desk.run_all()

    stats = desk.engine.stats()
    assert (stats.submitted, stats.learned, stats.running) == (1, 1, 0)
    assert (stats.input_tokens, stats.output_tokens) == (20, 3)
