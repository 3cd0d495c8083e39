"""Memory in your own StateGraph."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
from typing import Any

import pytest
from agent_fakes import ADA, IN_T1, SECRET, AgentModel, CountingStorage, RecordingInvoker, storage_with
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from memgraph import (
    Context,
    MemoryState,
    MemoryStorage,
    Policy,
    Settings,
    answer_from_memory,
    build_graph,
    capture_memory,
    inject_memory,
    open_storage,
    with_memory,
)
from memgraph.testing import ScriptedModel, update_answer

INPUTS: Any = {"messages": [HumanMessage("Hi!")]}


TRUSTING = Policy(grounding="off")


def make_graph(
    model: AgentModel,
    storage: MemoryStorage,
    invoker: Any = None,
    *,
    schema: Any = MessagesState,
    wait_seconds: float | None = None,
) -> Any:
    """Return a graph of inject, call, capture; without a timeout unless a test sets one."""

    def call_model(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke(with_memory(state, "Be kind."))]}

    builder = StateGraph(schema)
    builder.add_node(inject_memory(storage, wait_seconds=wait_seconds))
    builder.add_node(call_model)
    builder.add_node(capture_memory(storage, invoker=invoker or RecordingInvoker(), wait_seconds=60))
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "call_model")
    builder.add_edge("call_model", "capture_memory")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_injects_and_captures(*, is_async: bool) -> None:
    """The messages stay as they were."""
    model, invoker = AgentModel("Hello!"), RecordingInvoker()
    graph = make_graph(model, storage_with(SECRET), invoker)

    state = asyncio.run(graph.ainvoke(INPUTS, IN_T1)) if is_async else graph.invoke(INPUTS, IN_T1)

    assert model.systems[0].startswith("Be kind.\n\n<memory>")
    assert SECRET in model.systems[0]
    assert [message.text for message in state["messages"]] == ["Hi!", "Hello!"]
    assert set(state) == {"messages"}
    assert invoker.submitted == [(["Hi!", "Hello!"], ADA, "t1")]


@pytest.mark.parametrize("schema", [MessagesState, MemoryState])
def test_no_checkpoint_of_a_graph_contains_memory(schema: Any) -> None:
    """Even if the state has the key, or the run stops between the nodes."""
    graph = make_graph(AgentModel("Hello!"), storage_with(SECRET), schema=schema)

    graph.invoke(INPUTS, IN_T1)
    graph.invoke(INPUTS, IN_T1, interrupt_before=["call_model"])

    saver = graph.checkpointer
    stored = [dict(saver.blobs), {key: dict(value) for key, value in saver.writes.items()}]
    assert "pewter" not in repr([*saver.list(None)])
    assert b"pewter" not in pickle.dumps(stored)


def test_no_stream_of_tokens_contains_memory() -> None:
    """Chat windows read those; streams of values contain it, as they contain all state."""
    graph = make_graph(AgentModel("Hello!"), storage_with(SECRET))

    assert "pewter" not in repr(list(graph.stream(INPUTS, IN_T1, stream_mode=["messages", "custom"])))


def test_without_memory_the_messages_stay_the_same() -> None:
    """Neither memory nor a system prompt is required."""
    state: Any = {"messages": [HumanMessage("Hi!")]}

    assert with_memory(state) == state["messages"]
    assert with_memory(state, "Be kind.") == [SystemMessage("Be kind."), *state["messages"]]


@pytest.mark.parametrize("storage", [CountingStorage(breaks=True), CountingStorage(hangs=True)])
def test_a_failing_memory_does_not_stop_a_graph(storage: CountingStorage) -> None:
    """Whether it fails or hangs."""
    state = make_graph(AgentModel("Hello!"), storage, wait_seconds=0.1).invoke(INPUTS, IN_T1)

    assert state["messages"][-1].text == "Hello!"
    storage.released.set()


def test_without_a_user_a_graph_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """Each node logs it."""
    invoker = RecordingInvoker()

    state = make_graph(AgentModel("Hello!"), storage_with(SECRET), invoker).invoke(
        INPUTS, {"configurable": {"thread_id": "t1"}}
    )

    assert state["messages"][-1].text == "Hello!"
    assert invoker.submitted == []
    assert "user_id" in caplog.text


def test_nodes_may_be_turned_off() -> None:
    """By configuration."""
    model = AgentModel("Hello!")
    storage = CountingStorage()
    node: Any = inject_memory(storage, settings=Settings(injection_enabled=False))
    builder = StateGraph(MemoryState)
    builder.add_node(node)
    builder.add_edge(START, "inject_memory")

    builder.compile().invoke(INPUTS, IN_T1)

    assert (storage.loads, model.systems) == (0, [])


def test_an_unanswered_message_is_not_submitted() -> None:
    """It is submitted with its answer."""
    invoker = RecordingInvoker()
    builder = StateGraph(MessagesState)
    builder.add_node(capture_memory("memory:", invoker=invoker, wait_seconds=60))  # type: ignore[arg-type]
    builder.add_edge(START, "capture_memory")

    builder.compile().invoke(INPUTS, IN_T1)

    assert invoker.submitted == []


def test_the_update_itself_may_be_the_last_node() -> None:
    """The conversation is learned by the end of the run, across an interrupt of the agent."""
    storage = open_storage("memory:")

    def answer(state: MemoryState) -> dict[str, Any]:
        return {"messages": [("ai", f"Hello {interrupt('Your name?')}!")]}

    builder = StateGraph(MessagesState, context_schema=dict)
    builder.add_node(inject_memory(storage, wait_seconds=60))
    builder.add_node(answer)
    builder.add_node(
        "memory_update",
        build_graph(model=ScriptedModel(update_answer(SECRET)), storage=storage, policy=TRUSTING),
    )
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "answer")
    builder.add_edge("answer", "memory_update")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke(INPUTS, thread, context={"user_id": "ada"})

    from langgraph.types import Command

    state = graph.invoke(Command(resume="Ada"), thread, context=Context(user_id="ada"))

    assert [fact.content for fact in storage.load(ADA).facts] == [SECRET]
    assert set(state) == {"messages"}
    assert "memory_update:call_model" in graph.get_graph(xray=True).nodes


class BusyState(MessagesState):
    """An agent with keys that are also called report, saved and outcome."""

    report: str
    saved: bool
    outcome: str


OWN_KEYS = {"report": "Q3 was good.", "saved": True, "outcome": "won"}


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "astream_events"])
def test_the_update_as_a_node_leaves_the_agents_own_keys(way: str) -> None:
    """Even those that are called like the results of the update."""
    storage = open_storage("memory:")
    builder = StateGraph(BusyState)
    builder.add_node(
        "memory_update",
        build_graph(model=ScriptedModel(update_answer(SECRET)), storage=storage, policy=TRUSTING),
    )
    builder.add_node("after", lambda state: {"messages": [("ai", "Done.")]})
    builder.add_edge(START, "memory_update")
    builder.add_edge("memory_update", "after")
    graph = builder.compile()
    inputs: Any = {"messages": [HumanMessage("I collect owls."), AIMessage("Nice!")], **OWN_KEYS}

    async def last_event() -> Any:
        return [event async for event in graph.astream_events(inputs, IN_T1, version="v2")][-1]["data"]["output"]

    if way == "invoke":
        state = graph.invoke(inputs, IN_T1)
    else:
        state = asyncio.run(last_event() if way == "astream_events" else graph.ainvoke(inputs, IN_T1))

    assert {key: state[key] for key in OWN_KEYS} == OWN_KEYS
    assert state["messages"][-1].text == "Done."
    assert [fact.content for fact in storage.load(ADA).facts] == [SECRET]


def test_the_update_as_a_node_returns_its_result_if_asked() -> None:
    """By the argument output."""
    learner = build_graph(
        model=ScriptedModel(update_answer(SECRET)), policy=TRUSTING, storage="memory:", output="result"
    )
    builder = StateGraph(BusyState)
    builder.add_node("memory_update", learner)
    builder.add_edge(START, "memory_update")

    state: Any = builder.compile().invoke({"messages": [HumanMessage("Hi!"), AIMessage("Hi!")], **OWN_KEYS}, IN_T1)

    assert state["outcome"] == "learned"


def test_a_function_in_a_node_gets_the_result_of_the_update() -> None:
    """It is a call like any other."""
    learner = build_graph(model=ScriptedModel(update_answer(SECRET)), policy=TRUSTING, storage="memory:")
    outcomes: list[str] = []

    def learn(state: MessagesState) -> None:
        outcomes.append(learner.invoke({"messages": state["messages"]})["outcome"])

    builder = StateGraph(MessagesState)
    builder.add_node(learn)
    builder.add_edge(START, "learn")

    builder.compile().invoke({"messages": [HumanMessage("Hi!"), AIMessage("Hi!")]}, IN_T1)

    assert outcomes == ["learned"]


@dataclasses.dataclass
class DataclassState:
    """A state with messages and memory."""

    messages: list[AnyMessage] = dataclasses.field(default_factory=list)
    memory_context: str = ""


class ModelState(BaseModel):
    """The same as a pydantic model."""

    messages: list[AnyMessage] = []
    memory_context: str = ""


@pytest.mark.parametrize("kind", [dict, DataclassState, ModelState])
def test_with_memory_takes_every_kind_of_state(kind: Any) -> None:
    """LangGraph allows a TypedDict, a dataclass or a pydantic model."""
    state = kind(messages=[HumanMessage("Hi!")], memory_context=f"<memory>{SECRET}</memory>")

    system, question = with_memory(state, "Be kind.")

    assert system == SystemMessage(f"Be kind.\n\n<memory>{SECRET}</memory>")
    assert question.text == "Hi!"
    assert [message.text for message in with_memory(kind(messages=[HumanMessage("Hi!")]))] == ["Hi!"]
    assert SECRET in answer_from_memory(kind(messages=[HumanMessage("Hi!")], memory_context=f"- {SECRET}")).text
