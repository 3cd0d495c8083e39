"""What recall keeps from call to call."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from memgraph import Fact, IndexCache, Memory, recall
from memgraph.errors import EmbeddingError
from memgraph.retrieval.embeddings import PAUSE_SECONDS, EmbeddingCache


def facts(*contents: str) -> tuple[Fact, ...]:
    return tuple(Fact(id=f"fact_{place:08x}", content=content) for place, content in enumerate(contents))


def test_an_index_is_built_once_for_a_set_of_facts() -> None:
    """Also where the document was loaded anew."""
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
    """A list may be changed in place; only a tuple is known by being the same."""
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


# -- vectors --------------------------------------------------------------------------------------


def test_each_text_is_embedded_once(letters: Any) -> None:
    """A memory that gained a fact costs one more embedding, not all of them again."""
    cache = IndexCache()
    cache.index(facts("tea", "cats"), ranker="hybrid", embeddings=letters)

    cache.index(facts("tea", "cats", "chess"), ranker="hybrid", embeddings=letters)

    assert letters.embedded == ["tea", "cats", "chess"]


def test_vectors_are_kept_up_to_a_number(letters: Any) -> None:
    vectors = EmbeddingCache(letters, keep=2)
    vectors.embed_texts(["a", "b", "c"])

    vectors.embed_texts(["c", "a"])

    assert letters.embedded == ["a", "b", "c", "a"]


def test_a_server_that_is_down_is_not_asked_at_every_call(down: Any) -> None:
    """Else every answer of the agent would wait for it."""
    cache = IndexCache()
    memory = Memory(facts=facts("tea"))

    for _ in range(3):
        recall(memory, ["tea"], ranker="hybrid", embeddings=down, cache=cache)

    assert down.asked == 1


def test_a_server_that_is_back_is_used_again(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = EmbeddingCache(letters)
    with monkeypatch.context() as broken:
        broken.setattr(letters, "embed_query", lambda _: [])
        with pytest.raises(EmbeddingError):
            vectors.embed_query("tea")
    later = time.monotonic() + PAUSE_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)

    assert vectors.embed_query("tea").shape == (27,)


@pytest.mark.parametrize("answer", [[], [[]], [[0.0, 0.0]], [[float("nan"), 1.0]], [[1.0], [1.0]], [["x"]], None])
def test_vectors_that_mean_nothing_are_an_error(letters: Any, answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zero vector would make every fact equally good, and nobody would notice."""
    monkeypatch.setattr(letters, "embed_documents", lambda _: answer)

    with pytest.raises(EmbeddingError):
        EmbeddingCache(letters).embed_texts(["tea"])
