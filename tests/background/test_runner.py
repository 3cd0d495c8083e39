"""JobRunner: scheduling, results and failures, on a fake clock and without threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import ConfigError, Fact, ModelError, Policy, RevisionConflictError, Scope, build_graph
from memgraph.background.execution import Attempt, ComputePermit
from memgraph.background.outbox import ConversationKey
from memgraph.background.runner import Client
from memgraph.background.schedule import MAX_ATTEMPTS
from memgraph.storage import base
from memgraph.testing import ScriptedModel, update_answer

TRUSTING = Policy(grounding="off")
ADA = Scope("ada")
KEY = ConversationKey(ADA, "t1")
OTHER = ConversationKey(Scope("bob"), "t9")
POLICY = Policy(model_tries=1, grounding="off")


class RateLimitedError(Exception):
    """An error as raised by a provider's client."""

    def __init__(self, after: str) -> None:
        super().__init__("429")
        self.status_code = 429
        self.response = SimpleNamespace(headers={"retry-after": after})


# -- scheduling -----------------------------------------------------------------------------------


def test_steady_submissions_are_one_run_after_the_last(make_runner: Any, clock: Any, model: Any, say: Any) -> None:
    """20 submissions, one every 2 s, 5 s of quiet."""
    runner, runs = make_runner(debounce=5, max_wait=300), []
    for number in range(20):
        runner.add(say(number))
        runs.append(runner.run_due())
        clock.sleep(2)

    clock.sleep(2.9)
    runs.append(runner.run_due())
    clock.sleep(0.1)

    assert runs == [0] * 21
    assert runner.run_due() == 1
    assert model.seen == [[f"turn-{number}" for number in range(20)]]


@pytest.mark.parametrize("others", [0, 3])
def test_active_conversation_runs_within_max_wait(
    make_runner: Any, clock: Any, model: Any, say: Any, others: int
) -> None:
    """A max_wait of 10 s limits the delay, whatever happens in other conversations."""
    runner, runs = make_runner(debounce=5, max_wait=10), []
    runner.clients = lambda: [Client(lambda update: runs.append(clock.now() - start) if update.key == KEY else None)]
    start = clock.now()
    for second in range(60):
        if second % 2 == 0:
            runner.add(say(second))
        for other in range(others):
            runner.add(say(second), ConversationKey(Scope(f"u{other}"), f"t{second % 7}"))
        runner.run_due()
        clock.sleep(1)

    assert runs == pytest.approx([10, 22, 34, 46, 58])


def test_traffic_on_other_conversations_postpones_nothing(runner: Any, clock: Any, say: Any, learned: Any) -> None:
    runner.add(say(1))
    for number in range(5):
        clock.sleep(1)
        runner.add(say(number), OTHER)

    assert runner.run_due() == 1
    assert learned() == ["turn-1"]


# -- learning ------------------------------------------------------------------------------------


def test_three_submissions_are_one_run(runner: Any, model: Any, say: Any) -> None:
    for number in range(3):
        runner.add(say(number))

    assert runner.run_all() == 1
    assert model.seen == [["turn-0", "turn-1", "turn-2"]]


def test_message_was_written_when_it_was_submitted_first(runner: Any, clock: Any, storage: Any, say: Any) -> None:
    """The job runs an hour later; meanwhile the whole conversation was submitted again."""
    clock.time = datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()
    runner.add(say(1))
    clock.sleep(600)
    runner.add(say(1, 2))
    clock.sleep(3_600)

    runner.run_all()

    said = {episode.text: episode.at for episode in storage.episodes(ADA)}
    assert said == {"turn-1": "2024-05-01T10:00:00Z", "turn-2": "2024-05-01T10:10:00Z"}


def test_time_of_the_first_submission_survives_a_failed_attempt(
    make_runner: Any, clock: Any, storage: Any, say: Any
) -> None:
    """Submissions are merged before the first attempt; a later one brings the messages again."""
    model = ScriptedModel(ValueError("down"), update_answer("learned later"))
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=POLICY))
    clock.time = datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()
    for number in (1, 2):
        runner.add(say(number))
        clock.sleep(60)
    runner.run_all()
    clock.sleep(3_600)
    runner.add(say(1, 2))

    runner.run_all()

    assert [episode.at for episode in storage.episodes(ADA)] == ["2024-05-01T10:00:00Z", "2024-05-01T10:01:00Z"]


