"""Vectors that outlive a process: what is embedded again, and what is not."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from memgraph import recall
from memgraph.errors import EmbeddingError
from memgraph.models import Episode, Fact, MemoryDocument
from memgraph.retrieval.documents import Document
from memgraph.retrieval.embeddings import LIMITED_BATCH, EmbeddingCache
from memgraph.retrieval.hybrid import COMMON_QUESTIONS, HybridIndex
from memgraph.retrieval.index_cache import IndexCache
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.query import Query
from memgraph.retrieval.vector_store import PROBE, ModelIdentity, Vector, digest_of

MEMORY = MemoryDocument(facts=(Fact(content="Drinks tea"), Fact(content="Has a cat")))
SAID = (Episode(id="e1", thread_id="t1", at="2026-05-03T09:00:00Z", text="I drink tea."),)


class StoreInRam:
    """A VectorStore that keeps one model's vectors."""

    def __init__(self) -> None:
        self.model: ModelIdentity | None = None
        self.vectors = dict[str, Vector]()
        self.pruned = 0

    def load(self, model: ModelIdentity, digests: Collection[str]) -> Mapping[str, Vector]:
        if self.model is None or not self.model.is_same(model):
            return {}
        return {digest: self.vectors[digest] for digest in digests if digest in self.vectors}

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        if self.model is None or not self.model.is_same(model):
            self.vectors.clear()
        self.model = model
        self.vectors |= vectors

    def prune(self, digests: Collection[str]) -> None:
        self.pruned += 1
        self.vectors = {digest: vector for digest, vector in self.vectors.items() if digest in digests}


def texts_of(letters: Any) -> list[str]:
    """Return the texts of a memory that a model has embedded."""
    return [text for text in letters.embedded if text not in (PROBE, COMMON_QUESTIONS)]


@pytest.fixture
def store() -> StoreInRam:
    return StoreInRam()


def test_a_restart_embeds_nothing_again(letters: Any, store: StoreInRam) -> None:
    before = RecallPipeline(ranker="hybrid", embeddings=letters)(MEMORY, ["tea?"], episodes=SAID, vectors=store)
    assert sorted(texts_of(letters)) == ["Drinks tea", "Has a cat", "I drink tea."]
    letters.embedded.clear()

    after = RecallPipeline(ranker="hybrid", embeddings=letters)(MEMORY, ["tea?"], episodes=SAID, vectors=store)

    assert (set(letters.embedded), after) == ({PROBE}, before)


def test_recall_in_one_call_keeps_vectors_too(letters: Any, store: StoreInRam) -> None:
    options: Any = {"ranker": "hybrid", "embeddings": letters, "vectors": store}
    first = recall(MEMORY, ["tea?"], episodes=SAID, **options)
    embedded = len(texts_of(letters))

    assert recall(MEMORY, ["tea?"], episodes=SAID, **options) == first
    assert len(texts_of(letters)) == embedded == 3


def test_only_a_new_text_is_embedded(letters: Any, store: StoreInRam) -> None:
    EmbeddingCache(letters).of_memory(store).embed_texts(["tea"])
    letters.embedded.clear()

    EmbeddingCache(letters).of_memory(store).embed_texts(["tea", "milk"])

    assert texts_of(letters) == ["milk"]


def test_no_text_is_stored(letters: Any, store: StoreInRam) -> None:
    EmbeddingCache(letters).of_memory(store).embed_texts(["tea"])

    assert list(store.vectors) == [digest_of("tea")]


def test_another_model_behind_the_same_name_embeds_all_texts_again(
    letters: Any, store: StoreInRam, monkeypatch: pytest.MonkeyPatch
) -> None:
    EmbeddingCache(letters).of_memory(store).embed_texts(["tea", "milk"])
    letters.embedded.clear()
    use_other_model(letters, monkeypatch)

    vectors = EmbeddingCache(letters).of_memory(store).embed_texts(["tea", "milk"])

    assert texts_of(letters) == ["tea", "milk"]
    assert store.vectors[digest_of("tea")].tolist() == vectors[0].tolist()


