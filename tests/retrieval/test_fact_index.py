"""Facts indexed for recall: what holds for every ranker, the costs of facts, and the cache of indexes."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from memgraph import Fact, IndexCache, Memory, ScoredFact, Section, rank_facts, recall
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.retrieval.fact_index import (
    GUARANTEED_CATEGORIES,
    MAX_TEXT_BYTES,
    RANKERS,
    FactIndex,
    TextCache,
    get_ranker,
)
from memgraph.retrieval.lexical import LexicalIndex
from memgraph.retrieval.query import Query
from memgraph.retrieval.render import fact_lines
from memgraph.text.tokens import count_tokens

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


def facts(*contents: str) -> tuple[Fact, ...]:
    return tuple(Fact(id=f"fact_{position:08x}", content=content) for position, content in enumerate(contents))


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
    return FactIndex(of, get_ranker(None))


def ranking(indexed: FactIndex, query: str, similarity: float = 1.0, confidence: float = 0.0) -> Any:
    return indexed.rank(Query.from_text(query), similarity_weight=similarity, confidence_weight=confidence)


def test_the_score_is_the_weighted_mean_of_similarity_and_confidence() -> None:
    indexed = index(Fact(content="jazz opal", confidence=0.5), Fact(content="jazz", confidence=1.0), Fact(content="x"))
    raw = LexicalIndex(indexed.facts).scores(Query.from_text("jazz")).tolist()

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
    assert found.scores.tolist() == pytest.approx([0.35, 0.45])


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


def test_costs_are_the_tokens_of_the_lines() -> None:
    indexed = index(
        Fact(content="Likes tea"), Fact(content="Speaks 中文", category="preference", source_error="French")
    )

    assert indexed.lines == tuple(fact_lines(indexed.facts))
    assert indexed.costs == tuple(map(count_tokens, indexed.lines))
    assert indexed.min_cost == min(indexed.costs)


def test_facts_that_must_not_be_selected_cost_infinitely() -> None:
    """Without content, or superseded."""
    indexed = index(Fact(id="old", content="a"), Fact(content=" \u200b"), Fact(content="b", replaces=("old",)))

    assert [math.isinf(cost) for cost in indexed.costs] == [True, True, False]


def test_without_facts_the_lowest_cost_is_infinite() -> None:
    assert index().min_cost == math.inf
    assert index().costs == ()


def test_corrections_and_preferences_are_guaranteed() -> None:
    categories = ["context", "correction", "goal", "preference", "odd"]

    assert index(*(Fact(content="x", category=category) for category in categories)).guaranteed == {1, 3}
    assert {"correction", "preference"} == GUARANTEED_CATEGORIES


def test_facts_with_unbroken_text_may_be_miscounted() -> None:
    assert index(Fact(content="a" * 600), Fact(content="tea " * 300), Fact(content="x")).may_miscount == {0}


def test_a_scored_fact_has_the_scores_of_its_position() -> None:
    indexed = index(Fact(content="jazz", confidence=0.5), Fact(content="tea", confidence=0.9))

    entry = indexed.scored_fact(ranking(indexed, "jazz", 1.0, 1.0), 0)

    assert (entry.fact.content, entry.score, entry.similarity) == ("jazz", 0.75, 1.0)


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


def test_none_is_the_default_ranker() -> None:
    assert get_ranker(None) is get_ranker("lexical") is not get_ranker("tfidf")


# -- terms and token counts -----------------------------------------------------------------------


def test_terms_and_tokens_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, counted = TextCache(), list[str]()
    monkeypatch.setattr(
        "memgraph.retrieval.fact_index.count_tokens", lambda text: (counted.append(text), count_tokens(text))[1]
    )

    assert texts.extract_terms(["Green teas", "cats"]) == [("green", "tea"), ("cat",)]
    assert texts.count_tokens(["Green teas", "cats"]) == [count_tokens("Green teas"), count_tokens("cats")]
    assert texts.count_tokens(["cats", "dogs"]) == [count_tokens("cats"), count_tokens("dogs")]
    assert counted == ["Green teas", "cats", "dogs"]
    assert len(texts) == 5


def test_text_is_bounded_in_bytes() -> None:
    """A text counts with its terms, which take more room than itself."""
    texts = TextCache(max_bytes=100_000)

    for number in range(1_000):
        texts.extract_terms([f"A fact of number {number} about {number} things"])
        texts.count_tokens([f"A fact of number {number} about {number} things"])

    assert 100 < len(texts._terms) < 200
    assert 200 < len(texts._token_counts) < 400
    assert texts._terms.total_bytes <= 100_000
    assert texts._token_counts.total_bytes <= 100_000


def test_text_of_ten_thousand_facts_is_kept() -> None:
    """Or every change of a large memory would analyse all of it again."""
    texts = TextCache()
    many = [f"Fact number {number} about a topic of about the usual length" for number in range(10_000)]

    texts.extract_terms(many)
    texts.count_tokens(many)

    assert len(texts) == 20_000
    assert MAX_TEXT_BYTES == 32 * 1024 * 1024


def test_a_changed_memory_analyses_only_its_new_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, cache = list[str](), IndexCache()
    monkeypatch.setattr(
        "memgraph.retrieval.fact_index.count_tokens", lambda text: (asked.append(text), count_tokens(text))[1]
    )
    _ = cache.index(facts("tea", "cats")).costs

    _ = cache.index(facts("tea", "cats", "chess")).costs

    assert [line.split("] ")[1] for line in asked] == ["tea\n", "cats\n", "chess\n"]


# -- the cache ------------------------------------------------------------------------------------


def test_an_index_is_built_once_for_a_set_of_facts() -> None:
    """Also if the document was loaded again."""
    cache = IndexCache()

    assert cache.index(facts("tea", "cats")) is cache.index(list(facts("tea", "cats")))


@pytest.mark.parametrize(
    "change",
    [
        {"content": "coffee"},
        {"category": "goal"},
        {"confidence": 0.1},
        {"source": "t"},
        {"replaces": ("fact_00000001",)},
    ],
)
def test_any_change_of_a_fact_builds_it_anew(change: dict[str, object]) -> None:
    cache, (tea, cats) = IndexCache(), facts("tea", "cats")
    before = cache.index((tea, cats))

    assert cache.index((tea.model_copy(update=change), cats)) is not before


def test_a_list_that_changed_is_noticed() -> None:
    """A list may be changed in position; only a tuple is known by being the same."""
    cache, growing = IndexCache(), [*facts("tea")]
    cache.index(growing)
    growing.append(Fact(content="cats"))

    assert len(cache.index(growing).facts) == 2


def test_two_users_at_one_revision_never_mix() -> None:
    cache = IndexCache()
    ada, bob = (Memory(revision=7, facts=facts(content)) for content in ("Ada likes tea", "Bob likes rum"))

    assert "Ada" in recall(ada, ["likes"], cache=cache)
    assert "Ada" not in recall(bob, ["likes"], cache=cache)


def test_summaries_of_two_users_never_mix() -> None:
    cache = IndexCache()
    ada, bob = (Memory.model_validate({"user": {"workContext": name}}) for name in ("Ada.", "Bob."))

    assert "Ada" in recall(ada, cache=cache)
    assert "Ada" not in recall(bob, cache=cache)


def test_no_more_is_kept_than_was_said() -> None:
    cache = IndexCache(keep=3)

    for number in range(10):
        recall(Memory(facts=facts(f"fact {number}")), cache=cache)

    assert len(cache) == 3


def test_many_threads_may_share_a_cache() -> None:
    cache, wrong = IndexCache(keep=2), list[str]()

    def ask(name: str) -> None:
        memory = Memory(facts=facts(*(f"{name} knows {n}" for n in range(20))))
        wrong.extend(text for _ in range(20) if f"{name} knows 7" not in (text := recall(memory, ["7"], cache=cache)))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("ada", "bob", "cy", "dee")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_number_of_indexes_is_bounded(kind: Callable[..., Any]) -> None:
    """32 by default; the least recently used one is evicted."""
    cache = IndexCache()
    memories = [kind(facts(f"fact {number}")) for number in range(33)]
    first = cache.index(memories[0])
    for memory in memories[1:32]:
        cache.index(memory)

    assert cache.index(memories[0]) is first
    assert len(cache) == 32
    cache.index(memories[32])
    assert len(cache) == 32
    assert cache.index(memories[0]) is first


def test_rankers_and_models_have_indexes_of_their_own(letters: Any) -> None:
    cache, memory = IndexCache(), facts("tea")

    indexes = [cache.index(memory), cache.index(memory, ranker="tfidf"), cache.index(memory, embeddings=letters)]

    assert len({id(found) for found in indexes}) == 3
    assert cache.index(memory, ranker="lexical") is indexes[0]


def test_summaries_are_fitted_to_each_budget() -> None:
    cache = IndexCache()
    memory = Memory().with_section("top_of_mind", Section(summary="One thing is said here. " * 100))

    large, small = cache.summaries(memory, 500), cache.summaries(memory, 100)

    assert cache.summaries(memory, 500) is large
    assert small.tokens <= 100 < large.tokens <= 500


def test_clear_frees_all_text_of_users(letters: Any) -> None:
    """A deleted user leaves nothing behind in memory."""
    cache, memory = IndexCache(), Memory(facts=facts("Likes tea")).with_section("top_of_mind", Section(summary="Tea."))
    for ranker in RANKERS:
        recall(memory, ["tea"], ranker=ranker, embeddings=letters, cache=cache)
    is_alive = [weakref.ref(cache.index(memory.facts, ranker=ranker, embeddings=letters)) for ranker in RANKERS]
    parts = (cache._indexes, cache._by_identity, cache._vectors, cache._summaries, cache._texts)
    before = [len(part) for part in parts]

    cache.clear()

    gc.collect()
    assert before == [3, 3, 1, 1, 2]
    assert [len(part) for part in (cache, *parts)] == [0] * 6
    assert [reference() for reference in is_alive] == [None] * 3


def test_a_cleared_cache_works_again(letters: Any) -> None:
    cache, memory = IndexCache(), Memory(facts=facts("Likes tea"))
    before = recall(memory, ["tea"], ranker="hybrid", embeddings=letters, cache=cache)

    cache.clear()

    assert recall(memory, ["tea"], ranker="hybrid", embeddings=letters, cache=cache) == before


def test_each_text_is_embedded_once(letters: Any) -> None:
    """A memory that gained a fact costs one more embedding, not all of them again."""
    cache = IndexCache()
    cache.index(facts("tea", "cats"), ranker="hybrid", embeddings=letters)

    cache.index(facts("tea", "cats", "chess"), ranker="hybrid", embeddings=letters)

    assert letters.embedded == ["tea", "cats", "chess"]


def test_a_server_that_is_down_is_not_asked_at_every_call(down: Any) -> None:
    """Or every answer of the agent would wait for it."""
    cache = IndexCache()
    memory = Memory(facts=facts("tea"))

    for _ in range(3):
        recall(memory, ["tea"], ranker="hybrid", embeddings=down, cache=cache)

    assert down.asked == 1
