"""Memory in a StateGraph of one's own."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from agent_fakes import ADA, IN_T1, SECRET, AgentModel, NotingInvoker, WatchedStorage, remembering
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from memgraph import (
    Context,
    MemoryState,
    MemoryStorage,
    Settings,
    build_graph,
    capture_memory,
    inject_memory,
    open_storage,
    with_memory,
)
from memgraph.testing import ScriptedModel, update_answer

GIVEN: Any = {"messages": [HumanMessage("Hi!")]}


def graph_of(
    model: AgentModel,
    storage: MemoryStorage,
    invoker: Any = None,
    *,
    schema: Any = MessagesState,
    wait_seconds: float | None = None,
) -> Any:
    """inject, ask, capture; nothing depends on the time it takes unless a test says so."""

    def call_model(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke(with_memory(state, "Be kind."))]}

    builder = StateGraph(schema)
    builder.add_node(inject_memory(storage, wait_seconds=wait_seconds))
    builder.add_node(call_model)
    builder.add_node(capture_memory(storage, invoker=invoker or NotingInvoker()))
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "call_model")
    builder.add_edge("call_model", "capture_memory")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_is_told_and_learned_from(*, is_async: bool) -> None:
    """The messages stay as they were."""
    model, invoker = AgentModel("Hello!"), NotingInvoker()
    graph = graph_of(model, remembering(SECRET), invoker)

    state = asyncio.run(graph.ainvoke(GIVEN, IN_T1)) if is_async else graph.invoke(GIVEN, IN_T1)

    assert model.systems[0].startswith("Be kind.\n\n<memory>")
    assert SECRET in model.systems[0]
    assert [message.text for message in state["messages"]] == ["Hi!", "Hello!"]
    assert set(state) == {"messages"}
    assert invoker.given == [(["Hi!", "Hello!"], ADA, "t1")]


@pytest.mark.parametrize("schema", [MessagesState, MemoryState])
def test_no_checkpoint_of_a_graph_holds_it(schema: Any) -> None:
    """Also where the whole state knows the key, and where the run stops in between."""
    graph = graph_of(AgentModel("Hello!"), remembering(SECRET), schema=schema)

    graph.invoke(GIVEN, IN_T1)
    graph.invoke(GIVEN, IN_T1, interrupt_before=["call_model"])

    saver = graph.checkpointer
    kept = [dict(saver.blobs), {key: dict(value) for key, value in saver.writes.items()}]
    assert "pewter" not in repr([*saver.list(None)])
    assert b"pewter" not in pickle.dumps(kept)


def test_no_stream_of_words_shows_it() -> None:
    """What a chat window reads; streams of values show it, as they show all that a graph's state holds."""
    graph = graph_of(AgentModel("Hello!"), remembering(SECRET))

    assert "pewter" not in repr(list(graph.stream(GIVEN, IN_T1, stream_mode=["messages", "custom"])))


def test_without_memory_a_model_is_told_what_it_always_was() -> None:
    """Neither key nor instructions are needed."""
    state: Any = {"messages": [HumanMessage("Hi!")]}

    assert with_memory(state) == state["messages"]
    assert with_memory(state, "Be kind.") == [SystemMessage("Be kind."), *state["messages"]]


@pytest.mark.parametrize("storage", [WatchedStorage(breaks=True), WatchedStorage(hangs=True)])
def test_a_memory_that_fails_costs_a_graph_nothing(storage: WatchedStorage) -> None:
    """Broken or hanging."""
    state = graph_of(AgentModel("Hello!"), storage, wait_seconds=0.1).invoke(GIVEN, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    storage.released.set()


def test_without_a_user_a_graph_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """Each node says so."""
    invoker = NotingInvoker()

    state = graph_of(AgentModel("Hello!"), remembering(SECRET), invoker).invoke(
        GIVEN, {"configurable": {"thread_id": "t1"}}
    )

    assert state["messages"][-1].text == "Hello!"
    assert invoker.given == []
    assert "user_id" in caplog.text


def test_nodes_may_be_off() -> None:
    """By configuration."""
    model = AgentModel("Hello!")
    storage = WatchedStorage()
    off = Settings(injection_enabled=False)
    node: Any = inject_memory(storage, settings=off)
    builder = StateGraph(MemoryState)
    builder.add_node(node)
    builder.add_edge(START, "inject_memory")

    builder.compile().invoke(GIVEN, IN_T1)

    assert (storage.loads, model.systems) == (0, [])


def test_an_unanswered_message_is_not_handed_over() -> None:
    """It will be, with its answer."""
    invoker = NotingInvoker()
    builder = StateGraph(MessagesState)
    builder.add_node(capture_memory("memory:", invoker=invoker))  # type: ignore[arg-type]
    builder.add_edge(START, "capture_memory")

    builder.compile().invoke(GIVEN, IN_T1)

    assert invoker.given == []


def test_the_update_itself_may_be_the_last_node() -> None:
    """Then what was said is learned when the run ends; interrupts and all are the lead agent's own."""
    storage = open_storage("memory:")

    def answer(state: MemoryState) -> dict[str, Any]:
        return {"messages": [("ai", f"Hello {interrupt('Your name?')}!")]}

    builder = StateGraph(MessagesState, context_schema=dict)
    builder.add_node(inject_memory(storage))
    builder.add_node(answer)
    builder.add_node("memory_update", build_graph(model=ScriptedModel(update_answer(SECRET)), storage=storage))
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "answer")
    builder.add_edge("answer", "memory_update")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke(GIVEN, thread, context={"user_id": "ada"})

    from langgraph.types import Command

    state = graph.invoke(Command(resume="Ada"), thread, context=Context(user_id="ada"))

    assert [fact.content for fact in storage.load(ADA).facts] == [SECRET]
    assert set(state) == {"messages"}
    assert "memory_update:call_model" in graph.get_graph(xray=True).nodes
