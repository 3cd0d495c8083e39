"""Which messages of an agent are submitted to be learned from, and when."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from agent_fakes import ADA, IN_T1, SECRET, AgentModel, RecordingInvoker, calls, make_agent, storage_with
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from memgraph import (
    BackgroundInvoker,
    ConfigError,
    Context,
    MemoryMiddleware,
    Policy,
    Settings,
    build_graph,
    capture_memory,
    open_storage,
)
from memgraph._concurrency import DaemonExecutor
from memgraph.agents.capture import ConversationCapture
from memgraph.agents.resources import UserIdentity
from memgraph.errors import OutboxError
from memgraph.storage.langgraph import LangGraphStorage
from memgraph.testing import ScriptedModel, update_answer

LONG: Any = [
    (HumanMessage if n % 2 == 0 else AIMessage)(f"{'Fact' if n % 2 == 0 else 'Answer'} {n}.", id=f"m{n}")
    for n in range(8)
]


TRUSTING = Policy(grounding="off")


def send(agent: Any, text: str = "Hi!", config: Any = IN_T1, *, is_async: bool = False, history: Any = ()) -> Any:
    inputs = {"messages": [*history, HumanMessage(text)]}
    return asyncio.run(agent.ainvoke(inputs, config)) if is_async else agent.invoke(inputs, config)


# -- after the agent ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_conversation_is_submitted_after_the_agent(*, is_async: bool) -> None:
    """All of it, for its user and thread."""
    invoker = RecordingInvoker()

    send(make_agent(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker), is_async=is_async)

    assert invoker.submitted == [(["Hi!", "Hello!"], ADA, "t1")]


@pytest.mark.parametrize("way", ["middleware", "node"])
def test_a_run_without_a_thread_is_learned_once_with_one_warning(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its thread is derived from its first message, and its messages are known by their words."""
    storage = open_storage("memory:")
    invoker = BackgroundInvoker(build_graph(model="offline", storage=storage), immediate=True)
    messages = [HumanMessage("I teach pottery."), AIMessage("How nice!")]
    config: Any = {"configurable": {"user_id": "ada"}}
    if way == "middleware":
        memory = MemoryMiddleware(storage, invoker=invoker)
        agent: Any = create_agent(AgentModel("Oh!", "Oh!"), middleware=[memory])
    else:
        graph = StateGraph(MessagesState)
        graph.add_node(capture_memory(storage, invoker=invoker))
        graph.set_entry_point("capture_memory")
        agent = graph.compile()
        messages = [*messages, HumanMessage("I keep two goats."), AIMessage("Oh!")]
    extra = [HumanMessage("I keep two goats.")] if way == "middleware" else []

    for _ in range(2):
        agent.invoke({"messages": [*(m.model_copy(update={"id": None}) for m in messages), *extra]}, config)

    known = storage.load(ADA)
    assert [fact.content for fact in known.facts] == ["Teaches pottery.", "Keeps two goats."]
    assert [episode.text for episode in storage.episodes(ADA)] == ["I teach pottery.", "I keep two goats."]
    assert len(known.threads) == 1
    assert [record.message.count("no thread_id") for record in caplog.records].count(1) == 1


def test_a_history_that_is_sent_again_without_ids_is_learned_once() -> None:
    """Without a checkpointer LangGraph draws new ids for the same messages in each run of the thread."""
    storage = open_storage("memory:")
    invoker = BackgroundInvoker(build_graph(model="offline", storage=storage), immediate=True)
    agent = create_agent(AgentModel("Nice!", "Oh!"), middleware=[MemoryMiddleware(storage, invoker=invoker)])
    history: list[Any] = []

    for said in ("I teach pottery.", "I keep two goats."):
        history.append({"role": "user", "content": said})
        agent.invoke({"messages": history}, IN_T1)
        history.append({"role": "assistant", "content": "Nice!"})

    assert [episode.text for episode in storage.episodes(ADA)] == ["I teach pottery.", "I keep two goats."]


