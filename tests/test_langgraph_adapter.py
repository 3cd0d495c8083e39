"""Contracts with LangGraph's internals: if one of these fails, LangGraph has changed what the adapter relies on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.errors import NodeError
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime, ServerInfo
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from memgraph import Context, IdentityError, MemoryDocument, Policy, build_graph, open_storage
from memgraph.langgraph_adapter import ValidatedValue, has_checkpointer, is_subgraph, sync_async_node
from memgraph.recall_graph import build_recall_graph
from memgraph.update.graph import in_memory_saver

THREAD: Any = {"configurable": {"thread_id": "t1"}}
ADA = Context(user_id="ada")


@pytest.fixture
def blocked() -> Iterator[list[str]]:
    """Types that a strict checkpointer refused to load."""
    names: list[str] = []
    stop = register_serde_event_listener(lambda event: names.append(f"{event['module']}.{event['name']}"))
    yield names
    stop()


@pytest.mark.parametrize("build", [build_graph, build_recall_graph])
def test_a_copy_reads_its_own_checkpoints(build: Callable[..., Any], blocked: list[str]) -> None:
    """LangGraph Server copies a graph for every run, to set its checkpointer."""
    graph = build(storage=open_storage("memory:")).copy(update={"checkpointer": InMemorySaver()})
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.", id="m1")]}, THREAD, context=ADA)

    graph.invoke({"messages": [HumanMessage("I work at Acme.", id="m2")]}, THREAD, context=ADA)
    list(graph.get_state_history(THREAD))

    assert not blocked


def test_a_misspelt_context_key_is_not_dropped() -> None:
    """LangGraph Server drops the keys that the schema does not contain, so it contains all but clients' own keys."""
    fields = (build_graph().get_context_jsonschema() or {})["properties"]

    assert "user_id" in fields
    assert "user_idd" in fields
    assert "__request" not in fields
    assert "user_idd" not in list(fields)


