"""Facts indexed for recall: what holds for every ranker, and the lines of facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from memgraph import Fact, IndexCache, MemoryDocument, ScoredFact, rank_facts, recall
from memgraph.analysis.areas import AREAS
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import Evidence
from memgraph.retrieval.lexical import LexicalIndex
from memgraph.retrieval.memory_index import GUARANTEED_CATEGORIES, AreaIndex, FactIndex, best_first, scale_to_best
from memgraph.retrieval.query import Document, build_query
from memgraph.retrieval.rankers import RANKERS, get_ranker

Rank = Callable[..., list[ScoredFact]]
FACTS = [
    Fact(content="Uses Docker for containerization", confidence=0.95),
    Fact(content="Prefers pytest for testing", confidence=0.9),
    Fact(content="Has a cat named Dumpling", confidence=0.8),
]


@pytest.fixture(params=sorted(RANKERS))
def rank(request: pytest.FixtureRequest, letters: Embeddings) -> Rank:
    def call(facts: list[Fact], query: str, **options: float) -> list[ScoredFact]:
        return rank_facts(facts, query, ranker=request.param, embeddings=letters, **options)

    return call


def contents(ranked: list[ScoredFact]) -> list[str]:
    return [entry.fact.content for entry in ranked]


# -- every ranker ---------------------------------------------------------------------------------


def test_what_was_asked_for_comes_first(rank: Rank) -> None:
    assert contents(rank(FACTS, "Which cat named Dumpling?"))[0] == "Has a cat named Dumpling"


def test_every_fact_is_ranked_once(rank: Rank) -> None:
    assert sorted(contents(rank(FACTS, "pytest"))) == sorted(fact.content for fact in FACTS)


def test_scores_fall_and_stay_between_0_and_1(rank: Rank) -> None:
    scores = [entry.score for entry in rank(FACTS, "pytest for cats", similarity_weight=0.6, confidence_weight=0.4)]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_the_best_match_has_similarity_1(rank: Rank) -> None:
    """Similarity is scaled within the memory, so that it weighs the same in every memory."""
    assert max(entry.similarity for entry in rank(FACTS, "pytest")) == 1


def test_a_current_fact_outranks_the_one_it_replaced(rank: Rank) -> None:
    """Even where the old one fits the words better."""
    old = Fact(id="old", content="Works as an engineer at Globex", confidence=1)
    new = Fact(content="Left for Initech", replaces=("old",), confidence=0.7)

    ranked = contents(rank([old, *FACTS, new], "Does she work as an engineer at Globex?"))

    assert ranked.index(new.content) < ranked.index(old.content)


def test_a_current_fact_answers_what_the_one_before_answered(rank: Rank) -> None:
    old = Fact(id="old", content="Works as an engineer at Globex")
    new = Fact(content="Left for Initech", replaces=("old",))

    assert contents(rank([old, *FACTS, new], "Does she work as an engineer at Globex?"))[0] == new.content


def test_the_last_of_a_chain_answers_what_the_first_answered(rank: Rank) -> None:
    old = Fact(id="old", content="Works as an engineer at Globex", created_at="2024-01-01T00:00:00Z")
    mid = Fact(id="mid", content="Left for Initech", replaces=("old",), created_at="2025-01-01T00:00:00Z")
    new = Fact(id="new", content="Retired early", replaces=("mid",), created_at="2026-01-01T00:00:00Z")

    ranked = contents(rank([old, mid, new, *FACTS], "Does she work as an engineer at Globex?"))

    assert ranked[0] == new.content
    assert ranked.index(new.content) < min(ranked.index(old.content), ranked.index(mid.content))


@pytest.mark.parametrize("query", ["", "   "])
def test_without_a_question_the_surest_is_first(rank: Rank, query: str) -> None:
    assert contents(rank(FACTS, query)) == [fact.content for fact in FACTS]


@pytest.mark.parametrize("query", ["!?", "\0", "🙂", "zzzz qqqq", "<|endoftext|>", "\ud800", "w" * 100_000])
def test_any_text_may_be_asked(rank: Rank, query: str) -> None:
    assert len(rank(FACTS, query)) == len(FACTS)


@pytest.mark.parametrize("facts", [[], [Fact(content="")], [Fact(content="!?"), Fact(content="\0")], [Fact()] * 3])
def test_any_memory_may_be_asked(rank: Rank, facts: list[Fact]) -> None:
    assert len(rank(facts, "What is there?")) == len(facts)


def test_the_newest_of_equals_is_first(rank: Rank) -> None:
    old, new = (Fact(content="Likes tea", created_at=f"202{year}-01-01T00:00:00Z") for year in (4, 5))

    assert [entry.fact for entry in rank([old, new], "tea")] == [new, old]


# -- one index ------------------------------------------------------------------------------------


def index(*of: Fact) -> FactIndex:
    return IndexCache().facts(of)


def ranking(indexed: FactIndex, query: str, similarity: float = 1.0, confidence: float = 0.0) -> Any:
    (relevance,) = scale_to_best(indexed.relevance(build_query(query)))
    return indexed.rank(relevance, similarity_weight=similarity, confidence_weight=confidence)


def test_the_score_is_the_weighted_mean_of_similarity_and_confidence() -> None:
    indexed = index(Fact(content="jazz opal", confidence=0.5), Fact(content="jazz", confidence=1.0), Fact(content="x"))
    raw = LexicalIndex(indexed.documents).scores(build_query("jazz")).tolist()

    found = ranking(indexed, "jazz", 3.0, 1.0)

    assert found.similarity.tolist() == pytest.approx([raw[0] / raw[1], 1, 0])
    assert found.scores.tolist() == pytest.approx(
        [(3 * raw[0] / raw[1] + 0.5) / 4, (3 + 1) / 4, (0 + indexed.facts[2].confidence) / 4]
    )
    assert found.order == [1, 0, 2]


def test_weights_of_zero_score_zero() -> None:
    """And the newest is first."""
    indexed = index(Fact(content="jazz", created_at="2025"), Fact(content="jazz", created_at="2026"))

    found = ranking(indexed, "jazz", 0.0, 0.0)

    assert found.scores.tolist() == [0, 0]
    assert found.order == [1, 0]


def test_without_a_query_the_score_is_the_confidence() -> None:
    found = ranking(index(Fact(content="a", confidence=0.7), Fact(content="b", confidence=0.9)), " ", 0.6, 0.4)

    assert found.scores.tolist() == [0.7, 0.9]
    assert found.similarity.tolist() == [0, 0]
    assert found.order == [1, 0]


def test_without_a_match_only_confidence_ranks() -> None:
    found = ranking(index(Fact(content="a", confidence=0.7), Fact(content="b", confidence=0.9)), "jazz", 0.5, 0.5)

    assert found.similarity.tolist() == [0, 0]
    assert found.scores.tolist() == [0.7, 0.9]


def test_a_superseded_fact_passes_its_similarity_on_and_scores_no_more_than_its_successor() -> None:
    """The current fact is less sure than the old one, and shares no word with the query."""
    old = Fact(id="old", content="jazz opal", confidence=1.0)
    new = Fact(id="new", content="milk", confidence=0.5, replaces=("old",))
    indexed = index(old, new, Fact(content="tea", confidence=0.1))

    found = ranking(indexed, "jazz", 1.0, 1.0)

    assert found.similarity.tolist() == [1, 1, 0]
    assert found.scores.tolist() == pytest.approx([0.75, 0.75, 0.05])
    assert found.order == [1, 0, 2]


def test_a_superseded_fact_keeps_a_lower_score() -> None:
    old = Fact(id="old", content="milk", confidence=0.5)
    new = Fact(id="new", content="tea", confidence=1.0, replaces=("old",))

    assert ranking(index(old, new), "").scores.tolist() == [0.5, 1.0]


def test_a_current_fact_keeps_a_higher_similarity() -> None:
    old = Fact(id="old", content="jazz opal milk tea", confidence=0.5)
    new = Fact(id="new", content="jazz", confidence=0.5, replaces=("old",))

    assert ranking(index(old, new), "jazz").similarity[1] == 1


def test_a_superseded_fact_ranks_below_any_current_fact_of_the_same_score() -> None:
    """Also below an older one."""
    old = Fact(id="old", content="a", confidence=0.5, created_at="2026")
    new = Fact(id="new", content="b", confidence=0.5, created_at="2025", replaces=("old",))
    other = Fact(id="other", content="c", confidence=0.5, created_at="2024")

    assert ranking(index(old, new, other), "").order == [1, 2, 0]


def test_a_fact_has_the_line_of_its_content() -> None:
    indexed = index(Fact(content="Likes tea"), Fact(content="Speaks 中文", category="preference"))

    lines = [line and line.text for line in map(indexed.line, [0, 1])]

    assert lines == ["- Likes tea (uncertain)\n", "- Speaks 中文 (uncertain)\n"]


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.integers(0, 12))
def test_the_best_of_many_are_the_first_of_all(scores: list[float], limit: int) -> None:
    """Equals in the order in which they are given."""
    positions = np.arange(len(scores))[::-1]

    assert best_first(positions, np.array(scores), limit) == best_first(positions, np.array(scores))[:limit]


def test_facts_that_must_not_be_selected_have_no_line() -> None:
    """Without content, or superseded."""
    indexed = index(Fact(id="old", content="a"), Fact(content=" \u200b"), Fact(content="b", replaces=("old",)))

    assert [line is None for line in map(indexed.line, range(3))] == [True, True, False]


def test_corrections_and_preferences_are_guaranteed() -> None:
    categories = ["context", "correction", "goal", "preference", "odd"]

    assert index(*(Fact(content="x", category=category) for category in categories)).guaranteed == {1, 3}
    assert {"correction", "preference"} == GUARANTEED_CATEGORIES


def test_a_fact_is_found_by_its_quotes() -> None:
    facts = [*FACTS, Fact(content="Owns an animal", evidence=(Evidence(quote="My hamster is called Biscuit."),))]

    assert contents(rank_facts(facts, "Biscuit"))[0] == "Owns an animal"


@pytest.mark.parametrize(
    ("quote", "is_guaranteed"), [("I want short answers today, please.", False), ("Keep it brief.", True), ("", True)]
)
def test_a_preference_that_repeats_the_users_words_is_not_guaranteed(quote: str, is_guaranteed: bool) -> None:  # noqa: FBT001
    """These are shown as they were said; the date that an update wrote behind "today" is no other word."""
    fact = Fact(
        content="Wants short answers today (2026-05-03)", category="preference", evidence=(Evidence(quote=quote),)
    )

    assert bool(index(fact).guaranteed) is is_guaranteed


# -- errors ---------------------------------------------------------------------------------------


def test_an_unknown_ranker_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="lexical, tfidf, hybrid"):
        rank_facts(FACTS, "x", ranker="nonsense")
    with pytest.raises(ConfigError):
        recall(MemoryDocument(), ranker="nonsense")


def test_hybrid_without_an_embedding_says_what_is_missing() -> None:
    with pytest.raises(EmbeddingError, match="embeddings="):
        rank_facts(FACTS, "x", ranker="hybrid")


def test_hybrid_whose_server_is_down_says_so(down: Embeddings) -> None:
    with pytest.raises(EmbeddingError, match="connection refused"):
        rank_facts(FACTS, "x", ranker="hybrid", embeddings=down)


def test_none_is_the_default_ranker() -> None:
    assert get_ranker(None) is get_ranker("lexical") is not get_ranker("tfidf")


class Interrupted(list[Document]):
    """Documents during whose reading another thread asks for the areas of all."""

    index: AreaIndex | None = None

    def __getitem__(self, key: Any) -> Any:
        index, self.index = self.index, None
        if index:
            index.nearness((1.0, *(0.0 for _ in AREAS[1:])))
        return super().__getitem__(key)


def test_two_threads_may_ask_for_the_areas_at_once() -> None:
    documents = Interrupted([Document("Bakes bread")])
    documents.index = index = AreaIndex(documents)

    for _ in range(2):
        assert index.nearness((1.0, *(0.0 for _ in AREAS[1:]))).tolist() == [1.0]
