"""The four nodes of recall."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from update_values import ADA, fact, runtime

from memgraph import IdentityError, Memory, MemoryStorage, open_storage
from memgraph.nodes.recall import RecallContext, recall_fit, recall_load, recall_rank, recall_render
from memgraph.retrieval.recall import RecallPipeline
from memgraph.retrieval.results import RankedFact, RecallResult, ScoredFact, Selection
from memgraph.text.tokens import count_tokens

CHESS, TEA = fact("Plays chess", id="f1", source="t1"), fact("Likes green tea", id="f2", source="t2")
MEMORY = Memory(facts=(CHESS, TEA))
QUESTION: Any = [HumanMessage("What tea does she like?")]


def context(storage: MemoryStorage | None = None, pipeline: RecallPipeline | None = None, **fields: Any) -> Any:
    return Runtime(context=RecallContext(runtime(storage, **fields).context, pipeline or RecallPipeline()))


def test_the_memory_of_the_user_is_loaded() -> None:
    """Of the run's storage."""
    storage = open_storage("memory:")
    storage.save(ADA, MEMORY)

    assert recall_load({"messages": QUESTION}, context(storage)) == {"memory": storage.load(ADA)}


def test_a_disabled_memory_is_empty_and_needs_no_user() -> None:
    """Nothing is read."""
    assert recall_load({"messages": QUESTION}, context(enabled=False, user_id=None)) == {"memory": Memory()}


def test_a_user_has_to_be_named() -> None:
    """As for an update."""
    with pytest.raises(IdentityError, match="no user_id"):
        recall_load({"messages": QUESTION}, context(user_id=None))


def test_facts_are_ranked_best_first() -> None:
    """By id, with plain numbers, so that a client can edit the stage."""
    ranked = recall_rank({"messages": QUESTION, "memory": MEMORY}, context())["ranked"]

    assert [entry.id for entry in ranked] == ["f2", "f1"]
    assert [entry.similarity for entry in ranked] == [1.0, 0.0]
    assert ranked[0].score > ranked[1].score
    assert {type(entry.score) for entry in ranked} == {float}


def rank(*ids: str) -> list[RankedFact]:
    return [RankedFact(id=fact_id, score=0.5, similarity=0.25) for fact_id in ids]


def test_facts_are_selected_in_the_order_of_the_stage() -> None:
    """A client may have edited it; an id that does not exist is ignored."""
    chosen = recall_fit({"memory": MEMORY, "ranked": rank("f1", "f9", "f2")}, context())["chosen"]

    assert chosen.facts == tuple(ScoredFact(fact=known, score=0.5, similarity=0.25) for known in (CHESS, TEA))


def test_facts_beyond_the_budget_are_left_out() -> None:
    """The first ones of the stage stay."""
    small = context(pipeline=RecallPipeline(max_tokens=45))

    chosen = recall_fit({"memory": MEMORY, "ranked": rank("f2", "f1")}, small)["chosen"]

    assert [entry.fact.id for entry in chosen.facts] == ["f2"]


def test_the_block_is_rendered_with_its_tokens_and_facts() -> None:
    """What was selected, and nothing else."""
    chosen = Selection(summaries={}, facts=(ScoredFact(fact=TEA, score=0.5, similarity=1.0),))

    recalled = recall_render({"chosen": chosen})["recalled"]

    assert "Likes green tea" in recalled.text
    assert recalled == RecallResult(text=recalled.text, tokens=count_tokens(recalled.text), facts=chosen.facts)