def test_resubmitted_history_is_learned_once(runner: Any, say: Any, learned: Any) -> None:
    for length in range(1, 13):
        runner.add(say(*range(length)))
        if length % 3 == 0:
            runner.run_all()

    assert learned() == [f"turn-{number}" for number in range(12)]


def test_messages_without_ids_are_learned_once(runner: Any, learned: Any) -> None:
    turns = [HumanMessage(f"turn-{number}") for number in range(6)]
    for length in range(1, 7):
        runner.add(turns[:length])
        if length % 2 == 0:
            runner.run_all()

    assert learned() == [f"turn-{number}" for number in range(6)]


def test_late_submission_of_an_old_part_hides_no_new_turn(runner: Any, model: Any, say: Any, learned: Any) -> None:
    runner.add(say(1, 2))
    runner.run_all()
    runner.add(say(3))
    runner.add(say(1, 2))
    runner.run_all()

    assert learned() == ["turn-1", "turn-2", "turn-3"]
    assert len(model.asked) == 2


def test_later_version_of_a_message_counts(runner: Any, learned: Any) -> None:
    runner.add([HumanMessage("turn-typo", id="m1")])
    runner.add([HumanMessage("turn-right", id="m1")])
    runner.run_all()

    assert learned() == ["turn-right"]


def test_scopes_do_not_mix(runner: Any, say: Any, learned: Any) -> None:
    bot = Scope("eve", "bot")
    runner.add(say(1))
    runner.add(say(2), OTHER)
    runner.add(say(3), ConversationKey(bot, "t1"))
    runner.run_all()

    assert (learned(), learned(OTHER.scope), learned(bot)) == (["turn-1"], ["turn-2"], ["turn-3"])


def test_submission_during_a_run_is_learned_next(make_runner: Any, storage: Any, say: Any) -> None:
    """This includes a submission that repeats the turns of the current run."""

    def answer(prompt: object) -> str:
        if len(model.asked) == 1:
            runner.add(say(3))
            runner.add(say(1, 2))
        return update_answer(f"fact of call {len(model.asked)}")

    model = ScriptedModel(answer)
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING))
    runner.add(say(1, 2))

    assert (runner.run_all(), runner.run_all()) == (1, 1)
    assert "turn-3" in str(model.asked[1])
    assert [fact.content for fact in storage.load(ADA).facts] == ["fact of call 1", "fact of call 2"]
    assert runner.outbox.pending(now=0) == ()


