"""Facts in the order in which they fit a question: what holds for every ranker, and what only for ours."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from langchain_core.embeddings import Embeddings

from memgraph import Fact, Memory, ScoredFact, rank_facts, recall
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.retrieval.fact_index import RANKERS

Rank = Callable[..., list[ScoredFact]]


@pytest.fixture(params=sorted(RANKERS))
def rank(request: pytest.FixtureRequest, letters: Embeddings) -> Rank:
    def call(facts: list[Fact], query: str, **options: float) -> list[ScoredFact]:
        return rank_facts(facts, query, ranker=request.param, embeddings=letters, **options)

    return call


def contents(ranked: list[ScoredFact]) -> list[str]:
    return [entry.fact.content for entry in ranked]


FACTS = [
    Fact(content="Uses Docker for containerization", confidence=0.95),
    Fact(content="Prefers pytest for testing", confidence=0.9),
    Fact(content="Has a cat named Dumpling", confidence=0.8),
]


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


# -- the default one ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("How does he test?", "Prefers pytest for testing"),
        ("怎么写测试?", "Prefers pytest for testing"),
        ("how to deploy containers", "Uses Docker for containerization"),
        ("pytst", "Prefers pytest for testing"),
        ("她养了猫吗", "Has a cat named Dumpling"),
    ],
)
def test_forms_languages_and_typing_errors_do_not_matter(asked: str, found: str) -> None:
    assert contents(rank_facts(FACTS, asked))[0] == found


def test_chinese_is_found_by_its_characters() -> None:
    facts = [Fact(content="对花生过敏"), Fact(content="最喜欢喝龙井茶"), Fact(content="在杭州当老师")]

    assert contents(rank_facts(facts, "能吃花生吗？"))[0] == "对花生过敏"


def test_what_went_wrong_is_searched_too() -> None:
    facts = [*FACTS, Fact(content="Use Polars", category="correction", source_error="suggested pandas")]

    assert contents(rank_facts(facts, "Can pandas do this?"))[0] == "Use Polars"


def test_facts_of_one_conversation_help_each_other() -> None:
    """What was said beside a match is more likely to matter than what was said elsewhere."""
    trip = [Fact(content=content, source="t1") for content in ("Flew to Kyoto in April", "Stayed in a small inn")]
    other = [Fact(content="Plays chess", source="t2"), Fact(content="Works nights", source="t2")]

    assert contents(rank_facts([*other, *trip], "Where in Kyoto?"))[:2] == [fact.content for fact in trip]


def test_what_people_wrote_is_of_no_conversation() -> None:
    manual = [Fact(content="Flew to Kyoto", source="manual"), Fact(content="Plays chess", source="manual")]

    assert rank_facts(manual, "Kyoto")[1].similarity == 0


# -- errors ---------------------------------------------------------------------------------------


def test_an_unknown_ranker_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="lexical, tfidf, hybrid"):
        rank_facts(FACTS, "x", ranker="nonsense")
    with pytest.raises(ConfigError):
        recall(Memory(), ranker="nonsense")


def test_hybrid_without_an_embedding_says_what_is_missing() -> None:
    with pytest.raises(EmbeddingError, match="embeddings="):
        rank_facts(FACTS, "x", ranker="hybrid")


def test_hybrid_whose_server_is_down_says_so(down: Embeddings) -> None:
    with pytest.raises(EmbeddingError, match="connection refused"):
        rank_facts(FACTS, "x", ranker="hybrid", embeddings=down)


@pytest.mark.parametrize("is_there", [True, False])
def test_recall_goes_on_by_words_where_the_embedding_fails(
    down: Embeddings, caplog: pytest.LogCaptureFixture, *, is_there: bool
) -> None:
    with caplog.at_level(logging.ERROR, logger="memgraph.recall"):
        text = recall(Memory(facts=tuple(FACTS)), ["pytest"], ranker="hybrid", embeddings=down if is_there else None)

    assert text == recall(Memory(facts=tuple(FACTS)), ["pytest"])
    assert "by words alone" in caplog.text