def test_an_interrupted_agent_submits_when_it_has_answered() -> None:
    """Not at the interrupt."""
    invoker = RecordingInvoker()

    @tool
    def ask_back() -> str:
        """Ask the user."""
        return interrupt("Which one?")

    agent = make_agent(
        AgentModel(calls("ask_back"), "Done."), open_storage("memory:"), invoker=invoker, tools=[ask_back]
    )
    send(agent)
    assert invoker.submitted == []

    agent.invoke(Command(resume="the second"), IN_T1)

    assert [texts for texts, *_ in invoker.submitted] == [["Hi!", "", "the second", "Done."]]


def test_a_structured_response_is_a_reply() -> None:
    """It comes as a tool call."""

    class Weather(BaseModel):
        """The weather."""

        sunny: bool

    invoker = RecordingInvoker()
    memory = MemoryMiddleware("memory:", invoker=invoker)  # type: ignore[arg-type]
    model = AgentModel(calls("Weather", sunny=True))
    send(create_agent(model, middleware=[memory], response_format=ToolStrategy(Weather)))

    assert len(invoker.submitted) == 1


def test_what_is_learned_is_injected_in_the_next_conversation() -> None:
    """End to end, with an invoker that learns at once."""
    storage = open_storage("memory:")
    learning = build_graph(model=ScriptedModel(update_answer("Name is Ada.")), storage=storage)
    model = AgentModel("Hello!")
    with BackgroundInvoker(learning, outbox="memory:", immediate=True) as invoker:
        agent = make_agent(model, storage, invoker=invoker, wait_seconds=None)
        send(agent, "My name is Ada.")

        send(agent, "Who am I?", {"configurable": {"thread_id": "t2", "user_id": "ada"}})

    assert "Name is Ada." in model.systems[1]


def test_learning_at_once_leaks_nothing_into_the_stream() -> None:
    """Though it runs while the agent's graph does."""
    storage = open_storage("memory:")
    learning = build_graph(model=ScriptedModel(update_answer("Likes pewter.")), policy=TRUSTING, storage=storage)
    with BackgroundInvoker(learning, outbox="memory:", immediate=True) as invoker:
        agent = make_agent(AgentModel("Hello!"), storage, invoker=invoker, wait_seconds=None)

        modes = ["messages", "updates", "tasks", "checkpoints", "custom"]
        shown = list(agent.stream({"messages": [HumanMessage("Hi!")]}, IN_T1, stream_mode=modes, subgraphs=True))

    assert [fact.content for fact in storage.load(ADA).facts] == ["Likes pewter."]
    assert "pewter" not in repr(shown)
    assert "filter_messages" not in repr(shown)


def test_an_invoker_that_runs_the_update_itself_leaks_nothing_either() -> None:
    """Its author need not know how LangGraph forwards streams."""
    learning = build_graph(model=ScriptedModel(update_answer("Likes pewter.")), policy=TRUSTING, storage="memory:")

    class Simple(RecordingInvoker):
        def submit(self, messages: Any, scope: Any, thread_id: str | None = None) -> None:
            super().submit(messages, scope, thread_id)
            learning.invoke({"messages": messages}, context=Context(user_id=scope.user_id))

    invoker = Simple()
    agent = make_agent(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, wait_seconds=None)

    modes = ["messages", "updates", "tasks", "checkpoints", "custom"]
    shown = list(agent.stream({"messages": [HumanMessage("Hi!")]}, IN_T1, stream_mode=modes, subgraphs=True))

    assert len(invoker.submitted) == 1
    assert "pewter" not in repr(shown)


