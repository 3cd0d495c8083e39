"""How far an update is, told in counts."""

from __future__ import annotations

from langchain_core.messages import HumanMessage

from memgraph import Context, Policy, build_graph, open_storage

LONG = " and it rains there in winter, as it does in many places by the sea" * 30


def test_it_is_told_pass_by_pass_without_a_word_of_anybodys() -> None:
    """A long conversation is learned from in several passes, and a progress bar wants to know what is left."""
    graph = build_graph(storage=open_storage("memory:"), policy=Policy(batch_tokens=500, max_turn_chars=10_000))
    messages = [HumanMessage(f"I live in {place}{LONG}.", id=place) for place in ("Lisbon", "Porto")]

    told = list(graph.stream({"messages": messages}, context=Context(user_id="ada"), stream_mode="custom"))

    assert [(event["node"], event.get("turns"), event["left"]) for event in told] == [
        ("build_prompt", 1, 1),
        ("save_memory", None, 1),
        ("build_prompt", 1, 0),
        ("save_memory", None, 0),
    ]
    assert {type(value) for event in told for key, value in event.items() if key not in {"graph", "node"}} == {int}