def test_a_model_that_changes_within_a_process_is_noticed_by_the_next_new_text(
    letters: Any, store: StoreInRam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call fails, so that vectors of two models are never compared; the next embeds all texts again."""
    cache = EmbeddingCache(letters).of_memory(store)
    cache.embed_texts(["tea"])
    use_other_model(letters, monkeypatch)
    with pytest.raises(EmbeddingError, match="another embedding model"):
        cache.embed_texts(["tea", "milk"])
    letters.embedded.clear()

    cache.embed_texts(["tea", "milk"])

    assert texts_of(letters) == ["tea"]


def test_an_index_of_the_model_before_is_not_used(
    letters: Any, store: StoreInRam, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, query = EmbeddingCache(letters).of_memory(store), Query.from_text("tea")
    index = HybridIndex([Document("tea"), Document("rain")], cache)
    index.scores(query)
    use_other_model(letters, monkeypatch)
    with pytest.raises(EmbeddingError):
        cache.embed_texts(["milk"])
    letters.embedded.clear()

    index.scores(query)

    assert texts_of(letters) == ["tea", "rain"]


def use_other_model(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the letters count from the end, as another model under the same name."""
    embed = letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda texts: [vector[::-1] for vector in embed(texts)])


def test_vectors_of_texts_that_are_gone_are_pruned(letters: Any, store: StoreInRam) -> None:
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters)
    pipeline(MEMORY, ["tea?"], episodes=SAID, vectors=store)

    pipeline(MEMORY.with_facts(MEMORY.facts[:1]), ["tea?"], episodes=SAID, vectors=store)

    assert set(store.vectors) == set(map(digest_of, ("Drinks tea", "I drink tea.", COMMON_QUESTIONS)))


def test_an_unchanged_memory_is_not_pruned_again(letters: Any, store: StoreInRam) -> None:
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters)

    for _ in range(3):
        pipeline(MEMORY, ["tea?"], episodes=SAID, vectors=store)

    assert store.pruned == 1


def test_two_memories_share_no_vectors(letters: Any, store: StoreInRam) -> None:
    """Each has its own store, which a deletion empties."""
    cache, other = EmbeddingCache(letters), StoreInRam()
    cache.of_memory(store).embed_texts(["tea"])
    cache.of_memory(other).embed_texts(["tea"])

    assert set(store.vectors) == set(other.vectors) == {digest_of("tea")}


def test_a_failure_keeps_the_batches_before_it(
    letters: Any, store: StoreInRam, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"text {number}" for number in range(LIMITED_BATCH + 1)]
    embed = letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda asked: [] if texts[0] in asked else embed(asked))

    with pytest.raises(EmbeddingError):
        EmbeddingCache(letters).of_memory(store, math.inf).embed_newest(texts)

    assert len(store.vectors) == LIMITED_BATCH


# -- the time limit -------------------------------------------------------------------------------


def test_no_batch_begins_after_the_limit_and_the_newest_texts_come_first(letters: Any) -> None:
    texts = [f"text {number}" for number in range(3 * LIMITED_BATCH)]
    seconds = iter([0.0, 0.4, 1.0])
    cache = EmbeddingCache(letters, clock=lambda: next(seconds)).of_memory(None, 1.0)

    vectors, known = cache.embed_newest(texts)

    assert known.tolist() == [False] * LIMITED_BATCH + [True] * 2 * LIMITED_BATCH
    assert not vectors[:LIMITED_BATCH].any()


def test_later_calls_embed_the_rest(letters: Any) -> None:
    documents = [Document(f"text {number}") for number in range(2 * LIMITED_BATCH - 1)]  # and the common questions
    index = HybridIndex(documents, EmbeddingCache(letters, clock=lambda: 0.0).of_memory(None, 0.0))
    embedded = list[int]()

    for _ in range(3):
        index.scores(Query.from_text("text"))
        embedded.append(len(letters.embedded))

    assert embedded == [LIMITED_BATCH, 2 * LIMITED_BATCH, 2 * LIMITED_BATCH]


def test_a_text_without_a_vector_is_found_by_its_words(letters: Any) -> None:
    documents = [Document("Has a cat"), *(Document(f"text {number}") for number in range(LIMITED_BATCH))]
    index = HybridIndex(documents, EmbeddingCache(letters, clock=lambda: 0.0).of_memory(None, 0.0))

    assert index.scores(Query.from_text("cat")).argmax() == 0
    assert "Has a cat" not in letters.embedded


def test_a_cache_of_indexes_that_is_cleared_reads_the_store_again(letters: Any, store: StoreInRam) -> None:
    cache = IndexCache()
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters, cache=cache)
    pipeline(MEMORY, ["tea?"], vectors=store)
    cache.clear()
    store.vectors.clear()
    letters.embedded.clear()

    pipeline(MEMORY, ["tea?"], vectors=store)

    assert texts_of(letters) == ["Drinks tea", "Has a cat"]
