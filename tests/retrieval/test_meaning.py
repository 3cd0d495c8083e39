"""The similarity in meaning of two sentences: the cosine, scaled by that of unrelated sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from memgraph import EmbeddingError
from memgraph.retrieval.embedding_models import FunctionEmbeddings
from memgraph.retrieval.meaning import UNRELATED, MeaningComparison

SHARED = 2.0
"""Of each vector, a part that all have: unrelated sentences have the cosine 4 / 5."""


class Model:
    """Gives every meaning a direction of its own; a sentence without one given has its own meaning."""

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self.meanings = meanings
        self.known: list[str] = []
        self.calls: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [self._vector(self.meanings.get(text, text)) for text in texts]

    def _vector(self, meaning: str) -> list[float]:
        if meaning not in self.known:
            self.known.append(meaning)
        vector = [0.0] * 32
        vector[0], vector[1 + self.known.index(meaning)] = SHARED, 1.0
        return vector


def test_unrelated_sentences_have_none_and_equal_ones_the_full_similarity() -> None:
    """Whatever cosines a model gives to sentences that have nothing in common."""
    model = Model({"Has a dog.": "dog", "Owns a dog.": "dog"})
    comparison = MeaningComparison(FunctionEmbeddings(model))

    found = comparison.similarities([("Has a dog.", "Owns a dog."), ("Has a dog.", "Lives in Oslo.")])

    assert found == pytest.approx([1.0, 0.0], abs=1e-5)


def test_unrelated_sentences_are_embedded_once() -> None:
    model = Model({})
    comparison = MeaningComparison(FunctionEmbeddings(model))

    for _ in range(3):
        comparison.similarities([("Has a dog.", "Lives in Oslo.")])

    assert [model.calls.count(list(texts)) for texts in UNRELATED.values()] == [1, 1]


def test_without_pairs_no_model_is_called() -> None:
    model = Model({})

    assert MeaningComparison(FunctionEmbeddings(model)).similarities([]) == []
    assert model.calls == []


def test_a_failing_model_is_an_error() -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise ConnectionError(len(texts))

    with pytest.raises(EmbeddingError):
        MeaningComparison(FunctionEmbeddings(fail)).similarities([("Has a dog.", "Owns a dog.")])
