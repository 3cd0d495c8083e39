"""Vectors that outlive a process: what is embedded again, and what is not."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from waiting import wait_until

from memgraph import Context, build_graph, recall
from memgraph.errors import EmbeddingError
from memgraph.models import Episode, Fact, MemoryDocument, Scope
from memgraph.retrieval.embeddings import BACKGROUND_BATCH, BATCH, EmbeddingCache
from memgraph.retrieval.index_cache import IndexCache
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.query import Document, build_query
from memgraph.retrieval.rankers import COMMON_TEXTS, HybridIndex
from memgraph.retrieval.vector_store import PROBE, ModelIdentity, Vector, digest_of
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.memory import InMemoryStorage

ADA = Scope("ada")
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
    return [text for text in letters.embedded if text not in (PROBE, *COMMON_TEXTS)]


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

    vectors, _ = EmbeddingCache(letters).of_memory(store).embed_texts(["tea", "milk"])

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
    cache, query = EmbeddingCache(letters).of_memory(store), build_query("tea")
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

    assert set(store.vectors) == set(map(digest_of, ("Drinks tea", "I drink tea.", *COMMON_TEXTS)))


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
    texts = [f"text {number}" for number in range(BATCH + 1)]
    embed = letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda asked: [] if texts[0] in asked else embed(asked))

    with pytest.raises(EmbeddingError):
        EmbeddingCache(letters).of_memory(store).embed_texts(texts)

    assert len(store.vectors) == BATCH


# -- without waiting ------------------------------------------------------------------------------


def test_what_has_no_vector_yet_is_ranked_by_its_words_and_embedded_in_the_background(letters: Any) -> None:
    documents = [Document("Has a cat"), *(Document(f"text {number}") for number in range(3 * BACKGROUND_BATCH))]
    cache = EmbeddingCache(letters).of_memory(None, waits=False)
    index = HybridIndex(documents, cache)

    first = index.scores(build_query("cat"))
    wait_until(lambda: len(letters.embedded) == len(documents) + len(COMMON_TEXTS))

    assert first.argmax() == 0
    assert cache.look_up([document.text for document in documents], index)[1].all()


def test_the_newest_texts_are_embedded_first(letters: Any) -> None:
    texts = [f"text {number}" for number in range(3 * BACKGROUND_BATCH)]
    owner = HybridIndex([], EmbeddingCache(letters))
    cache = EmbeddingCache(letters).of_memory(None, waits=False)

    cache.look_up(texts, owner)
    cache.close()

    assert set(letters.embedded[:BACKGROUND_BATCH]) == set(texts[-BACKGROUND_BATCH:])


def test_texts_that_nobody_uses_any_more_are_not_embedded(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread goes on with another index."""
    begun, may_go_on, embed = threading.Event(), threading.Event(), letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda texts: (begun.set(), may_go_on.wait(10), embed(texts))[2])
    cache, gone = EmbeddingCache(letters).of_memory(None, waits=False), HybridIndex([], EmbeddingCache(letters))
    used = HybridIndex([], EmbeddingCache(letters))

    cache.look_up([f"text {number}" for number in range(3 * BACKGROUND_BATCH)], gone)
    begun.wait(10)
    cache.look_up(["tea"], used)
    del gone
    may_go_on.set()
    wait_until(lambda: "tea" in letters.embedded)

    assert len(letters.embedded) == BACKGROUND_BATCH + 1


def test_a_pruned_text_is_not_embedded(letters: Any, store: StoreInRam, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on, embed = threading.Event(), threading.Event(), letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda texts: (begun.set(), may_go_on.wait(10), embed(texts))[2])
    cache, owner = EmbeddingCache(letters).of_memory(store, waits=False), HybridIndex([], EmbeddingCache(letters))
    may_go_on.set()
    cache.load()
    wait_until(lambda: cache.is_loaded)
    may_go_on.clear()
    begun.clear()

    texts = [f"text {number}" for number in range(2 * BACKGROUND_BATCH)]
    cache.look_up(texts, owner)
    begun.wait(10)
    cache.prune(texts[BACKGROUND_BATCH:])
    may_go_on.set()
    wait_until(lambda: len(store.vectors) == BACKGROUND_BATCH)
    cache.close()

    assert set(store.vectors) == {digest_of(text) for text in texts[BACKGROUND_BATCH:]}


