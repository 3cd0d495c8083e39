"""BackgroundInvoker: its methods, its threads, and where it can be used."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from waiting import wait_until

from memgraph import (
    BackgroundInvoker,
    ConfigError,
    ConversationError,
    IdentityError,
    OutboxError,
    Policy,
    QueueFullError,
    Scope,
    Settings,
    build_graph,
    open_outbox,
    open_storage,
)
from memgraph.background.invoker import Invoker
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages, load_raw
from memgraph.prompts.update_prompt import read_turns
from memgraph.testing import ScriptedModel, update_answer

ADA, BOB = Scope("ada"), Scope("bob")
TRUSTING = Policy(grounding="off")
NOW = Settings(debounce_seconds=0)
LATER = Settings(debounce_seconds=3_600, max_wait_seconds=3_600)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/outbox.db"


class Gate:
    """A model that blocks until the gate is opened, and counts concurrent calls.

    Args:
        blocked: Words whose prompts are blocked; none blocks all.
    """

    def __init__(self, *blocked: str) -> None:
        self.blocked = blocked
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)
        self.running: list[str] = []
        self.max_running = 0
        self.lock = threading.Lock()
        self.model = ScriptedModel(self.answer)

    def answer(self, prompt: Any) -> str:
        text = str(prompt[-1].content)
        with self.lock:
            self.running.append(text)
            self.max_running = max(self.max_running, len(self.running))
        self.entered.release()
        if not self.blocked or any(word in text for word in self.blocked):
            self.opened.wait(300)
        with self.lock:
            self.running.remove(text)
        return update_answer("learned")


# -- methods --------------------------------------------------------------------------------------


def test_it_implements_invoker(graph: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as background:
        invoker: Invoker = background

        assert invoker.pending() == ()


def test_submission_is_learned(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.submit(say(1), ADA, "t1")
        wait_until(lambda: learned() == ["turn-1"])
        wait_until(lambda: invoker.pending() == ())


def test_job_that_is_due_later_is_run(graph: Any, url: str, say: Any, learned: Any) -> None:
    settings = Settings(debounce_seconds=0.2)
    with BackgroundInvoker(graph, outbox=url, settings=settings) as invoker:
        invoker.submit(say(1), ADA, "t1")
        wait_until(lambda: learned() == ["turn-1"])


def test_flush_runs_pending_jobs(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        for user in "abcdefgh":
            invoker.submit(say(1), Scope(user), "t1")

        assert invoker.flush(120)
        assert [learned(Scope(user)) for user in "abcdefgh"] == [["turn-1"]] * 8
        assert (invoker.pending(), invoker.stats().learned) == ((), 8)


def test_flush_returns_false_after_a_failure(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(
        model=ScriptedModel(ConnectionError()), storage=storage, policy=Policy(model_tries=1, grounding="off")
    )
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(120)
        assert [job.attempts for job in invoker.pending()] == [1]
        assert not invoker.flush(120)


def test_flush_returns_false_after_a_permanent_error(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(120)
        assert [job.key.scope for job in invoker.failed()] == [ADA]


def test_flush_respects_its_timeout(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    with BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=LATER
    ) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(0.05)
        gate.opened.set()
        assert invoker.flush(120)


def test_flush_nowait_returns_before_the_jobs_end(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    with BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=LATER
    ) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush_nowait()

        assert gate.entered.acquire(timeout=120)
        assert [job.running for job in invoker.pending()] == [True]
        gate.opened.set()


def test_dead_letters_can_be_retried(storage: Any, graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(build_graph(model="nobody:has-this", storage=storage), outbox=url, settings=LATER) as broken:
        broken.submit(say(1), ADA, "t1")
        broken.flush(120)
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as repaired:
        assert repaired.retry(BOB) == 0
        assert repaired.retry(ADA, "t1") == 1
        assert repaired.flush(120)

    assert learned() == ["turn-1"]


def test_immediate_update_is_done_when_submit_returns(graph: Any, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert learned() == ["turn-1"]


def test_replayed_conversation_is_learned_at_its_own_time(graph: Any, storage: Any, say: Any) -> None:
    """The time of the update is not the time of the talk."""
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1", at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC))
        asyncio.run(invoker.asubmit(say(2), ADA, "t1", at=datetime(2023, 5, 9, 13, 56, tzinfo=UTC)))

    assert [fact.said_at for fact in storage.load(ADA).facts] == ["2023-05-08T13:56:00Z", "2023-05-09T13:56:00Z"]


def test_failed_immediate_update_raises_and_keeps_the_job(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, immediate=True) as invoker:
        with pytest.raises(RuntimeError, match="nobody"):
            invoker.submit(say(1), ADA, "t1")

        assert len(invoker.failed()) == 1


def test_immediate_submission_leaves_other_conversations_alone(storage: Any, url: str, say: Any, learned: Any) -> None:
    """A failed one is not tried again, and its error is not raised."""

    def answer(prompt: Any) -> str:
        turns = [turn.text for turn in read_turns(str(prompt[-1].content)) if turn.is_new]
        if turns == ["turn-1"]:
            raise ConnectionError("turn-1 fails")
        return update_answer(*turns)

    graph = build_graph(model=ScriptedModel(answer), storage=storage, policy=Policy(model_tries=1, grounding="off"))
    with BackgroundInvoker(graph, outbox=url, immediate=True) as invoker:
        with pytest.raises(RuntimeError, match="turn-1 fails"):
            invoker.submit(say(1), ADA, "t1")
        for number in range(2, 8):
            invoker.submit(say(number), ADA, f"t{number}")
        invoker.submit(say(8), ADA)

        assert [(job.key.thread_id, job.attempts) for job in invoker.pending()] == [("t1", 1)]
    assert learned() == [f"turn-{number}" for number in range(2, 9)]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    "runs", [lambda invoker, say: invoker.submit(say(1), ADA, "t1"), lambda invoker, say: invoker.flush()]
)
def test_ctrl_c_is_raised_and_the_job_stays_as_it_was(
    storage: Any, url: str, say: Any, runs: Any, interruption: Any
) -> None:
    """Also an exit by a signal handler: neither is a failure of the update."""
    graph = build_graph(model=ScriptedModel(interruption()), storage=storage, policy=TRUSTING)
    with BackgroundInvoker(graph, outbox=url, immediate=True) as invoker:
        invoker._group.runner.submit(ConversationKey(ADA, "t1"), dump_messages(say(1)))  # type: ignore[union-attr]
        with pytest.raises(interruption):
            runs(invoker, say)

        assert [(job.attempts, job.error, job.running) for job in invoker.pending()] == [(0, "", False)]
        assert invoker.stats().running == 0


def test_forget_deletes_the_memory_and_its_jobs(graph: Any, storage: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, storage=storage, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush(120)
        invoker.submit(say(1, 2), ADA, "t1")
        invoker.submit(say(5), BOB, "t1")

        invoker.forget(ADA)

        assert [job.key.scope for job in invoker.pending()] == [BOB]
        assert learned() == []
        invoker.submit(say(1, 2, 3), ADA, "t1")
        assert invoker.flush(120)
        assert learned() == ["turn-3"]


def test_forget_discards_dead_letters(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, storage=storage, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush(120)

        invoker.forget(ADA)

        assert (invoker.pending(), invoker.failed()) == ((), ())


def custom_graph(graph: Any) -> Any:
    """A graph that `build_graph` did not make, so that its storage is not known."""
    parent = StateGraph(MessagesState)
    parent.add_node("update", graph)
    parent.add_edge(START, "update")
    return parent.compile()


def test_forget_needs_the_storage_of_a_custom_graph(graph: Any) -> None:
    with (
        BackgroundInvoker(custom_graph(graph), outbox="memory:") as invoker,
        pytest.raises(ConfigError, match=r"BackgroundInvoker\(graph, storage=\.\.\.\)"),
    ):
        invoker.forget(ADA)


def test_default_graph_is_made_from_settings(tmp_path: Path, say: Any) -> None:
    settings = Settings(storage_path=f"file:{tmp_path}/memory", outbox=f"{tmp_path}/out.db", model_name="offline")
    with BackgroundInvoker(settings=settings) as invoker:
        invoker.submit([HumanMessage("I'm a nurse in Basel and I prefer tea.", id="m1")], ADA, "t1")
        assert invoker.flush(120)

    assert (tmp_path / "out.db").exists()
    assert open_storage(f"file:{tmp_path}/memory").load(ADA).threads["t1"].last_message_id == "m1"


def test_disabled_invoker_does_nothing(tmp_path: Path, say: Any) -> None:
    settings = Settings(enabled=False, outbox=f"{tmp_path}/out.db", storage_path=str(tmp_path / "memory"))
    with BackgroundInvoker(settings=settings) as invoker:
        invoker.submit("no conversation", "no scope")  # type: ignore[arg-type]
        asyncio.run(invoker.asubmit([], ADA))
        invoker.flush_nowait()
        invoker.forget(ADA)

        assert (invoker.flush(), invoker.pending(), invoker.failed(), invoker.retry()) == (True, (), (), 0)
    assert list(tmp_path.iterdir()) == []


# -- invalid input --------------------------------------------------------------------------------


@pytest.mark.parametrize("thread_id", ["x" * 257, "a\nb"])
def test_invalid_thread_id_is_rejected(graph: Any, say: Any, thread_id: str) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker, pytest.raises(IdentityError, match="thread_id"):
        invoker.submit(say(1), ADA, thread_id)


def test_scope_of_another_type_is_rejected(graph: Any, say: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker, pytest.raises(IdentityError, match="scope is a str"):
        invoker.submit(say(1), "ada")  # type: ignore[arg-type]


@pytest.mark.parametrize("messages", [[42], [{"role": "nobody", "content": "x"}], 42])
def test_invalid_conversation_is_rejected(graph: Any, messages: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker:
        with pytest.raises(ConversationError, match=r"messages\[0\]"):
            invoker.submit(messages, ADA)
        assert invoker.pending() == ()


def test_all_message_forms_of_langchain_are_accepted(graph: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit([("user", "turn-1"), {"role": "user", "content": "turn-2"}, "turn-3"], ADA)
        invoker.submit((HumanMessage("turn-4"),), ADA)

    assert learned() == ["turn-1", "turn-2", "turn-3", "turn-4"]


def test_empty_conversation_is_ignored(graph: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker:
        invoker.submit([], ADA)

        assert invoker.pending() == ()


def test_full_queue_raises(graph: Any, url: str, say: Any) -> None:
    settings = LATER.model_copy(update={"max_queued": 20})
    with BackgroundInvoker(graph, outbox=url, settings=settings) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.submit(say(1), ADA, "t2")

        with pytest.raises(QueueFullError, match="submit again later"):
            invoker.submit(say(1), ADA, "t3")
        invoker.submit(say(2), ADA, "t2")


def test_closed_invoker_raises(graph: Any, url: str, say: Any) -> None:
    invoker = BackgroundInvoker(graph, outbox=url)
    invoker.close()
    invoker.close()

    with pytest.raises(OutboxError, match="closed"):
        invoker.submit(say(1), ADA)


# -- workers --------------------------------------------------------------------------------------


def test_concurrency_is_limited_and_never_two_jobs_of_a_scope(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    settings = Settings(debounce_seconds=0, max_concurrency=3)
    with BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=settings
    ) as invoker:
        for user in "abcdef":
            invoker.submit(say(1), Scope(user), "t1")
            invoker.submit(say(1), Scope(user), "t2")
        for _ in range(3):
            assert gate.entered.acquire(timeout=120)
        running = [job.key for job in invoker.pending() if job.running]
        gate.opened.set()

        assert invoker.flush(120)
        assert len({key.scope for key in running}) == 3
        assert gate.max_running == 3
        assert invoker.stats().learned == 12


def test_hanging_model_blocks_its_own_scope_only(storage: Any, url: str, say: Any) -> None:
    gate = Gate("turn-1")
    graph = build_graph(model=gate.model, storage=storage, policy=TRUSTING)
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.submit(say(1), ADA, "t1")
        assert gate.entered.acquire(timeout=120)
        invoker.submit(say(2), ADA, "t2")
        invoker.submit(say(3), BOB, "t1")

        wait_until(lambda: {job.key.scope for job in invoker.pending()} == {ADA})
        assert invoker.stats().learned == 1
        gate.opened.set()
        assert invoker.flush(120)


def test_lease_of_a_long_update_is_renewed(storage: Any, url: str, say: Any) -> None:
    """It is renewed after a third of its time, so it lasts longer than the 3 s it was taken for."""
    gate, settings = Gate(), Settings(debounce_seconds=0, lease_seconds=3)
    with BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=settings
    ) as invoker:
        invoker.submit(say(1), ADA, "t1")
        assert gate.entered.acquire(timeout=120)
        first = invoker._group.runner.outbox.next_due(now=time.time())  # type: ignore[union-attr]
        wait_until(lambda: invoker._group.runner.outbox.next_due(now=time.time()) > first)  # type: ignore[union-attr,operator]
        gate.opened.set()


def test_invokers_of_an_outbox_share_workers(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as one:
        with BackgroundInvoker(outbox=url) as other:
            assert other._group is one._group
            other.submit(say(1), ADA, "t1")
        one.submit(say(1, 2), ADA, "t1")
        assert one.flush(120)

    assert learned() == ["turn-1", "turn-2"]


def test_conflicting_invokers_of_an_outbox_are_rejected(graph: Any, storage: Any, url: str) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW):
        with pytest.raises(ConfigError, match="another graph or other settings"):
            BackgroundInvoker(graph, outbox=url, settings=LATER)
        with pytest.raises(ConfigError, match="another graph or other settings"):
            BackgroundInvoker(build_graph(model="offline", storage=storage), outbox=url)


def invoker_of(model: Any, storage: Any, outbox: Any) -> BackgroundInvoker:
    graph = build_graph(model=model, storage=storage, policy=TRUSTING)
    return BackgroundInvoker(graph, outbox=outbox, settings=LATER)


# -- storages -------------------------------------------------------------------------------------


def test_storages_can_share_an_outbox(model: Any, url: str, say: Any) -> None:
    """What is said to one is never learned into the other, also if the same user and thread say it."""
    mine, yours = open_storage("memory:"), open_storage("memory:")
    with invoker_of(model, mine, url) as my_invoker, invoker_of(model, yours, url) as your_invoker:
        my_invoker.submit(say(1), ADA, "t1")
        your_invoker.submit(say(2), ADA, "t1")
        assert [job.key.scope for job in my_invoker.pending()] == [ADA]

        assert my_invoker.flush(120)
        assert (facts(mine), facts(yours)) == (["turn-1"], [])
        assert your_invoker.flush(120)
        assert (facts(mine), facts(yours)) == (["turn-1"], ["turn-2"])


def test_job_of_another_storage_stays_in_the_outbox(model: Any, url: str, say: Any) -> None:
    mine, yours = open_storage("memory:"), open_storage("memory:")
    with invoker_of(model, mine, url) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.close(wait=False)

    with invoker_of(model, yours, url) as invoker:
        assert (invoker.flush(120), invoker.pending()) == (True, ())

    with open_outbox(url) as outbox:
        assert [job.storage for job in outbox.pending(now=0)] == [mine.name]


def test_closing_one_storage_of_an_outbox_in_ram_keeps_the_jobs_of_the_other(model: Any, say: Any) -> None:
    outbox, mine, yours = open_outbox("memory:"), open_storage("memory:"), open_storage("memory:")
    with invoker_of(model, mine, outbox) as invoker:
        with invoker_of(model, yours, outbox):
            invoker.submit(say(1), ADA, "t1")

        assert len(invoker.pending()) == 1


def test_forget_in_one_storage_keeps_the_jobs_of_another(model: Any, url: str, say: Any) -> None:
    mine, yours = open_storage("memory:"), open_storage("memory:")
    with invoker_of(model, mine, url) as my_invoker, invoker_of(model, yours, url) as your_invoker:
        my_invoker.submit(say(1), ADA, "t1")
        your_invoker.submit(say(2), ADA, "t1")
        my_invoker.forget(ADA)

        assert your_invoker.flush(120)
    assert (facts(mine), facts(yours)) == ([], ["turn-2"])


def facts(storage: Any) -> list[str]:
    return [fact.content.partition(" #")[0] for fact in storage.load(ADA).facts]


# -- closing --------------------------------------------------------------------------------------


def test_close_waits_for_running_jobs_and_keeps_the_others(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    settings = Settings(debounce_seconds=0, max_concurrency=1)
    invoker = BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=settings
    )
    invoker.submit(say(1), ADA, "t1")
    assert gate.entered.acquire(timeout=120)
    invoker.submit(say(1), BOB, "t1")
    closing = threading.Thread(target=lambda: invoker.close(120, wait=False))
    closing.start()
    wait_until(lambda: invoker._group.runner.is_closing)  # type: ignore[union-attr]
    gate.opened.set()
    closing.join()

    assert len(storage.load(ADA).facts) == 1
    with open_outbox(url) as outbox:
        assert [job.key.scope for job in outbox.pending(now=0)] == [BOB]


def test_close_respects_its_timeout(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    invoker = BackgroundInvoker(
        build_graph(model=gate.model, storage=storage, policy=TRUSTING), outbox=url, settings=NOW
    )
    invoker.submit(say(1), ADA, "t1")
    assert gate.entered.acquire(timeout=120)
    invoker.close(0.05)

    with open_outbox(url) as outbox:
        assert [job.key.scope for job in outbox.pending(now=0)] == [ADA]
    gate.opened.set()
    wait_until(lambda: not any("memgraph-update" in thread.name for thread in threading.enumerate()))


def test_jobs_of_an_earlier_process_are_run(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.close(wait=False)

    with BackgroundInvoker(graph, outbox=url, settings=LATER):
        wait_until(lambda: learned() == ["turn-1"])


@pytest.fixture
def dispatchers() -> Callable[[], list[threading.Thread]]:
    """Return the dispatchers that the test started; an earlier test may have left one of its own."""
    before = frozenset(threading.enumerate())
    return lambda: [
        thread for thread in threading.enumerate() if thread.name == "memgraph-invoker" and thread not in before
    ]


def test_threads_start_with_the_first_submission(graph: Any, url: str, say: Any, dispatchers: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        assert (invoker.pending(), invoker.failed()) == ((), ())
        assert dispatchers() == []

        invoker.submit(say(1), ADA, "t1")
        assert len(dispatchers()) == 1
        invoker.submit(say(2), BOB, "t1")
        assert len(dispatchers()) == 1
    assert dispatchers() == []


def test_threads_can_be_started_without_a_submission(graph: Any, url: str, say: Any, learned: Any) -> None:
    """For a process that runs the jobs of others."""
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.start()
        with open_outbox(url) as other_process:
            timing = DebouncePolicy(0, 0)
            key, text = ConversationKey(ADA, "t1"), dump_messages(say(1))
            other_process.enqueue(key, text, now=time.time(), timing=timing, max_jobs=1_000)
        wait_until(lambda: learned() == ["turn-1"])


def test_threads_that_run_jobs_of_an_earlier_process_end_with_them(
    graph: Any, url: str, say: Any, learned: Any, dispatchers: Any
) -> None:
    """Until the first submission starts them again."""
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
    with open_outbox(url) as outbox:
        outbox.expedite(now=0)

    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        wait_until(lambda: learned() == ["turn-1"] and not dispatchers())
        invoker.submit(say(2), ADA, "t1")
        wait_until(lambda: learned() == ["turn-1", "turn-2"])


def test_dropped_invoker_runs_what_is_pending_and_ends(
    graph: Any, url: str, say: Any, learned: Any, dispatchers: Any
) -> None:
    BackgroundInvoker(graph, outbox=url, settings=NOW).submit(say(1), ADA, "t1")

    wait_until(lambda: learned() == ["turn-1"] and not dispatchers())


def test_hooks_of_a_dropped_invoker_are_not_called(graph: Any, url: str, say: Any) -> None:
    dropped, kept = list[Any](), list[Any]()
    with BackgroundInvoker(graph, outbox=url, settings=LATER, on_update=kept.append) as invoker:
        BackgroundInvoker(graph, outbox=url, settings=LATER, on_update=dropped.append).submit(say(1), ADA, "t1")
        assert invoker.flush(120)

    assert (len(dropped), len(kept)) == (0, 1)


def test_flush_waits_for_the_hooks(graph: Any, url: str, say: Any) -> None:
    """What was learned is known when it returns, however long the thread that learned takes to report it."""
    known = list[Any]()

    def report(result: Any) -> None:
        time.sleep(0.5)
        known.append(result)

    with BackgroundInvoker(graph, outbox=url, settings=LATER, on_update=report) as invoker:
        invoker.submit(say(1), ADA, "t1")
        assert invoker.flush(120)
        assert len(known) == 1


def test_unused_invoker_creates_no_files(graph: Any, tmp_path: Path) -> None:
    with BackgroundInvoker(graph, outbox=f"{tmp_path}/outbox.db") as invoker:
        invoker.pending()
        invoker.flush(1)

    assert list(tmp_path.iterdir()) == []


# -- where it is used -----------------------------------------------------------------------------


def test_asubmit_does_not_block_the_event_loop(graph: Any, url: str, say: Any, learned: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster")

    async def main() -> None:
        async with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
            with blockbuster.blockbuster_ctx():
                await asyncio.gather(*(invoker.asubmit(say(number), ADA, "t1") for number in range(20)))

    asyncio.run(main())
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.flush(120)

    assert sorted(learned()) == sorted(f"turn-{number}" for number in range(20))


def test_asubmit_of_one_user_does_not_wait_for_another(storage: Any, say: Any) -> None:
    """In immediate mode the updates of several users run at the same time."""
    gate = Gate("turn-1")

    async def main() -> list[int]:
        graph = build_graph(model=gate.model, storage=storage, policy=TRUSTING)
        async with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
            slow = asyncio.create_task(invoker.asubmit(say(1), ADA, "t1"))
            await asyncio.gather(*(invoker.asubmit(say(2), Scope(user), "t1") for user in "abcdef"))
            counts = [len(storage.load(Scope(user)).facts) for user in ("ada", *"abcdef")]
            gate.opened.set()
            await slow
        return counts

    assert asyncio.run(main()) == [0, 1, 1, 1, 1, 1, 1]


def test_asubmit_keeps_the_order_of_a_conversation(graph: Any, url: str, say: Any) -> None:
    async def main() -> list[Any]:
        async with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
            await asyncio.gather(*(invoker.asubmit(say(number), ADA, "t1") for number in range(30)))
            runner = invoker._group.runner  # type: ignore[union-attr]
            runner.outbox.expedite(now=time.time())
            (claim,) = runner.claim(1)
            runner.outbox.release(claim)
            return [load_raw(each.messages)[0]["id"] for each in claim.submissions]

    assert asyncio.run(main()) == [f"m{number}" for number in range(30)]


def test_async_forms_do_what_the_others_do_without_blocking(graph: Any, storage: Any, url: str, say: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster")
    failing = build_graph(model="nobody:has-this", storage=storage)

    async def main() -> None:
        async with BackgroundInvoker(failing, outbox=url, settings=LATER) as invoker:
            with blockbuster.blockbuster_ctx():
                await invoker.asubmit(say(1), ADA, "t1")
                assert not await invoker.aflush(120)
                assert await invoker.apending() == ()
                assert await invoker.aretry(ADA, "t1") == 1
        async with BackgroundInvoker(graph, outbox=url, storage=storage, settings=LATER) as invoker:
            with blockbuster.blockbuster_ctx():
                assert await invoker.aflush(120)
                await invoker.aforget(ADA)

    asyncio.run(main())
    assert (storage.load(ADA).facts, storage.load(ADA).forgotten is None) == ((), False)


def test_asubmit_raises_as_submit_does(graph: Any, say: Any) -> None:
    async def main() -> None:
        async with BackgroundInvoker(graph, outbox="memory:") as invoker:
            with pytest.raises(IdentityError):
                await invoker.asubmit(say(1), ADA, "a\nb")

    asyncio.run(main())


def test_cancelled_asubmit_does_not_block_later_ones(graph: Any, say: Any) -> None:
    """It may have been submitted, but must not affect later submissions."""

    async def main() -> int:
        async with BackgroundInvoker(graph, outbox="memory:", settings=LATER) as invoker:
            task = asyncio.create_task(invoker.asubmit(say(1), ADA))
            await asyncio.sleep(0)
            task.cancel()
            await invoker.asubmit(say(2), BOB)
            return sum(job.key.scope == BOB for job in invoker.pending())

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("immediate", [False, True])
@pytest.mark.parametrize("in_loop", [False, True])
def test_node_of_a_running_graph_can_submit(
    graph: Any, url: str, say: Any, learned: Any, *, immediate: bool, in_loop: bool
) -> None:
    """The update does not appear in that graph's stream or checkpoints."""
    saver = InMemorySaver()

    def build(invoker: BackgroundInvoker) -> Any:
        def remember(state: MessagesState) -> dict[str, Any]:
            invoker.submit(state["messages"], ADA, "t1")
            invoker.flush(120)
            return {}

        async def remember_async(state: MessagesState) -> dict[str, Any]:
            await invoker.asubmit(state["messages"], ADA, "t1")
            return {}

        agent = StateGraph(MessagesState)
        agent.add_node("remember", remember_async if in_loop else remember)
        agent.add_edge(START, "remember")
        agent.add_edge("remember", END)
        return agent.compile(checkpointer=saver)

    async def stream(agent: Any, conversation: Any, **kwargs: Any) -> list[Any]:
        return [part async for part in agent.astream(conversation, **kwargs)]

    config = {"configurable": {"thread_id": "agent"}}
    kwargs = {"config": config, "stream_mode": ["updates", "messages", "custom", "tasks"], "subgraphs": True}
    with BackgroundInvoker(graph, outbox=url, settings=NOW, immediate=immediate) as invoker:
        agent, conversation = build(invoker), {"messages": say(1)}
        parts = (
            asyncio.run(stream(agent, conversation, **kwargs))
            if in_loop
            else list(agent.stream(conversation, **kwargs))
        )
        wait_until(lambda: learned() == ["turn-1"])

    assert {namespace for namespace, _, _ in parts} == {()}
    assert not any(word in str(parts) for word in ("filter_messages", "newFacts", "memory_agent"))
    assert {item.config["configurable"]["checkpoint_ns"] for item in saver.list(config)} == {""}


def test_update_runs_in_an_empty_context(storage: Any, say: Any) -> None:
    variable = contextvars.ContextVar("variable", default="nothing")
    seen = []

    def answer(_: object) -> str:
        seen.append(variable.get())
        return update_answer("a")

    variable.set("the caller's")
    with BackgroundInvoker(
        build_graph(model=ScriptedModel(answer), storage=storage, policy=TRUSTING), outbox="memory:", immediate=True
    ) as invoker:
        invoker.submit(say(1), ADA)

    assert seen == ["nothing"]
