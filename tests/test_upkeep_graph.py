"""The upkeep of a memory, end to end, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest
from faulty_storage import MeddlingStorage, adding
from langchain_core.messages import BaseMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict
from update_values import contents, fact

from memgraph import (
    Context,
    MemoryClient,
    MemoryDocument,
    MemoryStorage,
    Policy,
    Scope,
    UnreadableAnswerError,
    build_upkeep_graph,
    open_storage,
)
from memgraph.models import PastFact, Section
from memgraph.state import UpkeepState
from memgraph.testing import ScriptedModel
from memgraph.update.call_model import call_model
from memgraph.update.graph import in_memory_saver
from memgraph.update.nodes import apply_update, review_changes, save_memory, scrub_uploads
from memgraph.update.upkeep import build_upkeep_prompt, find_candidates, load_upkeep, parse_upkeep

ADA = Scope("ada")
CONTEXT = Context(user_id="ada")
NODES = (
    load_upkeep, find_candidates, build_upkeep_prompt, call_model, parse_upkeep, apply_update, scrub_uploads,
    review_changes, save_memory,
)  # fmt: skip
NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
"""Facts of today are not stale, whenever the tests run."""
FACTS = (
    fact("Works at Acme.", id="a", created_at=NOW),
    fact("Works at Acme as a builder.", id="b", created_at=NOW),
    fact("Wants to sail to Malta.", id="c", category="goal", created_at="2024-01-01T00:00:00Z"),
)
MERGE = {"ids": ["a", "b"], "content": "Works at Acme as a builder."}
ANSWER = json.dumps({"merge": [MERGE], "end": ["c"]})
KEEP = json.dumps({"merge": [], "end": []})
FACTS_ONLY = Policy(summaries="update")
"""The upkeep asks about no summaries."""


def storage_with(*facts: Any, storage: MemoryStorage | None = None) -> MemoryStorage:
    storage = storage or open_storage("memory:")
    storage.save(ADA, MemoryDocument(facts=facts))
    return storage


# -- the shape ------------------------------------------------------------------------------------


def test_the_graph_is_the_nine_nodes_and_their_routes() -> None:
    """What is drawn is what runs."""
    drawn = build_upkeep_graph(model="offline", storage="memory:").get_graph()

    assert list(drawn.nodes) == ["__start__", *(node.__name__ for node in NODES), "__end__"]
    assert {(edge.source, edge.target) for edge in drawn.edges if edge.conditional} == {
        ("load_upkeep", "find_candidates"),
        ("load_upkeep", "apply_update"),
        ("load_upkeep", "__end__"),
        ("find_candidates", "build_upkeep_prompt"),
        ("find_candidates", "apply_update"),
        ("find_candidates", "__end__"),
        ("parse_upkeep", "call_model"),
        ("parse_upkeep", "apply_update"),
        ("scrub_uploads", "review_changes"),
        ("scrub_uploads", "save_memory"),
        ("review_changes", "apply_update"),
        ("review_changes", "save_memory"),
        ("save_memory", "load_upkeep"),
        ("save_memory", "__end__"),
    }


@pytest.mark.parametrize("node", NODES)
def test_no_node_takes_the_whole_state(node: Callable[..., Any]) -> None:
    """A signature that names everything says nothing."""
    (taken, *_) = get_type_hints(node).values()

    assert set(get_type_hints(UpkeepState)) - set(get_type_hints(taken))


def test_what_the_nodes_return_is_the_state() -> None:
    """Every key is written by a node, and none is written that is not declared."""
    returned = [set(get_type_hints(get_type_hints(node)["return"])) for node in NODES]

    assert set().union(*returned) == set(get_type_hints(UpkeepState))


# -- the straight line ----------------------------------------------------------------------------


def test_what_is_known_twice_is_merged_and_what_is_over_is_ended() -> None:
    """The main job: one call, one save."""
    storage, model = storage_with(*FACTS), ScriptedModel(ANSWER)

    state = build_upkeep_graph(model=model, storage=storage).invoke({}, context=CONTEXT)

    saved = storage.load(ADA)
    assert state["outcome"] == "learned"
    assert contents(saved) == ["Works at Acme as a builder."]
    assert [(past.id, past.reason, past.ended_by) for past in saved.past] == [
        ("b", "merged", "a"),
        ("c", "removed", ""),
    ]
    assert (state["report"].usage.calls, saved.revision) == (1, 2)


def test_progress_names_the_upkeep() -> None:
    """A client of a lead agent receives the events of the update and of the upkeep in one stream."""
    graph = build_upkeep_graph(model=ScriptedModel(ANSWER), storage=storage_with(*FACTS), policy=FACTS_ONLY)

    events = list(graph.stream({}, context=CONTEXT, stream_mode="custom"))

    assert events == [
        {"graph": "memory_upkeep", "node": "find_candidates", "candidates": 2, "facts": 3},
        {"graph": "memory_upkeep", "node": "save_memory", "facts": 1, "left": 0},
    ]


def test_what_was_asked_is_not_asked_again() -> None:
    """The model kept everything: that is noted, and the next upkeep calls no model and saves nothing."""
    storage, model = storage_with(*FACTS), ScriptedModel(KEEP)
    graph = build_upkeep_graph(model=model, storage=storage)

    outcomes = [graph.invoke({}, context=CONTEXT)["outcome"] for _ in range(2)]

    saved = storage.load(ADA)
    assert outcomes == ["nothing_new", "nothing_new"]
    assert (saved.facts, saved.revision, len(model.asked)) == (FACTS, 2, 1)


def test_without_candidates_no_model_is_called_and_nothing_is_saved() -> None:
    """An upkeep costs nothing if there is nothing to do."""
    storage, model = storage_with(FACTS[0]), ScriptedModel(ANSWER)

    state = build_upkeep_graph(model=model, storage=storage, policy=FACTS_ONLY).invoke({}, context=CONTEXT)

    assert (state["outcome"], len(model.asked), storage.load(ADA).revision) == ("nothing_new", 0, 1)


def test_what_has_expired_is_ended_without_a_model() -> None:
    """So is what is too much."""
    expired = fact("Has visitors.", id="v", valid_until="2025-01")
    storage, model = storage_with(FACTS[0], expired), ScriptedModel(ANSWER)

    state = build_upkeep_graph(model=model, storage=storage, policy=FACTS_ONLY).invoke({}, context=CONTEXT)

    saved = storage.load(ADA)
    assert (state["outcome"], len(model.asked)) == ("learned", 0)
    assert [(past.id, past.reason) for past in saved.past] == [("v", "expired")]
    assert saved.upkeep is not None
    assert saved.upkeep.revision == saved.revision


def outdated() -> tuple[MemoryStorage, MemoryDocument]:
    """Return a memory in which a sentence rests on a fact that has ended."""
    new = fact("Lives in Porto.", id="b", created_at=NOW)
    home = PastFact(
        id="a", content="Lives in Lisbon.", ended_at="2026-04-01T00:00:00Z", ended_by="b", reason="superseded"
    )
    section = Section(summary="Has two cats. Lives in Lisbon.", updated_at="2026-01-01T00:00:00Z")
    storage = open_storage("memory:")
    memory = MemoryDocument(facts=(new,), past=(home,)).with_section("personal_context", section)
    return storage, storage.save(ADA, memory)


def summary_after(model: Any, storage: MemoryStorage) -> tuple[str, Any]:
    state = build_upkeep_graph(model=model, storage=storage).invoke({}, context=CONTEXT)
    return storage.load(ADA).user.personal_context.summary, state


def test_an_outdated_summary_is_rewritten_from_the_facts() -> None:
    """What rests on nothing is left out of it, as in an update."""
    storage, _ = outdated()
    text = "Has two cats. Lives in Porto. Plays the Wurlitzer."
    model = ScriptedModel(json.dumps({"merge": [], "end": [], "summaries": {"personalContext": text}}))

    summary, state = summary_after(model, storage)

    assert summary.split(". ") == ["Has two cats", "Lives in Porto."]
    assert [refusal.item for refusal in state["report"].refused] == ["Plays the Wurlitzer."]
    assert summary_after(model, storage)[1]["outcome"] == "nothing_new"


def test_a_rewrite_that_loses_most_of_a_summary_is_held_back() -> None:
    storage, memory = outdated()
    model = ScriptedModel(json.dumps({"merge": [], "summaries": {"personalContext": "Lives in Porto."}}))

    summary, _ = summary_after(model, storage)

    assert summary == memory.user.personal_context.summary
    assert [held.summaries for held in storage.load(ADA).pending] == [{"personalContext": "Lives in Porto."}]


def test_summaries_left_to_the_upkeep_are_written_by_it() -> None:
    """From the facts, and again when more is learned."""
    storage, policy = storage_with(FACTS[0]), Policy(summaries="upkeep")
    model = ScriptedModel(json.dumps({"merge": [], "end": [], "summaries": {"workContext": "Works at Acme."}}), KEEP)
    graph = build_upkeep_graph(model=model, storage=storage, policy=policy)

    outcomes = [graph.invoke({}, context=CONTEXT)["outcome"] for _ in range(2)]

    saved = storage.load(ADA)
    assert (outcomes, saved.user.work_context.summary) == (["learned", "nothing_new"], "Works at Acme.")
    new = fact("Sails a Contessa.", id="n", created_at="2999-01-01T00:00:00Z")
    storage.save(ADA, saved.model_copy(update={"facts": (*saved.facts, new)}))
    graph.invoke({}, context=CONTEXT)
    assert "[n]" in model.asked[-1][-1].text


def test_the_offline_model_drops_the_outdated_sentence() -> None:
    storage, _ = outdated()

    assert summary_after(None, storage)[0] == "Has two cats."


def test_the_offline_model_needs_no_network() -> None:
    """The default merges what is beyond doubt."""
    storage = storage_with(fact("Has 2 cats.", id="a"), fact("has 2 cats", id="b"))

    build_upkeep_graph(storage=storage).invoke({}, context=CONTEXT)

    assert contents(storage.load(ADA)) == ["Has 2 cats."]


def test_an_unreadable_answer_is_asked_for_again_once() -> None:
    """With the problem; the second one changes nothing."""
    storage = storage_with(*FACTS)
    model = ScriptedModel("I merged them!", ANSWER)
    build_upkeep_graph(model=model, storage=storage).invoke({}, context=CONTEXT)
    assert "merge and end" in str(model.asked[1][-1].content)
    assert contents(storage.load(ADA)) == ["Works at Acme as a builder."]

    storage = storage_with(*FACTS)
    with pytest.raises(UnreadableAnswerError):
        build_upkeep_graph(model=ScriptedModel("?"), storage=storage).invoke({}, context=CONTEXT)
    assert storage.load(ADA).facts == FACTS


# -- races ----------------------------------------------------------------------------------------


def test_an_upkeep_that_lost_a_race_applies_its_changes_again() -> None:
    """The model is not asked again if the facts are the same."""
    model = ScriptedModel(ANSWER)
    storage = MeddlingStorage()
    storage_with(*FACTS, storage=storage)
    storage.acts.append(adding("Has a dog."))

    build_upkeep_graph(model=model, storage=storage).invoke({}, context=CONTEXT)

    assert contents(storage.load(ADA)) == ["Works at Acme as a builder.", "Has a dog."]
    assert len(model.asked) == 1


# -- review ---------------------------------------------------------------------------------------


def review(storage: MemoryStorage, removal: str, merge: str) -> dict[str, Any]:
    graph = build_upkeep_graph(
        model=ScriptedModel(ANSWER),
        storage=storage,
        review="corrections",
        review_by="interrupt",
        checkpointer=in_memory_saver(),
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    asked = graph.invoke({}, config, context=CONTEXT)
    (interrupt,) = asked["__interrupt__"]
    first, second = interrupt.value["changes"]
    assert (first["removes"], [fact["id"] for fact in second["facts"]]) == (["c"], ["a"])
    decision = {"changes": {first["id"]: removal, second["id"]: merge}}
    return graph.invoke(Command(resume=decision), config, context=CONTEXT)


def test_a_person_decides_about_each_change() -> None:
    """As about an update."""
    storage = storage_with(*FACTS)

    state = review(storage, removal="reject", merge="accept")

    assert contents(storage.load(ADA)) == ["Wants to sail to Malta.", "Works at Acme as a builder."]
    assert [(refusal.item, refusal.reason) for refusal in state["report"].refused] == [
        ("Wants to sail to Malta.", "rejected in review")
    ]


def test_what_a_person_rejected_is_not_proposed_again() -> None:
    """The questions are noted with the decision."""
    storage = storage_with(*FACTS)

    state = review(storage, removal="reject", merge="reject")

    model = ScriptedModel(ANSWER)
    build_upkeep_graph(model=model, storage=storage).invoke({}, context=CONTEXT)
    assert (state["outcome"], storage.load(ADA).facts, len(model.asked)) == ("rejected", FACTS, 0)


def test_what_needs_a_review_waits_and_is_not_asked_about_again() -> None:
    """A merge is a fact that replaces the others."""
    storage, model = storage_with(*FACTS), ScriptedModel(ANSWER)
    graph = build_upkeep_graph(model=model, storage=storage, review="corrections")

    graph.invoke({}, context=CONTEXT)
    graph.invoke({}, context=CONTEXT)

    removal, merge = storage.load(ADA).pending
    assert (removal.removes, [fact.content for fact in merge.facts]) == (("c",), ["Works at Acme as a builder."])
    assert (storage.load(ADA).facts, len(model.asked)) == (FACTS, 1)


def test_an_accepted_merge_ends_what_it_merged() -> None:
    storage = storage_with(*FACTS)
    build_upkeep_graph(model=ScriptedModel(ANSWER), storage=storage, review="corrections").invoke({}, context=CONTEXT)
    merge = storage.load(ADA).pending[-1]

    MemoryClient(storage, user_id="ada").decide(merge.id, "accept")
    memory = storage.load(ADA)

    assert contents(memory) == ["Wants to sail to Malta.", "Works at Acme as a builder."]
    assert [fact.reason for fact in memory.past] == ["merged"]


# -- inside another graph -------------------------------------------------------------------------


class Parent(TypedDict):
    memory: str


def test_as_a_node_it_changes_no_key_of_its_parent() -> None:
    """A graph of one's own may tidy the memory after a conversation."""
    storage = storage_with(*FACTS)
    builder: Any = StateGraph(Parent, context_schema=Context)
    builder.add_node("upkeep", build_upkeep_graph(model=ScriptedModel(ANSWER), storage=storage))
    builder.add_edge(START, "upkeep")

    state = builder.compile().invoke({"memory": "mine"}, context=CONTEXT)

    assert state == {"memory": "mine"}
    assert len(storage.load(ADA).facts) == 1


def test_the_limits_are_those_of_the_run() -> None:
    """A policy in the context overrides the graph's."""
    storage, model = storage_with(FACTS[2]), ScriptedModel(ANSWER)
    graph = build_upkeep_graph(model=model, storage=storage)

    graph.invoke({}, context=Context(user_id="ada", policy=Policy(summaries="update", stale_days={"goal": 36_000})))

    assert len(model.asked) == 0


def test_the_prompt_is_sent_with_its_examples() -> None:
    """Rules, two examples, and the facts."""
    model = ScriptedModel(KEEP)

    build_upkeep_graph(model=model, storage=storage_with(*FACTS)).invoke({}, context=CONTEXT)

    messages: Sequence[BaseMessage] = model.asked[0]
    assert [message.type for message in messages] == ["system", "human", "ai", "human", "ai", "human"]