def test_a_node_refuses_the_memory_of_another_user_than_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner is in the state of the thread, which can be edited."""
    graph = build_graph(storage=open_storage("memory:"), checkpointer=InMemorySaver(), interrupt_before=["load_memory"])
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.")]}, THREAD, context=ADA)
    eve: Any = type("Eve", (), {"identity": "eve", "is_authenticated": True})()
    server = ServerInfo(assistant_id="a", graph_id="g", user=eve)
    monkeypatch.setattr("langgraph.pregel.main._build_server_info", lambda *_: server)

    with pytest.raises(IdentityError, match="another user's memory"):
        graph.invoke(None, THREAD, context=Context())


# -- state keys that are validated ----------------------------------------------------------------


class Point(BaseModel):
    x: int


class PointState(TypedDict):
    points: Annotated[tuple[Point, ...], ValidatedValue]


def points_graph() -> Any:
    """A graph of one node that returns the state, to be stopped before it."""
    graph = StateGraph(PointState)
    graph.add_node("keep", lambda _: {"points": [{"x": "3"}]})
    graph.add_edge(START, "keep")
    return graph.compile(checkpointer=InMemorySaver(), interrupt_before=["keep"])


def test_plain_json_becomes_the_declared_type() -> None:
    """From the input, from an edit of the state, and from a node."""
    graph = points_graph()

    graph.invoke({"points": [{"x": 1}]}, THREAD)
    before = graph.get_state(THREAD).values
    graph.update_state(THREAD, {"points": [{"x": 2}]})
    edited = graph.get_state(THREAD).values
    after = graph.invoke(None, THREAD)

    assert [state["points"] for state in (before, edited, after)] == [(Point(x=1),), (Point(x=2),), (Point(x=3),)]


def test_a_value_of_another_type_is_an_error() -> None:
    """Where it is written, not where it is used."""
    with pytest.raises(ValidationError, match="x"):
        points_graph().invoke({"points": [{"x": "many"}]}, THREAD)


def test_a_checkpoint_is_restored_with_the_declared_type() -> None:
    """A checkpoint turns a tuple into a list, and a strict one turns a model into a dict."""
    channel = ValidatedValue(tuple[Point, ...], "points")

    assert channel.from_checkpoint([{"x": 1}]).get() == (Point(x=1),)


def test_an_empty_channel_is_restored_empty() -> None:
    """A stage that was not written yet has no value to validate."""
    channel = ValidatedValue(tuple[Point, ...], "points")

    assert not channel.from_checkpoint(channel.checkpoint()).is_available()


# -- nodes ----------------------------------------------------------------------------------------


def test_a_node_of_two_functions_runs_the_one_that_fits() -> None:
    """With its runtime, which LangGraph gives to neither."""

    def sync_node(_: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"points": ({"x": runtime.context["x"]},)}

    async def async_node(_: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"points": ({"x": runtime.context["x"] + 1},)}

    graph = StateGraph(PointState, context_schema=dict)
    graph.add_node("point", sync_async_node(sync_node, async_node), input_schema=PointState)
    graph.add_edge(START, "point")
    compiled = graph.compile()

    assert compiled.invoke({"points": ()}, context={"x": 1})["points"] == (Point(x=1),)
    assert asyncio.run(compiled.ainvoke({"points": ()}, context={"x": 1}))["points"] == (Point(x=2),)


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
def test_an_error_handler_knows_whether_its_graph_is_inside_another(checkpointer: InMemorySaver | None) -> None:
    """By the namespace, which has one part more for each graph around it."""
    seen: list[bool] = []

    def fail(_: PointState) -> None:
        raise OSError

    def handle(_: PointState, error: NodeError) -> dict[str, Any]:
        seen.append(is_subgraph())
        return {}

    inner = StateGraph(PointState)
    inner.set_node_defaults(error_handler=handle)
    inner.add_node("fail", fail)
    inner.add_edge(START, "fail")
    root = inner.compile()
    outer = StateGraph(PointState)
    outer.add_node("inner", root)
    outer.add_edge(START, "inner")

    root.copy({"checkpointer": checkpointer}).invoke({"points": ()}, THREAD)
    outer.compile(checkpointer=checkpointer).invoke({"points": ()}, THREAD)

    assert seen == [False, True]


@pytest.mark.parametrize(("checkpointer", "expected"), [(None, False), (InMemorySaver(), True)])
def test_a_node_knows_whether_its_run_has_a_checkpointer(checkpointer: Any, expected: bool) -> None:  # noqa: FBT001
    """An interrupt without one ends the run; with one it can be resumed."""
    seen: list[bool] = []

    def ask(_: PointState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(has_checkpointer(config))
        return {"points": [{"x": interrupt("x?")}]} if seen[-1] else {}

    graph = StateGraph(PointState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    compiled = graph.compile(checkpointer=checkpointer)
    compiled.invoke({"points": ()}, THREAD)

    assert set(seen) == {expected}
    if expected:
        assert compiled.invoke(Command(resume=7), THREAD)["points"] == (Point(x=7),)


def test_progress_is_streamed_in_counts_without_user_text() -> None:
    """A long conversation is learned in several passes, and a progress bar shows what is left."""
    long = " and it rains there in winter, as it does in many places by the sea" * 30
    graph = build_graph(storage=open_storage("memory:"), policy=Policy(batch_tokens=500, max_turn_chars=10_000))
    messages = [HumanMessage(f"I live in {city}{long}.", id=city) for city in ("Lisbon", "Porto")]

    events = list(graph.stream({"messages": messages}, context=ADA, stream_mode="custom"))

    assert [(event["node"], event.get("turns"), event["left"]) for event in events] == [
        ("build_prompt", 1, 1),
        ("save_memory", None, 1),
        ("build_prompt", 1, 0),
        ("save_memory", None, 0),
    ]
    assert {event["graph"] for event in events} == {"memory_update"}
    assert {type(value) for event in events for key, value in event.items() if key not in {"graph", "node"}} == {int}


# -- compiled graphs ------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [build_graph, build_recall_graph])
def test_the_error_handler_is_not_drawn(build: Callable[..., Any]) -> None:
    """LangGraph adds it as a node."""
    graph = build()

    for drawing in (graph.get_graph(), asyncio.run(graph.aget_graph())):
        assert not [name for name in drawing.nodes if "error_handler" in name]


def test_the_in_memory_checkpointer_loads_every_type_of_the_state(blocked: list[str]) -> None:
    """Without a warning for each."""
    graph = build_graph(storage=open_storage("memory:"), checkpointer=in_memory_saver())
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.", id="m1")]}, THREAD, context=ADA)

    assert graph.get_state(THREAD).values["memory"].facts
    assert not blocked


@pytest.mark.parametrize(
    "edit",
    [
        {"revision": 1e30},
        {"extra": [{"n": -(10**30)}]},
        {"extra": functools.reduce(lambda inner, _: [inner], range(200), [])},
    ],
    ids=["integer", "integer in an unknown key", "depth"],
)
def test_an_edit_that_cannot_be_serialized_is_rejected(edit: dict[str, Any]) -> None:
    """A checkpoint with it could not be read any more."""
    channel = ValidatedValue(MemoryDocument, "memory")

    with pytest.raises(ValueError, match=r"64 bits|levels"):
        channel.update([edit])

    assert not channel.is_available()
