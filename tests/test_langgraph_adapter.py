"""What LangGraph, and LangGraph Server, find in our graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.runtime import ServerInfo

from memgraph import Context, IdentityError, build_graph, open_storage
from memgraph.recall_graph import build_recall_graph

THREAD: Any = {"configurable": {"thread_id": "t1"}}
ADA = Context(user_id="ada")


@pytest.fixture
def blocked() -> Iterator[list[str]]:
    """Types that a strict checkpointer would not read."""
    names: list[str] = []
    stop = register_serde_event_listener(lambda event: names.append(f"{event['module']}.{event['name']}"))
    yield names
    stop()


@pytest.mark.parametrize("build", [build_graph, build_recall_graph])
def test_a_copy_reads_its_own_checkpoints(build: Callable[..., Any], blocked: list[str]) -> None:
    """LangGraph Server copies a graph for every run, to put its checkpointer in."""
    graph = build(storage=open_storage("memory:")).copy(update={"checkpointer": InMemorySaver()})
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.", id="m1")]}, THREAD, context=ADA)

    graph.invoke({"messages": [HumanMessage("I work at Acme.", id="m2")]}, THREAD, context=ADA)
    list(graph.get_state_history(THREAD))

    assert not blocked


def test_a_misspelt_field_is_not_dropped_on_the_way() -> None:
    """LangGraph Server passes on what the form says it knows, so the form says it knows all but clients' own keys."""
    fields = (build_graph().get_context_jsonschema() or {})["properties"]

    assert "user_id" in fields
    assert "user_idd" in fields
    assert "__request" not in fields
    assert "user_idd" not in list(fields)


def test_a_node_does_not_touch_the_memory_of_another_than_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread's state says whose memory it is, and can be edited."""
    graph = build_graph(storage=open_storage("memory:"), checkpointer=InMemorySaver(), interrupt_before=["load_memory"])
    graph.invoke({"messages": [HumanMessage("I live in Lisbon.")]}, THREAD, context=ADA)
    eve: Any = type("Eve", (), {"identity": "eve", "is_authenticated": True})()
    server = ServerInfo(assistant_id="a", graph_id="g", user=eve)
    monkeypatch.setattr("langgraph.pregel.main._build_server_info", lambda *_: server)

    with pytest.raises(IdentityError, match="another user's memory"):
        graph.invoke(None, THREAD, context=Context())