def test_a_failure_in_the_background_ends_the_thread_and_later_questions_try_again(
    letters: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache, owner = EmbeddingCache(letters), HybridIndex([], EmbeddingCache(letters))
    scoped = cache.of_memory(None, waits=False)
    with monkeypatch.context() as broken:
        broken.setattr(letters, "embed_documents", lambda _: [])
        scoped.look_up(["tea"], owner)
        scoped.close()

    assert "texts are left without vectors for now" in caplog.text
    later = EmbeddingCache(letters).of_memory(None, waits=False)
    later.look_up(["tea"], owner)
    later.close()
    assert letters.embedded == ["tea"]


def test_words_alone_rank_until_the_model_is_loaded(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent waits neither for the model nor for vectors."""
    may_load, embed = threading.Event(), letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda texts: (may_load.wait(10), embed(texts))[1])
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters, waits_for="nothing")

    text = pipeline(MEMORY, ["tea?"])
    may_load.set()
    wait_until(lambda: pipeline.cache.load(letters))

    assert "Drinks tea" in text
    assert "Drinks tea" in pipeline(MEMORY, ["tea?"])


def test_a_model_that_cannot_be_loaded_is_logged_and_words_rank(
    down: Embeddings, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = RecallPipeline(ranker="hybrid", embeddings=down, waits_for="nothing")

    texts = [pipeline(MEMORY, ["tea?"])]
    wait_until(lambda: (texts.append(pipeline(MEMORY, ["tea?"])), caplog.text)[1])

    assert all("Drinks tea" in text for text in texts)
    assert "memory is ranked by words alone: the embedding model did not answer" in caplog.text


def test_a_question_is_embedded_once(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts, the words and whether they answer it share its vector."""
    asked, embed = list[str](), letters.embed_query
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters)
    pipeline(MEMORY, ["rain?"], episodes=SAID)
    monkeypatch.setattr(letters, "embed_query", lambda text: (asked.append(text), embed(text))[1])

    pipeline(MEMORY, ["tea?"], episodes=SAID)

    assert asked == ["tea?"]


# -- what an update saves -------------------------------------------------------------------------


def learn(storage: MemoryStorage, embeddings: Embeddings, text: str) -> None:
    graph = build_graph(storage=storage, defaults=Context(model="offline", embeddings=embeddings))
    graph.invoke({"messages": [HumanMessage(text)]}, context=Context(user_id="ada", thread_id="t1"))


def test_an_update_makes_the_vectors_of_what_it_saves(letters: Any, tmp_path: Path) -> None:
    with open_storage(f"file:{tmp_path}") as storage:
        learn(storage, letters, "I'm vegetarian.")

        assert letters.embedded.count("I'm vegetarian.") == 1
        pipeline = RecallPipeline(ranker="hybrid", embeddings=letters)
        pipeline(storage.load(ADA), ["Food?"], episodes=storage.episodes(ADA), vectors=storage.vectors(ADA))
        assert letters.embedded.count("I'm vegetarian.") == 1


def test_what_is_saved_without_vectors_is_kept(down: Embeddings, caplog: pytest.LogCaptureFixture) -> None:
    storage = InMemoryStorage()

    learn(storage, down, "I'm vegetarian.")

    assert [fact.content for fact in storage.load(ADA).facts] == ["Is vegetarian."]
    assert "what was saved has no vectors yet" in caplog.text


def test_a_cache_of_indexes_that_is_cleared_reads_the_store_again(letters: Any, store: StoreInRam) -> None:
    cache = IndexCache()
    pipeline = RecallPipeline(ranker="hybrid", embeddings=letters, cache=cache)
    pipeline(MEMORY, ["tea?"], vectors=store)
    cache.clear()
    store.vectors.clear()
    letters.embedded.clear()

    pipeline(MEMORY, ["tea?"], vectors=store)

    assert texts_of(letters) == ["Drinks tea", "Has a cat"]
