"""Search in vectors."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memgraph.attachments.vectors import FaissMatrix, NumpyMatrix, VectorIndex, make_backend

DIMENSION = 8
MATRICES = [NumpyMatrix, pytest.param(FaissMatrix, marks=pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="the extra faiss is not installed"))]  # fmt: skip


def units(count: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_best_come_first_with_their_cosine(matrix: type[NumpyMatrix]) -> None:
    """Shape (k,), by inner product."""
    index, vectors = VectorIndex(DIMENSION, make=matrix), units(600)
    index.add(range(600), vectors)

    found = index.search(vectors[42], 5)

    expected = np.argsort(-(vectors @ vectors[42]))[:5]
    assert [row for row, _ in found] == expected.tolist()
    assert [score for _, score in found] == pytest.approx((vectors @ vectors[42])[expected].tolist(), abs=1e-6)


def test_faiss_and_numpy_score_the_same() -> None:
    """Installing a package must not change the results."""
    pytest.importorskip("faiss")
    query, indexes = units(1, seed=1)[0], [VectorIndex(DIMENSION, make=make) for make in (FaissMatrix, NumpyMatrix)]
    for index in indexes:
        index.add(range(500), units(500))
        index.remove(range(0, 500, 7))

    by_faiss, by_numpy = (index.search(query, 20) for index in indexes)

    assert [row for row, _ in by_faiss] == [row for row, _ in by_numpy]
    assert [score for _, score in by_faiss] == pytest.approx([score for _, score in by_numpy], abs=1e-6)


def test_without_faiss_numpy_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAISS is optional."""
    monkeypatch.setitem(importlib.import_module("sys").modules, "faiss", None)

    assert isinstance(make_backend(DIMENSION), NumpyMatrix)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.lists(st.integers(0, 300), max_size=90, unique=True)), max_size=8
)


@pytest.mark.parametrize("matrix", MATRICES)
@given(steps=STEPS, seed=st.integers(0, 9))
def test_after_any_additions_and_removals_the_best_are_found(
    matrix: type[NumpyMatrix], steps: list[tuple[str, list[int]]], seed: int
) -> None:
    """Lazy removal does not affect the results."""
    index, present, query = VectorIndex(DIMENSION, make=matrix), dict[int, NDArray[np.float32]](), units(1)[0]
    for number, (step, rows) in enumerate(steps):
        if step == "add":
            vectors = units(len(rows), seed=seed + number)
            index.add(rows, vectors)
            present.update(zip(rows, vectors, strict=True))
        else:
            index.remove(rows)
            present = {row: vector for row, vector in present.items() if row not in rows}

    found = index.search(query, 4)

    best = sorted((float(vector @ query) for vector in present.values()), reverse=True)[:4]
    assert len(index) == len(present)
    assert [score for _, score in found] == pytest.approx(best, abs=1e-5)
    assert all(float(present[row] @ query) == pytest.approx(score, abs=1e-5) for row, score in found)


def test_of_equal_vectors_the_newest_comes_first() -> None:
    """Newer items are more relevant."""
    index = VectorIndex(DIMENSION)
    index.add([1, 2, 3], np.repeat(units(1), 3, axis=0))

    assert [row for row, _ in index.search(units(1)[0], 3)] == [3, 2, 1]


@pytest.mark.parametrize("shape", [(2, DIMENSION), (1, DIMENSION + 1)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    """They cannot be compared."""
    with pytest.raises(ValueError, match="must have the shape"):
        VectorIndex(DIMENSION).add([1], np.ones(shape, np.float32))
