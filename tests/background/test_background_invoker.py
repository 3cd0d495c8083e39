"""BackgroundInvoker: its verbs, its threads, and from where it may be used."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

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
from memgraph.testing import ScriptedModel, update_answer

ADA, BOB = Scope("ada"), Scope("bob")
NOW = Settings(debounce_seconds=0, lease_seconds=3)
LATER = Settings(debounce_seconds=3_600, max_wait_seconds=3_600)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/outbox.db"


class Gate:
    """A model that waits to be let through, and counts how many wait at once."""

    def __init__(self, *held: str) -> None:
        self.held = held
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)
        self.inside: list[str] = []
        self.most = 0
        self.lock = threading.Lock()
        self.model = ScriptedModel(self.answer)

    def answer(self, prompt: Any) -> str:
        text = str(prompt[-1].content)
        with self.lock:
            self.inside.append(text)
            self.most = max(self.most, len(self.inside))
        self.entered.release()
        if not self.held or any(word in text for word in self.held):
            self.opened.wait(20)
        with self.lock:
            self.inside.remove(text)
        return update_answer("learned")


def until(true: Callable[[], object]) -> None:
    """Wait for what threads will do."""
    for _ in range(2_000):
        if true():
            return
        threading.Event().wait(0.01)
    pytest.fail("it did not happen within 20 s")


# -- verbs ----------------------------------------------------------------------------------------


def test_it_is_an_invoker(graph: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as background:
        invoker: Invoker = background

        assert invoker.pending() == ()


def test_what_is_submitted_is_learned_when_it_was_quiet(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.submit(say(1), ADA, "t1")
        until(lambda: learned() == ["turn-1"])
        until(lambda: invoker.pending() == ())


def test_what_is_due_later_is_not_missed(graph: Any, url: str, say: Any, learned: Any) -> None:
    settings = Settings(debounce_seconds=0.2)
    with BackgroundInvoker(graph, outbox=url, settings=settings) as invoker:
        invoker.submit(say(1), ADA, "t1")
        until(lambda: learned() == ["turn-1"])


def test_flush_runs_what_waits_now(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        for user in "abcdefgh":
            invoker.submit(say(1), Scope(user), "t1")

        assert invoker.flush(20)
        assert [learned(Scope(user)) for user in "abcdefgh"] == [["turn-1"]] * 8
        assert (invoker.pending(), invoker.stats().learned) == ((), 8)


def test_flush_tells_that_something_failed(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model=ScriptedModel(ConnectionError()), storage=storage, policy=Policy(model_tries=1))
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(20)
        assert [job.attempts for job in invoker.pending()] == [1]
        assert not invoker.flush(20)


def test_flush_tells_that_something_was_set_aside(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(20)
        assert [job.key.scope for job in invoker.failed()] == [ADA]


def test_flush_gives_up_in_time(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    with BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert not invoker.flush(0.05)
        gate.opened.set()
        assert invoker.flush(20)


def test_flush_nowait_waits_for_nothing(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    with BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush_nowait()

        assert gate.entered.acquire(timeout=20)
        assert [job.running for job in invoker.pending()] == [True]
        gate.opened.set()


def test_what_failed_for_good_can_be_retried(storage: Any, graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(build_graph(model="nobody:has-this", storage=storage), outbox=url, settings=LATER) as ill:
        ill.submit(say(1), ADA, "t1")
        ill.flush(20)
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as well:
        assert well.retry(BOB) == 0
        assert well.retry(ADA, "t1") == 1
        assert well.flush(20)

    assert learned() == ["turn-1"]


def test_immediate_updates_are_done_when_submit_returns(graph: Any, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit(say(1), ADA, "t1")

        assert learned() == ["turn-1"]


def test_immediate_updates_raise_what_went_wrong_and_keep_it(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, immediate=True) as invoker:
        with pytest.raises(RuntimeError, match="nobody"):
            invoker.submit(say(1), ADA, "t1")

        assert len(invoker.failed()) == 1


def test_forget_deletes_the_memory_and_what_waits(graph: Any, storage: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, storage=storage, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush(20)
        invoker.submit(say(1, 2), ADA, "t1")
        invoker.submit(say(5), BOB, "t1")

        invoker.forget(ADA)

        assert [job.key.scope for job in invoker.pending()] == [BOB]
        assert learned() == []
        invoker.submit(say(1, 2, 3), ADA, "t1")
        assert invoker.flush(20)
        assert learned() == ["turn-3"]


def test_forget_drops_what_was_set_aside(storage: Any, url: str, say: Any) -> None:
    graph = build_graph(model="nobody:has-this", storage=storage)
    with BackgroundInvoker(graph, outbox=url, storage=storage, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.flush(20)

        invoker.forget(ADA)

        assert (invoker.pending(), invoker.failed()) == ((), ())


def test_forget_has_to_know_where_memories_are(graph: Any) -> None:
    with (
        BackgroundInvoker(graph, outbox="memory:") as invoker,
        pytest.raises(ConfigError, match=r"BackgroundInvoker\(graph, storage=\.\.\.\)"),
    ):
        invoker.forget(ADA)


def test_what_settings_describe_is_the_graph_where_none_is_given(tmp_path: Path, say: Any) -> None:
    settings = Settings(storage_path=f"file:{tmp_path}/memory", outbox=f"{tmp_path}/out.db", model_name="offline")
    with BackgroundInvoker(settings=settings) as invoker:
        invoker.submit([HumanMessage("I'm a nurse in Basel and I prefer tea.", id="m1")], ADA, "t1")
        assert invoker.flush(20)

    assert (tmp_path / "out.db").exists()
    assert open_storage(f"file:{tmp_path}/memory").load(ADA).threads["t1"].last_message_id == "m1"


def test_disabled_it_does_nothing_at_all(tmp_path: Path, say: Any) -> None:
    settings = Settings(enabled=False, outbox=f"{tmp_path}/out.db", storage_path=str(tmp_path / "memory"))
    with BackgroundInvoker(settings=settings) as invoker:
        invoker.submit("no conversation", "no scope")  # type: ignore[arg-type]
        asyncio.run(invoker.asubmit([], ADA))
        invoker.flush_nowait()
        invoker.forget(ADA)

        assert (invoker.flush(), invoker.pending(), invoker.failed(), invoker.retry()) == (True, (), (), 0)
    assert list(tmp_path.iterdir()) == []


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("thread_id", ["x" * 257, "a\nb"])
def test_a_thread_id_that_may_not_be_used_is_refused(graph: Any, say: Any, thread_id: str) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker, pytest.raises(IdentityError, match="thread_id"):
        invoker.submit(say(1), ADA, thread_id)


def test_a_scope_that_is_none_is_refused(graph: Any, say: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker, pytest.raises(IdentityError, match="scope is a str"):
        invoker.submit(say(1), "ada")  # type: ignore[arg-type]


@pytest.mark.parametrize("messages", [[42], [{"role": "nobody", "content": "x"}], 42])
def test_what_is_no_conversation_is_refused(graph: Any, messages: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker:
        with pytest.raises(ConversationError, match=r"messages\[0\]"):
            invoker.submit(messages, ADA)
        assert invoker.pending() == ()


def test_messages_come_in_every_form_langchain_knows(graph: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:", immediate=True) as invoker:
        invoker.submit([("user", "turn-1"), {"role": "user", "content": "turn-2"}, "turn-3"], ADA)
        invoker.submit((HumanMessage("turn-4"),), ADA)

    assert learned() == ["turn-1", "turn-2", "turn-3", "turn-4"]


def test_an_empty_conversation_is_nothing(graph: Any) -> None:
    with BackgroundInvoker(graph, outbox="memory:") as invoker:
        invoker.submit([], ADA)

        assert invoker.pending() == ()


def test_a_full_queue_pushes_back(graph: Any, url: str, say: Any) -> None:
    settings = LATER.model_copy(update={"max_queued": 2})
    with BackgroundInvoker(graph, outbox=url, settings=settings) as invoker:
        invoker.submit(say(1), ADA, "t1")
        invoker.submit(say(1), ADA, "t2")

        with pytest.raises(QueueFullError, match="submit again later"):
            invoker.submit(say(1), ADA, "t3")
        invoker.submit(say(2), ADA, "t2")


def test_a_closed_invoker_says_so(graph: Any, url: str, say: Any) -> None:
    invoker = BackgroundInvoker(graph, outbox=url)
    invoker.close()
    invoker.close()

    with pytest.raises(OutboxError, match="closed"):
        invoker.submit(say(1), ADA)


# -- workers --------------------------------------------------------------------------------------


def test_no_more_run_at_once_than_allowed_and_never_two_of_a_scope(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    settings = Settings(debounce_seconds=0, max_concurrency=3)
    with BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=settings) as invoker:
        for user in "abcdef":
            invoker.submit(say(1), Scope(user), "t1")
            invoker.submit(say(1), Scope(user), "t2")
        for _ in range(3):
            assert gate.entered.acquire(timeout=20)
        running = [job.key for job in invoker.pending() if job.running]
        gate.opened.set()

        assert invoker.flush(20)
        assert len({key.scope for key in running}) == 3
        assert gate.most == 3
        assert invoker.stats().learned == 12


def test_a_model_that_hangs_holds_up_its_own_scope_only(storage: Any, url: str, say: Any) -> None:
    gate = Gate("turn-1")
    graph = build_graph(model=gate.model, storage=storage)
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.submit(say(1), ADA, "t1")
        assert gate.entered.acquire(timeout=20)
        invoker.submit(say(2), ADA, "t2")
        invoker.submit(say(3), BOB, "t1")

        until(lambda: invoker.stats().learned == 1)
        assert {job.key.scope for job in invoker.pending()} == {ADA}
        gate.opened.set()
        assert invoker.flush(20)


def test_the_lease_of_a_long_update_is_kept(storage: Any, url: str, say: Any) -> None:
    """It is renewed at a third of its time, so it outlasts the 3 s it was taken for."""
    gate = Gate()
    with BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=NOW) as invoker:
        invoker.submit(say(1), ADA, "t1")
        assert gate.entered.acquire(timeout=20)
        first = invoker._group.runner.outbox.next_due(now=0)  # type: ignore[union-attr]
        until(lambda: invoker._group.runner.outbox.next_due(now=0) > first)  # type: ignore[union-attr,operator]
        gate.opened.set()


def test_those_who_name_one_outbox_share_its_workers(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as one:
        with BackgroundInvoker(outbox=url) as other:
            assert other._group is one._group
            other.submit(say(1), ADA, "t1")
        one.submit(say(1, 2), ADA, "t1")
        assert one.flush(20)

    assert learned() == ["turn-1", "turn-2"]


def test_one_outbox_is_not_worked_on_in_two_ways(graph: Any, url: str) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=NOW):
        with pytest.raises(ConfigError, match="another graph, another storage or other settings"):
            BackgroundInvoker(graph, outbox=url, settings=LATER)
        with pytest.raises(ConfigError, match="another graph, another storage or other settings"):
            BackgroundInvoker(build_graph(model="offline", storage="memory:"), outbox=url)
        with pytest.raises(ConfigError, match="another graph, another storage or other settings"):
            BackgroundInvoker(outbox=url, storage="memory:")


# -- ends -----------------------------------------------------------------------------------------


def test_close_waits_for_what_runs_and_keeps_the_rest(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    settings = Settings(debounce_seconds=0, max_concurrency=1)
    invoker = BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=settings)
    invoker.submit(say(1), ADA, "t1")
    assert gate.entered.acquire(timeout=20)
    invoker.submit(say(1), BOB, "t1")
    threading.Timer(0.1, gate.opened.set).start()
    invoker.close()

    assert len(storage.load(ADA).facts) == 1
    with open_outbox(url) as outbox:
        assert [job.key.scope for job in outbox.pending(now=0)] == [BOB]


def test_close_does_not_wait_for_ever(storage: Any, url: str, say: Any) -> None:
    gate = Gate()
    invoker = BackgroundInvoker(build_graph(model=gate.model, storage=storage), outbox=url, settings=NOW)
    invoker.submit(say(1), ADA, "t1")
    assert gate.entered.acquire(timeout=20)
    invoker.close(0.05)

    with open_outbox(url) as outbox:
        assert [job.key.scope for job in outbox.pending(now=0)] == [ADA]
    gate.opened.set()
    until(lambda: not any("memgraph-update" in thread.name for thread in threading.enumerate()))


def test_what_an_earlier_process_left_is_learned(graph: Any, url: str, say: Any, learned: Any) -> None:
    with BackgroundInvoker(graph, outbox=url, settings=LATER) as invoker:
        invoker.submit(say(1), ADA, "t1")
    with open_outbox(url) as outbox:
        outbox.expedite(now=0)

    with BackgroundInvoker(graph, outbox=url, settings=LATER):
        until(lambda: learned() == ["turn-1"])


def test_starting_leaves_nothing_behind(graph: Any, tmp_path: Path) -> None:
    with BackgroundInvoker(graph, outbox=f"{tmp_path}/outbox.db") as invoker:
        invoker.pending()
        invoker.flush(1)

    assert list(tmp_path.iterdir()) == []


# -- from where it is used ------------------------------------------------------------------------


def test_an_event_loop_is_never_blocked(graph: Any, url: str, say: Any, learned: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster")

    async def main() -> None:
        async with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
            with blockbuster.blockbuster_ctx():
                await asyncio.gather(*(invoker.asubmit(say(number), ADA, "t1") for number in range(20)))

    asyncio.run(main())
    with BackgroundInvoker(graph, outbox=url, settings=NOW) as invoker:
        invoker.flush(20)

    assert sorted(learned()) == sorted(f"turn-{number}" for number in range(20))


def test_asubmit_raises_what_submit_does(graph: Any, say: Any) -> None:
    async def main() -> None:
        async with BackgroundInvoker(graph, outbox="memory:") as invoker:
            with pytest.raises(IdentityError):
                await invoker.asubmit(say(1), ADA, "a\nb")

    asyncio.run(main())


def test_a_run_that_is_cancelled_may_have_been_submitted(graph: Any, say: Any) -> None:
    """But it hurts nobody who comes later."""

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
def test_a_node_of_a_running_graph_can_submit(
    graph: Any, url: str, say: Any, learned: Any, *, immediate: bool, in_loop: bool
) -> None:
    """Nothing of the update comes out in that graph's stream, or goes into its checkpoints."""
    saver = InMemorySaver()

    def build(invoker: BackgroundInvoker) -> Any:
        def remember(state: MessagesState) -> dict[str, Any]:
            invoker.submit(state["messages"], ADA, "t1")
            invoker.flush(20)
            return {}

        async def remember_async(state: MessagesState) -> dict[str, Any]:
            await invoker.asubmit(state["messages"], ADA, "t1")
            return {}

        agent = StateGraph(MessagesState)
        agent.add_node("remember", remember_async if in_loop else remember)
        agent.add_edge(START, "remember")
        agent.add_edge("remember", END)
        return agent.compile(checkpointer=saver)

    async def stream(agent: Any, given: Any, **kwargs: Any) -> list[Any]:
        return [part async for part in agent.astream(given, **kwargs)]

    config = {"configurable": {"thread_id": "agent"}}
    kwargs = {"config": config, "stream_mode": ["updates", "messages", "custom", "tasks"], "subgraphs": True}
    with BackgroundInvoker(graph, outbox=url, settings=NOW, immediate=immediate) as invoker:
        agent, given = build(invoker), {"messages": say(1)}
        parts = asyncio.run(stream(agent, given, **kwargs)) if in_loop else list(agent.stream(given, **kwargs))
        until(lambda: learned() == ["turn-1"])

    assert {namespace for namespace, _, _ in parts} == {()}
    assert not any(word in str(parts) for word in ("filter_messages", "newFacts", "memory_agent"))
    assert {item.config["configurable"]["checkpoint_ns"] for item in saver.list(config)} == {""}


def test_no_variable_of_the_caller_reaches_an_update(storage: Any, say: Any) -> None:
    variable = contextvars.ContextVar("variable", default="nothing")
    seen = []

    def answer(_: object) -> str:
        seen.append(variable.get())
        return update_answer("a")

    variable.set("the caller's")
    with BackgroundInvoker(
        build_graph(model=ScriptedModel(answer), storage=storage), outbox="memory:", immediate=True
    ) as invoker:
        invoker.submit(say(1), ADA)

    assert seen == ["nothing"]
