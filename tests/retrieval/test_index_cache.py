"""The cache of indexes: built once, changed when the memory does, bounded, and cleared."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from memgraph import Fact, IndexCache, MemoryDocument, Section, recall
from memgraph.models import Episode, Evidence
from memgraph.retrieval.index_cache import IndexOptions
from memgraph.retrieval.query import build_query
from memgraph.retrieval.rankers import COMMON_TEXTS, RANKERS


def facts(*contents: str, first: int = 0) -> tuple[Fact, ...]:
    return tuple(Fact(id=f"fact_{number:08x}", content=content) for number, content in enumerate(contents, first))


def said(*texts: str, first: int = 0) -> tuple[Episode, ...]:
    """Episodes of one thread."""
    return tuple(
        Episode(id=f"e{number}", thread_id="t", text=text, at="2026-05-03T10:00:00Z")
        for number, text in enumerate(texts, first)
    )


# -- facts ----------------------------------------------------------------------------------------


def test_an_index_is_built_once_for_a_set_of_facts() -> None:
    """Also if the document was loaded again."""
    cache = IndexCache()

    assert cache.facts(facts("tea", "cats")) is cache.facts(list(facts("tea", "cats")))


@pytest.mark.parametrize(
    "change",
    [
        {"content": "coffee"},
        {"category": "goal"},
        {"confidence": 0.1},
        {"source": "t"},
        {"replaces": ("fact_00000001",)},
        {"said_at": "2026-05-03T10:00:00Z"},
        {"evidence": (Evidence(episode="e0", quote="I like tea"),)},
    ],
)
def test_any_change_of_a_fact_builds_it_anew(change: dict[str, object]) -> None:
    cache, (tea, cats) = IndexCache(), facts("tea", "cats")
    before = cache.facts((tea, cats))

    assert cache.facts((tea.model_copy(update=change), cats)) is not before


def test_a_list_that_changed_is_noticed() -> None:
    """A list may be changed in position."""
    cache, growing = IndexCache(), [*facts("tea")]
    cache.facts(growing)
    growing.append(Fact(content="cats"))

    assert len(cache.facts(growing).facts) == 2


def test_two_users_at_one_revision_never_mix() -> None:
    cache = IndexCache()
    ada, bob = (MemoryDocument(revision=7, facts=facts(content)) for content in ("Ada likes tea", "Bob likes rum"))

    assert "Ada" in recall(ada, ["likes"], cache=cache)
    assert "Ada" not in recall(bob, ["likes"], cache=cache)


def test_summaries_of_two_users_never_mix() -> None:
    cache = IndexCache()
    ada, bob = (MemoryDocument.model_validate({"user": {"workContext": name}}) for name in ("Ada.", "Bob."))

    assert "Ada" in recall(ada, cache=cache)
    assert "Ada" not in recall(bob, cache=cache)


def test_no_more_is_kept_than_was_said() -> None:
    cache = IndexCache(keep=3)

    for number in range(10):
        recall(
            MemoryDocument(facts=facts(f"fact {number}", first=number)),
            episodes=said("word", first=number),
            cache=cache,
        )

    assert len(cache) == 6


def test_many_threads_may_share_a_cache() -> None:
    cache, wrong = IndexCache(keep=2), list[str]()

    def ask(name: str) -> None:
        memory = MemoryDocument(facts=facts(*(f"{name} knows {n}" for n in range(20))))
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
    memories = [kind(facts(f"fact {number}", first=number)) for number in range(33)]
    first = cache.facts(memories[0])
    for memory in memories[1:32]:
        cache.facts(memory)

    assert cache.facts(memories[0]) is first
    assert len(cache) == 32
    cache.facts(memories[32])
    assert len(cache) == 32
    assert cache.facts(memories[0]) is first


def test_rankers_and_models_have_indexes_of_their_own(letters: Any) -> None:
    cache, memory = IndexCache(), facts("tea")

    indexes = [
        cache.facts(memory),
        cache.facts(memory, options=IndexOptions("tfidf")),
        cache.facts(memory, options=IndexOptions(embeddings=letters)),
    ]

    assert len({id(found) for found in indexes}) == 3
    assert cache.facts(memory, options=IndexOptions("lexical")) is indexes[0]


def test_summaries_are_fitted_to_each_budget() -> None:
    cache = IndexCache()
    memory = MemoryDocument().with_section("top_of_mind", Section(summary="One thing is said here. " * 100))

    large, small = cache.summaries(memory, 500), cache.summaries(memory, 100)

    assert cache.summaries(memory, 500) is large
    assert small.tokens <= 100 < large.tokens <= 500


def test_clear_frees_all_text_of_users(letters: Any) -> None:
    """A deleted user leaves nothing behind in memory."""
    cache, memory = (
        IndexCache(),
        MemoryDocument(facts=facts("Likes tea")).with_section("top_of_mind", Section(summary="Tea.")),
    )
    for ranker in RANKERS:
        recall(memory, ["tea"], ranker=ranker, embeddings=letters, cache=cache)
    is_alive = [weakref.ref(cache.facts(memory.facts, options=IndexOptions(ranker, letters))) for ranker in RANKERS]
    parts = (cache._facts, cache._episodes, cache._vectors)
    before = [len(part) for part in parts]

    cache.clear()

    gc.collect()
    assert all(before)
    assert [len(part) for part in (cache, *parts, cache._blocks)] == [0] * 5
    assert [reference() for reference in is_alive] == [None] * 3


def test_a_cleared_cache_works_again(letters: Any) -> None:
    cache, memory = IndexCache(), MemoryDocument(facts=facts("Likes tea"))
    before = recall(memory, ["tea"], ranker="hybrid", embeddings=letters, cache=cache)

    cache.clear()

    assert recall(memory, ["tea"], ranker="hybrid", embeddings=letters, cache=cache) == before


def test_each_text_is_embedded_once(letters: Any) -> None:
    """A memory that gained a fact costs one more embedding, not all of them again."""
    cache = IndexCache()

    for contents in (("tea", "cats"), ("tea", "cats", "chess")):
        recall(MemoryDocument(facts=facts(*contents)), ["tea"], ranker="hybrid", embeddings=letters, cache=cache)

    assert letters.embedded == ["tea", "cats", *COMMON_TEXTS, "chess"]


def test_a_server_that_is_down_is_not_asked_at_every_call(down: Any) -> None:
    """Or every answer of the agent would wait for it."""
    cache = IndexCache()
    memory = MemoryDocument(facts=facts("tea"))

    for _ in range(3):
        recall(memory, ["tea"], ranker="hybrid", embeddings=down, cache=cache)

    assert down.asked == 1


def test_the_size_of_indexes_is_bounded() -> None:
    """The least recently used ones are evicted; one that is larger than the bound is never kept."""
    small, cache = IndexCache(max_bytes=1), IndexCache(max_bytes=30_000)

    small.facts(facts("tea"))
    for number in range(30):
        cache.facts(facts(f"fact {number}", "a longer fact about something else", first=number))

    assert len(small) == 0
    assert 1 < len(cache) < 30


# -- episodes -------------------------------------------------------------------------------------


def test_the_same_episodes_are_indexed_once() -> None:
    """Found by being the same object, or by their content."""
    cache, episodes = IndexCache(), said("tea", "cats")

    first = cache.episodes(episodes)

    assert cache.episodes(episodes) is first
    assert cache.episodes(list(episodes)) is first
    assert cache.episodes(said("tea", "cats")) is first


def test_appended_episodes_are_ranked_as_if_all_were_indexed_together() -> None:
    texts = [f"opal{number % 7} jazz {number % 13}" for number in range(300)]
    cache, query = IndexCache(), build_query("opal3 jazz 5")
    cache.episodes(said(*texts[:200]))

    grown, whole = cache.episodes(said(*texts)), IndexCache().episodes(said(*texts))

    assert grown.relevance(query).tolist() == pytest.approx(whole.relevance(query).tolist())


def test_an_episode_that_was_removed_is_forgotten() -> None:
    cache = IndexCache()
    cache.episodes(said("tea", "cats", "chess"))

    left = cache.episodes(said("tea", "cats"))
    without_first = cache.episodes(said("cats", "chess", first=1))

    assert [episode.text for episode in left.episodes] == ["tea", "cats"]
    assert [episode.text for episode in without_first.episodes] == ["cats", "chess"]
    assert not without_first.relevance(build_query("tea")).any()


def test_episodes_of_two_users_with_the_same_ids_never_mix() -> None:
    """Their threads may have the same name."""
    cache = IndexCache()
    cache.episodes(said("Ada likes tea"))

    assert cache.episodes(said("Bob likes rum", "cats")).episodes == said("Bob likes rum", "cats")
