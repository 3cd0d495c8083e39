"""Embedding with patience."""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_fakes import Clock, Letters, patient

from memgraph.attachments.embedding import PROBE
from memgraph.errors import EmbeddingError


class Flaky(Letters):
    """Fails so many times, then answers."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        super().__init__()
        self.failures = failures
        self.error = error or ConnectionError("connection reset")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.failures -= 1
        if self.failures >= 0:
            self.asked.append(texts)
            raise self.error
        return super().embed_documents(texts)


class RefusedError(Exception):
    status_code = 401


def test_vectors_have_length_1() -> None:
    """An inner product is then a cosine."""
    vectors = patient(Letters()).embed_texts(["abc", "a much longer text"])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_a_failure_is_tried_again() -> None:
    """Servers hiccup."""
    clock = Clock()

    vector = patient(Flaky(2), clock).embed_query("tea")

    assert vector.shape == (27,)
    assert len(clock.slept) == 2


def test_after_three_failures_there_is_an_error_that_names_the_model() -> None:
    """Never a vector of zeros."""
    with pytest.raises(EmbeddingError, match=r"embedding_fakes|test_embedding.*Flaky did not answer: ConnectionError"):
        patient(Flaky(3)).embed_query("tea")


def test_a_wrong_key_is_not_tried_again() -> None:
    """It stays wrong, and a server counts."""
    model = Flaky(1, RefusedError())

    with pytest.raises(EmbeddingError):
        patient(model).embed_query("tea")

    assert len(model.asked) == 1


def test_a_model_that_is_down_is_left_alone_for_a_while() -> None:
    """Not every step of an agent waits for it."""
    clock, model = Clock(), Flaky(3)
    embedder = patient(model, clock)
    with pytest.raises(EmbeddingError):
        embedder.embed_query("tea")

    with pytest.raises(EmbeddingError, match="a moment ago"):
        embedder.embed_query("tea")

    assert len(model.asked) == 3
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
def test_what_is_no_vector_is_an_error(vectors: list[list[float]]) -> None:
    """What was stored with it would never be found, or always."""
    with pytest.raises(EmbeddingError):
        patient(lambda _: vectors).embed_texts(["tea"])


def test_vectors_of_several_sizes_are_an_error() -> None:
    """One of them is of another model."""
    with pytest.raises(EmbeddingError):
        patient(lambda texts: [[1.0] * (1 + place) for place, _ in enumerate(texts)]).embed_texts(["tea", "milk"])


def test_of_many_texts_one_that_is_refused_costs_no_other_its_vector() -> None:
    """A server that dislikes one text must not keep a whole memory from being found."""
    model = Letters()
    model.refused = "poison"

    vectors = patient(model).embed_each(["tea", "poison", "milk"])

    assert [vector is not None for vector in vectors] == [True, False, True]


def test_where_every_text_fails_the_model_is_down() -> None:
    """Then nobody was refused."""
    model = Letters()
    model.is_down = True

    with pytest.raises(EmbeddingError):
        patient(model).embed_each(["tea", "milk"])


def test_a_model_knows_itself_again() -> None:
    """A restart embeds nothing anew."""
    one, again = patient(Letters()), patient(Letters())

    assert one.is_same_model(again.name, again.probe)


@pytest.mark.parametrize("alphabet", ["zyxwvutsrqponmlkjihgfedcba", "abc"], ids=["same size", "other size"])
def test_another_model_of_the_same_name_is_another(alphabet: str) -> None:
    """Who serves a model under a name may serve another under it tomorrow."""
    one, other = patient(Letters()), patient(Letters(alphabet))

    assert one.name == other.name
    assert not one.is_same_model(other.name, other.probe)


def test_what_tells_models_apart_is_asked_for_once() -> None:
    """It is a call like any other."""
    model = Letters()
    embedder = patient(model)

    assert embedder.is_same_model(embedder.name, embedder.probe)

    assert model.embedded == [PROBE]


def test_a_text_that_cannot_be_sent_is_cleaned() -> None:
    """Half of a surrogate pair fits into no request."""
    model = Letters()

    patient(model).embed_texts(["tea \ud83d"])

    assert model.embedded == ["tea \ufffd"]