def test_tool_calls_and_images_are_accepted(runner: Any, learned: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    runner.add(
        [
            HumanMessage([{"type": "text", "text": "turn-1"}, image], id="m1"),
            AIMessage("", tool_calls=[{"name": "look", "args": {"at": object()}, "id": "c1"}], id="m2"),
        ]
    )
    runner.run_all()

    assert learned() == ["turn-1 [image]"]


def test_image_data_is_not_stored(runner: Any, clock: Any) -> None:
    """Memory learns from text; image data would be written to disk at every submission."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    runner.add([HumanMessage([{"type": "text", "text": "B" * 5_000}, image])])
    clock.sleep(5)
    (claim,) = runner.claim(1)

    assert 6_000 < len(claim.submissions[0].messages) < 8_000


# -- two workers ----------------------------------------------------------------------------------


def test_job_that_two_workers_run_is_learned_once(make_runner: Any, clock: Any, storage: Any, say: Any) -> None:
    """The lease of the first expires during its model call."""

    def answer(prompt: object) -> str:
        if len(model.asked) == 1:
            clock.sleep(31)
            assert second.run_due() == 1
        return update_answer(f"fact of call {len(model.asked)}")

    model = ScriptedModel(answer)
    graph = build_graph(model=model, storage=storage, policy=TRUSTING)
    first, second = make_runner(graph=graph), make_runner(graph=graph)
    first.add(say(1))
    clock.sleep(5)

    assert first.run_due() == 1
    assert len(storage.load(ADA).facts) == 1
    assert (first.stats().superseded, second.stats().learned) == (1, 1)
    assert first.outbox.pending(now=0) == ()


def test_a_run_without_its_lease_does_not_save_over_newer_turns(
    make_runner: Any, clock: Any, storage: Any, say: Any
) -> None:
    """Once the watermark has moved past its turns, it would learn them again, and as the newest."""

    def answer(prompt: Any) -> str:
        if len(model.asked) == 1:
            clock.sleep(31)
            second.run_due()
            second.add(say(*range(2, 6)))
            second.run_all()
        return update_answer(f"fact of call {len(model.asked)}")

    model = ScriptedModel(answer)
    graph = build_graph(model=model, storage=storage, policy=TRUSTING.model_copy(update={"thread_mark_ids": 2}))
    first, second = make_runner(graph=graph), make_runner(graph=graph)
    first.add(say(1))
    clock.sleep(5)

    first.run_due()

    assert len(storage.load(ADA).facts) == 2
    assert first.stats().superseded == 1


def test_rerun_after_a_crash_calls_no_model(runner: Any, clock: Any, model: Any, say: Any) -> None:
    """A worker may crash between saving and completing."""
    runner.add(say(1))
    clock.sleep(5)
    (claim,) = runner.claim(1)
    runner._executor.run(
        Attempt(claim, ComputePermit(threading.Semaphore()), runner.outbox, clock.now, 30), pytest.fail
    )
    clock.sleep(31)

    assert runner.run_due() == 1
    assert (len(model.asked), runner.stats().nothing_new) == (1, 1)
    assert runner.outbox.pending(now=0) == ()


def test_rerun_of_many_turns_learns_none_twice(runner: Any, clock: Any, storage: Any, say: Any, learned: Any) -> None:
    """A watermark contains the last 8 messages only, so the merge of several submissions is stored."""
    for number in range(20):
        runner.add(say(number))
    clock.sleep(10)
    with pytest.MonkeyPatch.context() as crash:
        crash.setattr(runner.outbox, "complete", lambda *_, **__: True)
        runner.run_due()
    for number in range(20, 23):
        runner.add(say(number))
    clock.sleep(60)
    runner.run_due()

    assert learned() == [f"turn-{number}" for number in range(23)]
    assert runner.outbox.pending(now=0) == ()


def test_worker_that_lost_its_lease_calls_no_model(runner: Any, clock: Any, model: Any, say: Any) -> None:
    runner.add(say(1))
    runner.add(say(2))
    clock.sleep(10)
    (lost,) = runner.claim(1)
    clock.sleep(31)
    (current,) = runner.claim(1)

    assert runner.run(lost) is None
    assert (len(model.asked), runner.stats().failed) == (0, 0)
    runner.run(current)
    assert runner.outbox.pending(now=0) == ()


def test_lone_surrogate_is_replaced(runner: Any, learned: Any) -> None:
    """Models and clients truncate emoji to lone surrogates, which UTF-8 cannot encode."""
    runner.add([HumanMessage("turn-\ud83d", id="m1")])
    runner.run_all()

    assert learned() == ["turn-\ufffd"]


# -- edits and deletions --------------------------------------------------------------------------


def model_that_calls(act: Callable[[], object]) -> ScriptedModel:
    """A model that calls *act* before it answers."""

    def answer(prompt: object) -> str:
        act()
        return update_answer("learned later")

    return ScriptedModel(answer)


def test_edit_during_a_model_call_survives(make_runner: Any, storage: Any, say: Any) -> None:
    def edit() -> None:
        if not storage.load(ADA).facts:
            storage.save(ADA, storage.load(ADA).with_facts((Fact(content="by hand", source="manual"),)))

    runner = make_runner(graph=build_graph(model=model_that_calls(edit), storage=storage, policy=TRUSTING))
    runner.add(say(1))
    runner.run_all()

    assert [fact.content for fact in storage.load(ADA).facts] == ["by hand", "learned later"]


def test_submissions_from_before_a_deletion_are_discarded(
    *, runner: Any, clock: Any, model: Any, storage: Any, say: Any, learned: Any
) -> None:
    """If the whole history is submitted again, only later turns are learned."""
    runner.add(say(1, 2))
    storage.delete(ADA)
    clock.sleep(3_600)
    runner.add(say(1, 2, 3))
    runner.run_all()

    assert learned() == ["turn-3"]
    assert model.seen == [["turn-3"]]


def test_job_from_before_a_deletion_calls_no_model(runner: Any, model: Any, storage: Any, say: Any) -> None:
    runner.add(say(1, 2))
    storage.delete(ADA)
    runner.run_all()

    assert (len(model.asked), runner.stats().forgotten) == (0, 1)
    assert storage.load(ADA).threads["t1"].last_message_id == "m2"
    assert runner.outbox.pending(now=0) == ()


def test_deletion_during_a_model_call_stays(make_runner: Any, clock: Any, storage: Any, say: Any) -> None:
    slow = make_runner(
        graph=build_graph(model=model_that_calls(lambda: storage.delete(ADA)), storage=storage, policy=TRUSTING)
    )
    slow.add(say(1))
    slow.run_all()
    after_deletion = storage.load(ADA).is_empty

    clock.sleep(3_600)
    later = make_runner()
    later.add(say(1, 2))
    later.run_all()

    assert after_deletion
    assert slow.stats().forgotten == 1
    assert [fact.content.partition(" #")[0] for fact in storage.load(ADA).facts] == ["turn-2"]


def test_deletion_does_not_affect_other_memories(runner: Any, storage: Any, say: Any, learned: Any) -> None:
    runner.add(say(1), OTHER)
    runner.add(say(2), ConversationKey(Scope("ada", "bot"), "t1"))
    storage.delete(ADA)
    runner.run_all()

    assert (learned(OTHER.scope), learned(Scope("ada", "bot"))) == (["turn-1"], ["turn-2"])


# -- failures -------------------------------------------------------------------------------------


def test_fifth_failure_makes_a_dead_letter(
    *, make_runner: Any, clock: Any, storage: Any, say: Any, learned: Any
) -> None:
    """The delays grow; once requeued, it is learned when the model works again."""
    failing = make_runner(
        graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY)
    )
    failing.add(say(1))
    clock.sleep(5)
    delays = []
    while failing.run_due():
        for job in failing.outbox.pending(now=clock.now()):
            delays.append(job.due_at - clock.now())
            clock.sleep(job.due_at - clock.now())
    (job,) = failing.outbox.dead_letters()

    assert (job.attempts, failing.stats().failed, failing.stats().dead_lettered) == (MAX_ATTEMPTS, MAX_ATTEMPTS, 1)
    assert delays == sorted(delays) == pytest.approx([5, 20, 80, 320])
    assert job.error == "ModelError: the model did not answer: ConnectionError: down"
    assert learned() == []

    repaired = make_runner()
    assert repaired.outbox.retry(now=clock.now()) == 1
    assert repaired.run_due() == 1
    assert (learned(), repaired.outbox.dead_letters()) == (["turn-1"], ())


def test_failure_does_not_affect_other_conversations(
    make_runner: Any, clock: Any, storage: Any, say: Any, learned: Any
) -> None:
    def answer(prompt: object) -> str:
        if "turn-1" in str(prompt):
            raise ConnectionError
        return update_answer("of the other")

    runner = make_runner(graph=build_graph(model=ScriptedModel(answer), storage=storage, policy=POLICY))
    runner.add(say(1))
    runner.add(say(2), OTHER)
    runner.run_all()

    assert [job.key for job in runner.outbox.pending(now=clock.now())] == [KEY]
    assert learned(OTHER.scope) == ["of the other"]


def test_permanent_error_makes_a_dead_letter_at_once(make_runner: Any, storage: Any, say: Any) -> None:
    runner = make_runner(graph=build_graph(model="nobody:has-this", storage=storage))
    runner.add(say(1))
    runner.run_all()

    (job,) = runner.outbox.dead_letters()
    assert (job.attempts, runner.stats().failed) == (1, 1)


def test_unreadable_job_becomes_a_dead_letter(runner: Any, clock: Any) -> None:
    """A later version of memgraph may have written it."""
    runner.submit(KEY, "no json")
    for _ in range(MAX_ATTEMPTS):
        runner.run_all()

    assert "JSONDecodeError" in runner.outbox.dead_letters()[0].error


def test_retry_after_pauses_all_conversations(make_runner: Any, clock: Any, storage: Any, say: Any) -> None:
    """A 429 pauses all conversations for its Retry-After."""
    model = ScriptedModel(RateLimitedError("40"), update_answer("a"))
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=POLICY))
    runner.add(say(1))
    runner.add(say(2), OTHER)

    assert runner.run_all() == 1
    clock.sleep(39)
    assert runner.run_all() == 0
    clock.sleep(1)
    assert runner.run_all() == 2


def test_unavailable_storage_is_retried(
    *, make_runner: Any, storage: Any, say: Any, monkeypatch: Any, learned: Any
) -> None:
    runner = make_runner()
    runner.add(say(1))
    with monkeypatch.context() as unavailable:
        unavailable.setattr(
            type(storage), "save_with_episodes", lambda *_: (_ for _ in ()).throw(RevisionConflictError(ADA, 1))
        )
        unavailable.setattr(base, "JITTER_SECONDS", 0)
        runner.run_all()
    assert (learned(), len(runner.outbox.pending(now=0))) == ([], 1)

    runner.run_all()

    assert learned() == ["turn-1"]


def test_failure_while_closing_is_not_an_attempt(make_runner: Any, clock: Any, storage: Any, say: Any) -> None:
    runner = make_runner(
        graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY)
    )
    runner.add(say(1))
    runner.is_closing = True
    runner.outbox.expedite(now=clock.now())
    (claim,) = runner.claim(1)
    runner.run(claim)

    (job,) = runner.outbox.pending(now=clock.now())
    assert (job.attempts, job.running) == (0, False)


# -- logs and hooks --------------------------------------------------------------------------------


def test_update_logs_one_line_without_user_text(runner: Any, say: Any, caplog: Any) -> None:
    runner.add(say(7))
    with caplog.at_level(logging.INFO, "memgraph.invoker"):
        runner.run_all()

    (record,) = caplog.records
    fields = record.memgraph
    user = KEY.scope.log_name.removeprefix("user ")
    assert record.getMessage().startswith(f"update user='{user}' agent=None thread='t1' outcome='learned' added=1")
    assert "turn-7" not in record.getMessage()
    assert next(iter(fields["ms_by_node"])) == "filter_messages"
    assert len(fields["ms_by_node"]) == 9
    assert fields["calls"] == 1


def test_update_hook_is_called(runner: Any, make_runner: Any, storage: Any, say: Any) -> None:
    updates: list[Any] = []
    runner.clients = lambda: [Client(updates.append)]
    runner.add(say(1))
    runner.run_all()

    assert [(update.key, update.outcome, len(update.report.added)) for update in updates] == [(KEY, "learned", 1)]


def test_error_hook_is_called(make_runner: Any, storage: Any, say: Any) -> None:
    runner = make_runner(
        graph=build_graph(model=ScriptedModel(ConnectionError("down")), storage=storage, policy=POLICY)
    )
    errors: list[Any] = []
    runner.clients = lambda: [Client(on_error=lambda claim, error: errors.append((claim.key, type(error))))]
    runner.add(say(1))
    runner.run_all()

    assert errors == [(KEY, ModelError)]


def test_failing_hook_does_not_affect_the_update(runner: Any, say: Any, learned: Any, caplog: Any) -> None:
    def fail(_: object) -> None:
        raise ConfigError("the hook's own")

    runner.clients = lambda: [Client(fail)]
    runner.add(say(1))
    runner.run_all()

    assert learned() == ["turn-1"]
    assert runner.outbox.pending(now=0) == ()
    assert "a hook of the invoker failed" in caplog.text


def test_tokens_are_counted(make_runner: Any, storage: Any, say: Any) -> None:
    usage = {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    model = ScriptedModel(lambda _: AIMessage(update_answer("a"), usage_metadata=usage))
    runner = make_runner(graph=build_graph(model=model, storage=storage, policy=TRUSTING))
    runner.add(say(1))
    runner.run_all()

    stats = runner.stats()
    assert (stats.submitted, stats.learned, stats.running) == (1, 1, 0)
    assert (stats.input_tokens, stats.output_tokens) == (20, 3)


# -- deletions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [-7_200, 0, 7_200])
def test_only_what_was_said_after_a_deletion_is_learned_whatever_the_clock_does(
    *, runner: Any, storage: Any, clock: Any, say: Any, learned: Any, step: int
) -> None:
    """The clock is set back or forward by two hours, or is that of another machine."""
    runner.add(say(1))
    clock.sleep(step)
    runner.discard(ADA, storage.delete(ADA))
    clock.sleep(-step - 60)
    runner.add(say(2))
    runner.run_all()

    assert learned() == ["turn-2"]


def test_after_a_deletion_of_the_storage_itself_no_clock_is_compared_once_a_job_was_run(
    runner: Any, storage: Any, clock: Any, say: Any, learned: Any
) -> None:
    """The outbox does not know of it before; afterwards, a clock that is set back loses no turn."""
    storage.delete(ADA)
    clock.sleep(60)
    runner.add(say(1))
    runner.run_all()

    clock.sleep(-7_200)
    runner.add(say(1, 2))
    runner.run_all()

    assert learned() == ["turn-1", "turn-2"]
