"""Recall as a graph."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from memgraph import Context, Fact, MemoryDocument, Policy, Scope, open_storage, recall
from memgraph.analysis.tokens import count_tokens
from memgraph.errors import IdentityError
from memgraph.models import Episode, StoredProfile
from memgraph.recall_graph import RecallGraph, build_recall_graph
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.state import RecallState

ADA = Context(user_id="ada")
ASKED: Any = {"messages": [HumanMessage("What tea does she like?")]}
STEPS = ["recall_load", "recall_rank", "recall_fit", "recall_render"]


@pytest.fixture
def memory(tmp_path: Path) -> MemoryDocument:
    facts = (Fact(content="Plays chess", confidence=0.7), Fact(content="Likes green tea", confidence=0.7))
    memory = MemoryDocument.model_validate({"user": {"topOfMind": "A tea shop."}}).with_facts(facts)
    return open_storage(f"file:{tmp_path}").save(Scope("ada"), memory)


@pytest.fixture
def graph(tmp_path: Path, memory: MemoryDocument) -> RecallGraph:
    return build_recall_graph(storage=f"file:{tmp_path}")


def test_it_says_what_recall_says(graph: RecallGraph, memory: MemoryDocument) -> None:
    recalled = graph.invoke(ASKED, context=ADA)["recalled"]

    assert recalled.text == recall(memory, ASKED["messages"])
    assert recalled.tokens == count_tokens(recalled.text)


def test_the_profile_is_shown_as_recall_shows_it(tmp_path: Path, graph: RecallGraph, memory: MemoryDocument) -> None:
    known = memory.model_copy(update={"profile": StoredProfile(values={"city": "Lisbon"})})
    open_storage(f"file:{tmp_path}").save(Scope("ada"), known)

    recalled = graph.invoke(ASKED, context=ADA)["recalled"]

    assert "Lisbon" in recalled.text
    assert recalled.text == recall(known, ASKED["messages"])


def test_it_tells_which_facts_got_in_and_how_they_scored(graph: RecallGraph) -> None:
    recalled = graph.invoke(ASKED, context=ADA)["recalled"]

    assert [entry.fact.content for entry in recalled.facts] == ["Likes green tea", "Plays chess"]
    assert [entry.similarity for entry in recalled.facts] == [1, 0]


def test_it_tells_what_the_user_said_and_why(tmp_path: Path, graph: RecallGraph, memory: MemoryDocument) -> None:
    said = (Episode(id="e1", thread_id="t", text="That tea from Uji was lovely.", at="2026-05-03T10:00:00Z"),)
    open_storage(f"file:{tmp_path}").append_episodes(Scope("ada"), said, Policy())

    recalled = graph.invoke(ASKED, context=ADA)["recalled"]

    assert [(entry.episode, entry.matched) for entry in recalled.episodes] == [(said[0], ("tea",))]
    assert recalled.episodes[0].similarity > 0
    assert recalled.text == recall(memory, ASKED["messages"], episodes=said)
    assert "2026-05-03:\n- That tea from Uji was lovely." in recalled.text


def shown_days(graph: RecallGraph, **context: Any) -> list[str]:
    """The days in the recalled text."""
    text = graph.invoke(ASKED, context=Context(user_id="ada", **context))["recalled"].text
    return [line for line in text.splitlines() if line.startswith("2026-")]


@pytest.fixture
def late(memory: MemoryDocument, tmp_path: Path) -> None:
    """Something that was said shortly before midnight in UTC."""
    said = (Episode(id="e1", thread_id="t", text="That tea from Uji was lovely.", at="2026-05-03T23:30:00Z"),)
    open_storage(f"file:{tmp_path}").append_episodes(Scope("ada"), said, Policy())


@pytest.mark.usefixtures("late")
def test_days_are_those_of_the_time_zone_of_the_run(graph: RecallGraph) -> None:
    """Users of one graph live in different places."""
    assert shown_days(graph) == ["2026-05-03:"]
    assert shown_days(graph, timezone="Asia/Tokyo") == ["2026-05-04:"]


@pytest.mark.usefixtures("late")
def test_a_run_that_names_no_time_zone_has_that_of_the_pipeline(tmp_path: Path) -> None:
    """Unless the defaults name one."""
    tokyo = RecallPipeline(timezone="Asia/Tokyo")
    graph = build_recall_graph(storage=f"file:{tmp_path}", pipeline=tokyo)
    elsewhere = build_recall_graph(storage=f"file:{tmp_path}", pipeline=tokyo, defaults=Context(timezone="UTC"))

    assert shown_days(graph) == ["2026-05-04:"]
    assert shown_days(graph, timezone="UTC") == shown_days(elsewhere) == ["2026-05-03:"]


@pytest.mark.usefixtures("memory")
def test_memory_is_indexed_once_in_a_run(tmp_path: Path) -> None:
    """Ranking and fitting share the index of the facts and that of the episodes."""
    pipeline = RecallPipeline()

    build_recall_graph(storage=f"file:{tmp_path}", pipeline=pipeline).invoke(ASKED, context=ADA)

    assert len(pipeline.cache) == 2


def test_the_query_is_a_stage(graph: RecallGraph) -> None:
    """It is built once, and a client sees what the memory was compared with."""
    stages = {name: update for step in graph.stream(ASKED, context=ADA) for name, update in step.items()}

    assert stages["recall_rank"]["query"].parts == (("What tea does she like?", 1.0),)
    assert stages["recall_fit"]["chosen"].today == stages["recall_rank"]["query"].today


def test_each_step_can_be_streamed(graph: RecallGraph) -> None:
    steps = [name for update in graph.stream(ASKED, context=ADA, stream_mode="updates") for name in update]

    assert steps == STEPS


def test_it_runs_on_an_event_loop_too(graph: RecallGraph) -> None:
    assert asyncio.run(graph.ainvoke(ASKED, context=ADA)) == graph.invoke(ASKED, context=ADA)


def test_it_draws_as_it_reads(graph: RecallGraph) -> None:
    assert list(graph.get_graph().nodes) == ["__start__", *STEPS, "__end__"]


def test_the_recaller_limits_what_is_said(tmp_path: Path, memory: MemoryDocument) -> None:
    graph = build_recall_graph(storage=f"file:{tmp_path}", pipeline=RecallPipeline(max_tokens=45))

    recalled = graph.invoke(ASKED, context=ADA)["recalled"]

    assert recalled.tokens <= 45
    assert [entry.fact.content for entry in recalled.facts] == ["Likes green tea"]


def test_whose_memory_it_is_must_be_said(graph: RecallGraph) -> None:
    with pytest.raises(IdentityError, match="user_id"):
        graph.invoke(ASKED)


def test_an_unknown_user_gets_nothing(graph: RecallGraph) -> None:
    recalled = graph.invoke(ASKED, context=Context(user_id="bob"))["recalled"]

    assert (recalled.text, recalled.tokens, recalled.facts) == ("", 0, ())


def test_switched_off_it_says_nothing(graph: RecallGraph) -> None:
    context = Context(user_id="ada", enabled=False)

    assert graph.invoke(ASKED, context=context)["recalled"].text == ""


def test_a_client_may_change_the_order_between_rank_and_fit(tmp_path: Path, memory: MemoryDocument) -> None:
    """In Studio a stage is edited as JSON, and the run goes on from there."""
    graph = build_recall_graph(storage=f"file:{tmp_path}", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASKED, config, context=ADA, interrupt_before=["recall_fit"])
    ranked = graph.get_state(config).values["ranked"].model_dump(mode="json")["facts"]
    edited = [*reversed(ranked), {"id": "gone", "score": 1, "similarity": 1}]

    graph.update_state(config, {"ranked": {"facts": edited}})
    recalled = graph.invoke(None, config, context=ADA)["recalled"]

    assert [entry.fact.content for entry in recalled.facts] == ["Plays chess", "Likes green tea"]


def test_a_second_run_on_a_thread_starts_afresh(tmp_path: Path, memory: MemoryDocument) -> None:
    graph = build_recall_graph(storage=f"file:{tmp_path}", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASKED, config, context=ADA)

    again = graph.invoke({"messages": [HumanMessage("chess?")]}, config, context=ADA)["recalled"]

    assert again.facts[0].fact.content == "Plays chess"


def test_inside_another_graph_it_touches_no_key_of_its_parent(graph: RecallGraph) -> None:
    class Parent(MessagesState):
        memory: str
        ranked: str

    parent = StateGraph(Parent)
    parent.add_node("recall", graph)
    parent.add_edge(START, "recall")

    after = parent.compile().invoke({**ASKED, "memory": "mine", "ranked": "mine"}, {"configurable": {"user_id": "ada"}})

    assert (after["memory"], after["ranked"], len(after["messages"])) == ("mine", "mine", 1)


def test_a_parent_that_wants_it_gets_what_was_recalled(graph: RecallGraph) -> None:
    class Parent(MessagesState):
        recalled: Any

    parent = StateGraph(Parent)
    parent.add_node("recall", graph)
    parent.add_edge(START, "recall")

    after = parent.compile().invoke(ASKED, {"configurable": {"user_id": "ada"}})

    assert "Likes green tea" in after["recalled"].text


def test_inside_another_graph_an_error_costs_only_what_would_have_been_told(
    tmp_path: Path, memory: MemoryDocument, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent answers without; and what an earlier turn recalled is not taken for this one's."""

    class Parent(MessagesState):
        recalled: Any

    parent = StateGraph(Parent)
    parent.add_node("recall", build_recall_graph(storage=f"file:{tmp_path}"))
    parent.add_edge(START, "recall")
    agent = parent.compile(checkpointer=InMemorySaver())
    agent.invoke(ASKED, {"configurable": {"user_id": "ada", "thread_id": "t"}})

    after = agent.invoke(ASKED, {"configurable": {"user_id": "a\nb", "thread_id": "t"}})

    assert after["recalled"].text == ""
    assert "memory of an unknown user was not recalled: recall_load failed" in caplog.text


def test_no_step_sees_more_than_it_names(graph: RecallGraph) -> None:
    """The data flow can be read from the signatures alone."""
    seen = {name: set(node.channels) for name, node in graph.nodes.items() if name in STEPS}

    assert seen["recall_fit"] == {"query", "memory", "ranked"}
    assert seen["recall_render"] == {"chosen"}
    assert not any(keys >= RecallState.__annotations__.keys() for keys in seen.values())


def test_the_server_finds_it() -> None:
    root = Path(__file__).parents[2]
    graphs = json.loads((root / "langgraph.json").read_text())["graphs"]

    path, _, name = graphs["memory_recall"]["path"].partition(":")

    assert f"from memgraph.graphs.memory_recall import {name}\n" in (root / path).read_text()
