"""Search in items: similarity of words, and vectors by inner product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memgraph.attachments.embedding import best_by_cosine, text_similarity
from memgraph.retrieval.terms import extract_terms

SENTENCES = st.lists(st.sampled_from("abcd"), max_size=12)
DIMENSION = 8


@given(SENTENCES, SENTENCES)
def test_similarity_is_between_0_and_1(one: list[str], other: list[str]) -> None:
    """It is combined with a cosine."""
    assert 0 <= text_similarity(one, other) <= 1


def test_equal_texts_have_similarity_1() -> None:
    """The maximum is reached."""
    assert text_similarity(extract_terms("We chose PostgreSQL."), extract_terms("We chose PostgreSQL.")) == 1


def test_similarity_is_the_mean_of_shared_and_of_ordered_terms() -> None:
    """Jaccard 3/5, and 2 of 4 terms in the same order."""
    assert text_similarity(["tea", "milk", "sugar", "lemon"], ["sugar", "tea", "milk", "rum"]) == (3 / 5 + 2 / 4) / 2


def test_order_counts() -> None:
    """Only the order distinguishes payer and payee."""
    query = extract_terms("Ada pays Grace")

    same, turned = extract_terms("Ada pays Grace"), extract_terms("Grace pays Ada")

    assert text_similarity(query, same) > text_similarity(query, turned)


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
