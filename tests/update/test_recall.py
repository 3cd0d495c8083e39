"""The four nodes of recall."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from update_values import ADA, fact, runtime

from memgraph import IdentityError, MemoryDocument, MemoryStorage, Policy, open_storage
from memgraph.analysis.tokens import count_tokens
from memgraph.models import Episode
from memgraph.recall_graph import RecallNodes
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.query import build_query
from memgraph.retrieval.results import Ranked, RankedItem, RecallResult, ScoredEpisode, ScoredFact, Selection

CHESS, TEA = fact("Plays chess", id="f1", source="t1"), fact("Likes green tea", id="f2", source="t2")
MEMORY = MemoryDocument(facts=(CHESS, TEA))
QUESTION: Any = [HumanMessage("What tea does she like?")]


NODES = RecallNodes(RecallPipeline())


def test_the_memory_of_the_user_is_loaded() -> None:
    """Of the run's storage."""
    storage = open_storage("memory:")
    storage.save(ADA, MEMORY)

    assert NODES.load({"messages": QUESTION}, runtime(storage)) == {"memory": storage.load(ADA)}


def test_a_disabled_memory_is_empty_and_needs_no_user() -> None:
    """Nothing is read."""
    assert NODES.load({"messages": QUESTION}, runtime(enabled=False, user_id=None)) == {"memory": MemoryDocument()}


def test_a_user_has_to_be_named() -> None:
    """As for an update."""
    with pytest.raises(IdentityError, match="no user_id"):
        NODES.load({"messages": QUESTION}, runtime(user_id=None))


def test_facts_are_ranked_best_first() -> None:
    """By id, with plain numbers, so that a client can edit the stage."""
    ranked = NODES.rank({"messages": QUESTION, "memory": MEMORY}, runtime())["ranked"]

    assert [entry.id for entry in ranked.facts] == ["f2", "f1"]
    assert [entry.similarity for entry in ranked.facts] == [1.0, 0.0]
    assert ranked.facts[0].score > ranked.facts[1].score
    assert {type(entry.score) for entry in ranked.facts} == {float}


def talkative_storage(count: int) -> MemoryStorage:
    storage = open_storage("memory:")
    said = (Episode(id=f"e{number}", thread_id="t", text=f"tea number {number}") for number in range(count))
    storage.append_episodes(ADA, tuple(said), Policy())
    return storage


def test_as_many_episodes_are_ranked_as_could_fit() -> None:
    """Not thousands, each of which a checkpointer would store."""
    small = RecallNodes(RecallPipeline(max_tokens=90))

    ranked = small.rank({"messages": QUESTION, "memory": MEMORY}, runtime(talkative_storage(100)))["ranked"]

    assert len(ranked.episodes) == 30


def test_of_a_disabled_memory_no_episode_is_read() -> None:
    off = runtime(talkative_storage(1), enabled=False, user_id=None)

    assert NODES.rank({"messages": QUESTION, "memory": MemoryDocument()}, off)["ranked"] == Ranked(answered=0.0)


def rank(*ids: str) -> Ranked:
    return Ranked(facts=tuple(RankedItem(id=fact_id, score=0.5, similarity=0.25) for fact_id in ids))


def fit_input(ranked: Ranked) -> Any:
    return {"query": build_query(QUESTION), "memory": MEMORY, "ranked": ranked}


def test_facts_are_selected_in_the_order_of_the_stage() -> None:
    """A client may have edited it; an id that does not exist is ignored."""
    chosen = NODES.fit(fit_input(rank("f1", "f9", "f2")), runtime())["chosen"]

    assert chosen.facts == (
        ScoredFact(fact=CHESS, position=0, score=0.5, similarity=0.25),
        ScoredFact(fact=TEA, position=1, score=0.5, similarity=0.25, matched=("likes", "tea")),
    )


def test_episodes_are_selected_by_their_ids() -> None:
    ranked = Ranked(episodes=tuple(RankedItem(id=name, score=0.5, similarity=0.5) for name in ("e7", "gone")))

    chosen = NODES.fit(fit_input(ranked), runtime(talkative_storage(9)))["chosen"]

    assert [(entry.episode.id, entry.position, entry.matched) for entry in chosen.episodes] == [("e7", 7, ("tea",))]


def test_facts_beyond_the_budget_are_left_out() -> None:
    """Those that score less."""
    small, by_id = RecallNodes(RecallPipeline(max_tokens=42)), {"f2": 0.9, "f1": 0.4}
    items = tuple(RankedItem(id=fact_id, score=score, similarity=score) for fact_id, score in by_id.items())

    chosen = small.fit(fit_input(Ranked(facts=items)), runtime())["chosen"]

    assert [entry.fact.id for entry in chosen.facts] == ["f2"]


def test_the_block_is_rendered_with_its_tokens_and_facts() -> None:
    """What was selected, and nothing else."""
    said = Episode(id="e1", text="Tea, please", at="2026-05-03T23:30:00Z")
    chosen = Selection(
        facts=(ScoredFact(fact=TEA, score=0.5, similarity=1.0),),
        episodes=(ScoredEpisode(episode=said, score=0.5, similarity=1.0),),
        today="2026-05-05",
    )

    recalled = NODES.render({"chosen": chosen}, runtime(timezone="Asia/Tokyo"))["recalled"]

    assert "Today is 2026-05-05.\n" in recalled.text
    assert "- Likes green tea" in recalled.text
    assert "In the user's words:\n2026-05-04:\n- Tea, please\n" in recalled.text
    assert recalled == RecallResult(
        text=recalled.text, tokens=count_tokens(recalled.text), facts=chosen.facts, episodes=chosen.episodes
    )


def test_lines_of_one_day_are_read_in_the_order_of_the_memory() -> None:
    """Not the best first."""
    entries = (ScoredFact(fact=TEA, position=1, score=1, similarity=1), ScoredFact(fact=CHESS, score=0, similarity=0))

    text = NODES.render({"chosen": Selection(facts=entries, today="2026-05-05")}, runtime())["recalled"].text

    assert text.index("Plays chess") < text.index("Likes green tea")
