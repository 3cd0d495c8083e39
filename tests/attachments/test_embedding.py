"""Embedding with retries, and search by inner product."""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_fakes import Clock, Letters, make_embedder
from numpy.typing import NDArray

from memgraph.attachments.database import best_by_cosine
from memgraph.errors import EmbeddingError
from memgraph.retrieval.vector_store import PROBE

DIMENSION = 8


class Flaky(Letters):
    """Fails a number of times, then answers."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        super().__init__()
        self.failures = failures
        self.error = error or ConnectionError("connection reset")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.failures -= 1
        if self.failures >= 0:
            self.calls.append(texts)
            raise self.error
        return super().embed_documents(texts)


class RefusedError(Exception):
    status_code = 401


def test_vectors_have_length_1() -> None:
    """The inner product is the cosine."""
    vectors, _ = make_embedder(Letters()).embed_texts(["abc", "a much longer text"])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_a_failed_call_is_retried(clock: Clock) -> None:
    """Servers fail temporarily."""
    vector = make_embedder(Flaky(2)).embed_query("tea")

    assert vector.shape == (27,)
    assert len(clock.slept) == 2


def test_after_three_failures_there_is_an_error_that_names_the_model() -> None:
    """Not a vector of zeros."""
    with pytest.raises(EmbeddingError, match=r"embedding_fakes|test_embedding.*Flaky did not answer: ConnectionError"):
        make_embedder(Flaky(3)).embed_query("tea")


def test_an_invalid_key_is_not_retried() -> None:
    """Another attempt cannot succeed, and servers limit failed ones."""
    model = Flaky(1, RefusedError())

    with pytest.raises(EmbeddingError):
        make_embedder(model).embed_query("tea")

    assert len(model.calls) == 1


def test_a_failed_model_is_not_called_for_a_while(clock: Clock) -> None:
    """Otherwise every step of an agent would wait for it."""
    model = Flaky(3)
    embedder = make_embedder(model)
    with pytest.raises(EmbeddingError):
        embedder.embed_query("tea")

    with pytest.raises(EmbeddingError, match="a moment ago"):
        embedder.embed_query("tea")

    assert len(model.calls) == 3
    clock.now += 31
    assert embedder.embed_query("tea").shape == (27,)


@pytest.mark.parametrize(
    "vectors",
    [
        [[math.nan, 1.0]],
        [[math.inf, 1.0]],
        [[0.0, 0.0]],
        [[]],
        [],
        [[1.0, 2.0], [1.0, 2.0]],
        [[[1.0]]],
        [["one"]],
        None,
    ],
    ids=str,
)
def test_an_invalid_vector_is_an_error(vectors: list[list[float]]) -> None:
    """An item with it would be found never, or always."""
    with pytest.raises(EmbeddingError):
        make_embedder(lambda _: vectors).embed_texts(["tea"])


def test_vectors_of_several_sizes_are_an_error() -> None:
    """They cannot be of one model."""
    with pytest.raises(EmbeddingError):
        make_embedder(lambda texts: [[1.0] * len(text) for text in texts]).embed_texts(["tea", "milk"])


def test_a_refused_text_does_not_affect_other_texts() -> None:
    """One text must not prevent the embedding of all others."""
    model = Letters()
    model.refused = "poison"

    vectors, known = make_embedder(model).embed_texts(["tea", "poison", "milk"])

    assert known.tolist() == [True, False, True]
    assert vectors.any(axis=1).tolist() == [True, False, True]


def test_if_every_text_fails_the_model_is_down() -> None:
    """Then the texts are not the cause."""
    model = Letters()
    model.is_down = True

    with pytest.raises(EmbeddingError):
        make_embedder(model).embed_texts(["tea", "milk"])


def test_a_text_is_embedded_once() -> None:
    """Its vector is kept, and the model is recognised by one more text."""
    model = Letters()
    embedder = make_embedder(model)
    first, _ = embedder.embed_texts(["tea"])

    again, _ = embedder.embed_texts(["tea", "tea"])

    assert model.embedded == [PROBE, PROBE, "tea"]
    assert again.tolist() == [first[0].tolist()] * 2


@pytest.mark.parametrize("alphabet", ["zyxwvutsrqponmlkjihgfedcba", "abc"], ids=["same size", "other size"])
def test_if_another_model_answers_all_texts_are_embedded_again(alphabet: str) -> None:
    """A server may replace the model behind a name."""
    model = Letters()
    embedder = make_embedder(model)
    embedder.embed_texts(["tea"])
    model.alphabet = alphabet

    vectors, known = embedder.embed_texts(["tea", "milk"])

    expected = make_embedder(Letters(alphabet)).embed_texts(["tea", "milk"])[0]
    assert known.all()
    assert vectors.tolist() == expected.tolist()


def test_a_text_that_cannot_be_sent_is_cleaned() -> None:
    """A request cannot contain half of a surrogate pair."""
    model = Letters()

    make_embedder(model).embed_texts(["tea \ud83d"])

    assert model.embedded == [PROBE, PROBE, "tea \ufffd"]


# -- search ---------------------------------------------------------------------------------------


def units(count: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("k", [1, 5, 600, 999])
def test_the_best_come_first_with_their_cosine(k: int) -> None:
    """By inner product."""
    vectors = units(600)

    cosines, positions = zip(*best_by_cosine(vectors, np.ones(600, np.bool_), vectors[42], k), strict=True)

    expected = np.argsort(-(vectors @ vectors[42]))[:k]
    assert list(positions) == expected.tolist()
    assert list(cosines) == pytest.approx((vectors @ vectors[42])[expected].tolist(), abs=1e-6)


def test_of_equal_vectors_the_newest_comes_first() -> None:
    """Newer items are more relevant."""
    found = best_by_cosine(np.repeat(units(1), 3, axis=0), np.ones(3, np.bool_), units(1)[0], 3)

    assert [position for _, position in found] == [2, 1, 0]
