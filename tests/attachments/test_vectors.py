"""Search among vectors."""

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
    """Nobody's memory changes because a package was installed."""
    pytest.importorskip("faiss")
    asked, indexes = units(1, seed=1)[0], [VectorIndex(DIMENSION, make=make) for make in (FaissMatrix, NumpyMatrix)]
    for index in indexes:
        index.add(range(500), units(500))
        index.remove(range(0, 500, 7))

    by_faiss, by_numpy = (index.search(asked, 20) for index in indexes)

    assert [row for row, _ in by_faiss] == [row for row, _ in by_numpy]
    assert [score for _, score in by_faiss] == pytest.approx([score for _, score in by_numpy], abs=1e-6)


def test_without_faiss_numpy_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is an extra."""
    monkeypatch.setitem(importlib.import_module("sys").modules, "faiss", None)

    assert isinstance(make_backend(DIMENSION), NumpyMatrix)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.lists(st.integers(0, 300), max_size=90, unique=True)), max_size=8
)


@pytest.mark.parametrize("matrix", MATRICES)
@given(steps=STEPS, seed=st.integers(0, 9))
def test_whatever_came_and_went_the_best_of_what_is_there_is_found(
    matrix: type[NumpyMatrix], steps: list[tuple[str, list[int]]], seed: int
) -> None:
    """Removing is lazy inside, and nobody notices."""
    index, there, asked = VectorIndex(DIMENSION, make=matrix), dict[int, NDArray[np.float32]](), units(1)[0]
    for number, (step, rows) in enumerate(steps):
        if step == "add":
            vectors = units(len(rows), seed=seed + number)
            index.add(rows, vectors)
            there.update(zip(rows, vectors, strict=True))
        else:
            index.remove(rows)
            there = {row: vector for row, vector in there.items() if row not in rows}

    found = index.search(asked, 4)

    best = sorted((float(vector @ asked) for vector in there.values()), reverse=True)[:4]
    assert len(index) == len(there)
    assert [score for _, score in found] == pytest.approx(best, abs=1e-5)
    assert all(float(there[row] @ asked) == pytest.approx(score, abs=1e-5) for row, score in found)


def test_of_equals_the_newest_comes_first() -> None:
    """What was said last counts."""
    index = VectorIndex(DIMENSION)
    index.add([1, 2, 3], np.repeat(units(1), 3, axis=0))

    assert [row for row, _ in index.search(units(1)[0], 3)] == [3, 2, 1]


@pytest.mark.parametrize("shape", [(2, DIMENSION), (1, DIMENSION + 1)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    """Nothing is compared with what it cannot be compared with."""
    with pytest.raises(ValueError, match="must have the shape"):
        VectorIndex(DIMENSION).add([1], np.ones(shape, np.float32))
