"""Search among unit vectors by inner product: by FAISS where it is installed, else by NumPy, with the same scores.

One question is answered by one thread: to share so little work among several takes ten times as long as soon as
something else wants the processor, as other agents' questions do.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from memgraph.retrieval.embeddings import Vector

SMALLEST = 256
"""Vectors that a matrix has room for at first."""
COMPACTION_THRESHOLD = 64
"""Removed vectors that are put up with in any index, besides a sixteenth of what it holds."""


class VectorBackend(Protocol):
    """Vectors in the order they were added."""

    def add(self, vectors: Vector) -> None: ...
    def search(self, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the scores and the places of the best *k*, which are at most all there are."""
        ...

    def at(self, places: Sequence[int]) -> Vector:
        """Return the vectors at *places*, at least one."""
        ...


class NumpyMatrix:
    """One array that doubles when it is full."""

    def __init__(self, dimension: int) -> None:
        self._rows = np.empty((SMALLEST, dimension), np.float32)
        self._count = 0

    def add(self, vectors: Vector) -> None:
        needed = self._count + len(vectors)
        if needed > len(self._rows):
            grown = np.empty((max(needed, 2 * len(self._rows)), self._rows.shape[1]), np.float32)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : needed] = vectors
        self._count = needed

    def search(self, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        scores = np.einsum("ij,j->i", self._rows[: self._count], vector)  # @ would start BLAS's threads
        best = np.argpartition(scores, self._count - k)[self._count - k :]
        return scores[best], best

    def at(self, places: Sequence[int]) -> Vector:
        return self._rows[np.asarray(places)]


class FaissMatrix:
    """FAISS's flat index, which compares with every vector too."""

    def __init__(self, dimension: int) -> None:
        self._faiss: Any = importlib.import_module("faiss")
        self._index: Any = self._faiss.IndexFlatIP(dimension)

    def add(self, vectors: Vector) -> None:
        self._index.add(np.ascontiguousarray(vectors))

    def search(self, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)  # holds for this thread alone
        try:
            scores, places = self._index.search(vector[np.newaxis], k)
        finally:
            self._faiss.omp_set_num_threads(threads)
        return scores[0], places[0]

    def at(self, places: Sequence[int]) -> Vector:
        return self._index.reconstruct_batch(np.asarray(places, np.int64))


def matrix_of(dimension: int) -> VectorBackend:
    """Return an empty matrix, of FAISS where the extra `faiss` is installed."""
    try:
        return FaissMatrix(dimension)
    except ImportError:
        return NumpyMatrix(dimension)


class VectorIndex:
    """Unit vectors by the number of the row they are of. Several threads may use it.

    What is removed is left out of what is found, and now and then the rest is copied, so that adding and removing
    cost the same however many there are.

    Args:
        dimension: Of each vector.
        make: Returns an empty matrix of a dimension.
    """

    def __init__(self, dimension: int, *, make: Callable[[int], VectorBackend] = matrix_of) -> None:
        self.dimension = dimension
        self._make = make
        self._matrix = make(dimension)
        self._rows: list[int | None] = []
        self._places: dict[int, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, row: int) -> bool:
        return row in self._places

    def add(self, rows: Sequence[int], vectors: Vector) -> None:
        """Add *vectors*, shape (N, D), of *rows*; a row that is there gets the new one.

        Raises:
            ValueError: If they are not as many as rows, or of another dimension.
        """
        if vectors.shape != (len(rows), self.dimension):
            raise ValueError(f"{len(rows)} rows of {self.dimension} numbers were to come, and {vectors.shape} came")
        with self._lock:
            self._forget(rows)
            self._places.update(zip(rows, range(len(self._rows), len(self._rows) + len(rows)), strict=True))
            self._rows.extend(rows)
            if rows:
                self._matrix.add(vectors)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove the vectors of *rows*; one that is not there is none the less gone."""
        with self._lock:
            self._forget(rows)
            if len(self._rows) - len(self._places) > COMPACTION_THRESHOLD + len(self._rows) // 16:
                self._compact()

    def search(self, vector: Vector, k: int) -> list[tuple[int, float]]:
        """Return the *k* best rows for a unit vector, with their cosine; the best first, of equals the newest."""
        with self._lock:
            gone = len(self._rows) - len(self._places)
            wanted = min(k + gone, len(self._rows))
            if not self._places or k < 1:
                return []
            scores, places = self._matrix.search(vector, wanted)
            rows = [self._rows[place] for place in cast("list[int]", places.tolist())]
        found = zip(rows, cast("list[float]", scores.tolist()), strict=True)
        there = [(row, score) for row, score in found if row is not None]
        return sorted(there, key=_best_first)[:k]

    def _forget(self, rows: Iterable[int]) -> None:
        for row in rows:
            place = self._places.pop(row, None)
            if place is not None:
                self._rows[place] = None

    def _compact(self) -> None:
        kept, places = list[int | None](self._places), list(self._places.values())
        matrix = self._make(self.dimension)
        if kept:
            matrix.add(self._matrix.at(places))
        self._matrix, self._rows = matrix, kept
        self._places = {row: place for place, row in enumerate(self._places)}


def _best_first(found: tuple[int, float]) -> tuple[float, int]:
    return -found[1], -found[0]