def test_queued_conversations_are_submitted_after_the_agent_went_on() -> None:
    """A slow invoker loses nothing."""
    release = threading.Event()

    class Slow(RecordingInvoker):
        def submit(self, messages: Any, scope: Any, thread_id: str | None = None) -> None:
            release.wait(120)
            super().submit(messages, scope, thread_id)

    invoker: Any = Slow()
    capture = ConversationCapture(invoker, wait_seconds=0.02)
    capture._executor = DaemonExecutor(max_workers=1)
    identity = UserIdentity(ADA, "t1")

    capture.capture(identity, [HumanMessage("One.")])
    asyncio.run(capture.acapture(identity, [HumanMessage("Two.")]))

    assert invoker.submitted == []
    release.set()
    capture._executor.run(60, lambda: None)
    assert [texts for texts, *_ in invoker.submitted] == [["One."], ["Two."]]


def test_by_default_learning_is_in_the_background(tmp_path: Any) -> None:
    """With a durable queue and the model that was passed."""
    settings = Settings(outbox=str(tmp_path / "outbox.db"))
    storage = open_storage("memory:")
    model = ScriptedModel(update_answer("Name is Ada."))
    memory = MemoryMiddleware(storage, model=model, settings=settings, wait_seconds=60)
    send(create_agent(AgentModel("Hello!"), middleware=[memory], checkpointer=InMemorySaver()), "My name is Ada.")
    assert memory.invoker is not None

    assert memory.invoker.flush(60)

    memory.invoker.close()
    assert [fact.content for fact in storage.load(ADA).facts] == ["Name is Ada."]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_closed_invoker_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture, *, is_async: bool) -> None:
    """Nothing is learned, which is logged."""
    with BackgroundInvoker(build_graph(storage="memory:"), outbox="memory:") as invoker:
        agent = make_agent(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker)

    assert send(agent, is_async=is_async)["messages"][-1].content == "Hello!"
    assert "was not submitted; the agent goes on" in caplog.text


