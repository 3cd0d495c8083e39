"""Checked calls of an embedding model, and the cache of its vectors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from memgraph.errors import EmbeddingError
from memgraph.retrieval.embeddings import BATCH, MAX_VECTORS, PAUSE_SECONDS, EmbeddingCache, call_embeddings


def test_vectors_are_of_length_one_in_the_order_of_the_texts(letters: Any) -> None:
    vectors, known = EmbeddingCache(letters).embed_texts(["ab", "c", "ab"])

    assert vectors.shape == (3, 27)
    assert known.all()
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1, 1, 1])
    assert vectors[0].tolist() == vectors[2].tolist() != vectors[1].tolist()
    assert vectors[1, 3] == pytest.approx(0.5**0.5)


def test_no_texts_have_no_vectors(letters: Any) -> None:
    vectors, _ = EmbeddingCache(letters).embed_texts([])

    assert (vectors.shape, vectors.dtype) == ((0, 0), np.float32)


def test_texts_are_embedded_in_batches(letters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server limits the texts of one request."""
    sizes, embed = list[int](), letters.embed_documents
    monkeypatch.setattr(letters, "embed_documents", lambda texts: (sizes.append(len(texts)), embed(texts))[1])

    EmbeddingCache(letters).embed_texts([f"text {number}" for number in range(2 * BATCH + 1)])

    assert sizes == [BATCH, BATCH, 1]


def test_the_bounds_are_generous() -> None:
    assert (BATCH, MAX_VECTORS, PAUSE_SECONDS) == (64, 20_000, 30)


def test_vectors_are_kept_up_to_a_number(letters: Any) -> None:
    vectors = EmbeddingCache(letters, keep=2)
    vectors.embed_texts(["a", "b", "c"])

    vectors.embed_texts(["c", "a"])

    assert letters.embedded == ["a", "b", "c", "a"]


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
    """A zero vector would make every fact equally good, and it would go unnoticed."""
    monkeypatch.setattr(letters, "embed_documents", lambda _: answer)

    with pytest.raises(EmbeddingError):
        EmbeddingCache(letters).embed_texts(["tea"])


def test_after_a_failure_a_model_is_not_called_until_the_pause_is_over(
    letters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, calls, errors = [100.0], list[float](), list[str]()
    monkeypatch.setattr("memgraph.retrieval.embeddings.time.monotonic", lambda: seconds[0])
    cache = EmbeddingCache(letters)

    def fail(_: str) -> Any:
        calls.append(seconds[0])
        raise ConnectionError("refused")

    monkeypatch.setattr(letters, "embed_query", fail)
    for seconds[0] in (100.0, 100.0 + PAUSE_SECONDS - 1, 100.0 + PAUSE_SECONDS):
        with pytest.raises(EmbeddingError) as raised:
            cache.embed_query("tea")
        errors.append(str(raised.value))

    assert calls == [100.0, 100.0 + PAUSE_SECONDS]
    assert errors[:2] == [
        "the embedding model did not answer: ConnectionError: refused",
        "the embedding model failed a moment ago and is not called for 30 seconds",
    ]


@pytest.mark.parametrize(("name", "label"), [("nomic", "the embedding model nomic"), ("", "the embedding model")])
def test_errors_of_a_model_name_it_and_the_cause(name: str, label: str) -> None:
    """A model of the user's own may have no name."""

    def embed() -> list[list[float]]:
        raise ConnectionError("refused")

    with pytest.raises(EmbeddingError, match=f"{label} did not answer: ConnectionError: refused"):
        call_embeddings(embed, 1, name=name)