def test_what_an_outbox_did_not_take_is_submitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its order, without another turn: the server of the outbox may have been stopped."""
    monkeypatch.setattr("memgraph.agents.capture.RETRY_SECONDS", 0.01)
    invoker, is_stopped = RecordingInvoker(), threading.Event()
    take = invoker.submit

    def submit(*given: Any, **named: Any) -> None:
        if is_stopped.is_set():
            raise OutboxError("the server did not answer in time")
        take(*given, **named)

    monkeypatch.setattr(invoker, "submit", submit)
    capture = ConversationCapture(invoker)  # type: ignore[arg-type]
    is_stopped.set()
    for name in ("One.", "Two."):
        capture.capture(UserIdentity(ADA, name), [HumanMessage(name)])
    assert invoker.submitted == []

    is_stopped.clear()
    capture._retrier.run(60, lambda: None)

    assert [texts for texts, *_ in invoker.submitted] == [["One."], ["Two."]]


@pytest.mark.parametrize("make", [MemoryMiddleware, capture_memory])
def test_the_store_of_the_running_graph_is_refused_for_learning_in_the_background(make: Any) -> None:
    """An update in the background runs in no graph, so it would never learn: the error says what to do instead."""
    with pytest.raises(ConfigError, match=r"LangGraphStorage\(store\)"):
        make("langgraph:")

    MemoryMiddleware("langgraph:", capture=False)
    MemoryMiddleware("langgraph:", invoker=RecordingInvoker())  # type: ignore[arg-type]


def test_an_agent_learns_into_its_store() -> None:
    """As the error of `langgraph:` advises."""
    store = InMemoryStore()
    storage = LangGraphStorage(store)
    settings, learner = Settings(outbox="memory:"), ScriptedModel(update_answer("Name is Ada."))
    memory = MemoryMiddleware(storage, model=learner, settings=settings, wait_seconds=60)
    agent = create_agent(AgentModel("Hello!"), middleware=[memory], checkpointer=InMemorySaver(), store=store)

    send(agent, "My name is Ada.")

    assert memory.invoker is not None
    assert memory.invoker.flush(120)
    memory.invoker.close()
    assert [fact.content for fact in storage.load(ADA).facts] == ["Name is Ada."]


# -- before a summarization -----------------------------------------------------------------------


def summarizing(**options: Any) -> Any:
    return SummarizationMiddleware(ScriptedModel("They talked."), **({"trigger": ("messages", 6)} | options))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("place", ["before", "after"])
def test_what_a_summary_removes_is_captured(place: str, *, is_async: bool) -> None:
    """In either order of the middlewares; the history came with the call, so no earlier turn submitted it."""
    invoker = RecordingInvoker()
    model = AgentModel("Hello!")
    options: Any = {place: [summarizing(keep=("messages", 2))]}
    agent = make_agent(model, open_storage("memory:"), invoker=invoker, **options)

    state = send(agent, "And now?", history=LONG, is_async=is_async)

    assert len(state["messages"]) == 4  # the summary, the last two, the answer
    before, after = [texts for texts, *_ in invoker.submitted]
    assert before == [message.text for message in LONG]
    assert after[-2:] == ["And now?", "Hello!"]


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_turn_that_is_summarized_while_it_runs_is_captured(place: str) -> None:
    """A long turn of many tools loses its human message."""
    storage = storage_with(SECRET)

    @tool
    def work() -> str:
        """Work, while another writer changes the memory."""
        storage_with("Plays chess.", storage=storage)
        return "worked"

    invoker = RecordingInvoker()
    model = AgentModel(calls("work"), calls("work"), calls("work"), "Done.")
    options: Any = {place: [summarizing(keep=("messages", 2))]}
    agent = make_agent(model, storage, invoker=invoker, tools=[work], **options)

    state = send(agent, "I live in Ghent.")

    assert not any(message.text == "I live in Ghent." for message in state["messages"])
    assert invoker.submitted[0][0][0] == "I live in Ghent."
    assert len(model.systems) == 4
    assert all(SECRET in system for system in model.systems)


def test_every_message_is_submitted_across_repeated_summaries() -> None:
    """Over a conversation of many turns."""
    invoker = RecordingInvoker()
    agent = make_agent(
        AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, after=[summarizing(keep=("messages", 3))]
    )

    for n in range(12):
        send(agent, f"Fact {n}.")

    submitted = {text for texts, *_ in invoker.submitted for text in texts}
    assert {f"Fact {n}." for n in range(12)} <= submitted


def test_nothing_is_learned_twice_because_of_a_summary() -> None:
    """What was learned before it was removed costs no model call."""
    storage = open_storage("memory:")
    model = ScriptedModel(update_answer())
    with BackgroundInvoker(build_graph(model=model, storage=storage), outbox="memory:", immediate=True) as invoker:
        agent = make_agent(
            AgentModel("Hello!"),
            storage,
            invoker=invoker,
            wait_seconds=None,
            before=[summarizing(trigger=("messages", 20), keep=("messages", 18))],
        )

        for n in range(14):
            send(agent, f"Fact {n}.")

    assert len(model.asked) == 14


def test_messages_that_a_guard_deletes_are_not_captured() -> None:
    """A guard deletes them so that they are not stored."""

    class Guard(AgentMiddleware):  # type: ignore[type-arg]
        def before_model(self, state: Any, runtime: Any) -> Any:
            return {"messages": [RemoveMessage(id=m.id) for m in state["messages"] if "swordfish" in m.text]}

    invoker = RecordingInvoker()
    agent = make_agent(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker, before=[Guard()])

    send(agent, "Hi!", history=[HumanMessage("My password is swordfish."), AIMessage("I see.")])

    assert len(invoker.submitted) == 1
    assert "swordfish" not in repr(invoker.submitted)


def test_messages_that_the_user_deletes_are_not_captured() -> None:
    """A user who deletes a message does not want it learned."""
    invoker = RecordingInvoker()
    agent = make_agent(AgentModel("Hello!"), open_storage("memory:"), invoker=invoker)
    send(agent, "My password is swordfish.")
    invoker.submitted.clear()
    agent.update_state(IN_T1, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})

    send(agent, "Hi!")

    assert "swordfish" not in repr(invoker.submitted)
