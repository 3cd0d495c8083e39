"""Search in unit vectors by inner product: with FAISS if it is installed, else with NumPy, with the same scores.

Each search runs on one thread. Splitting so little work among several takes ten times as long when the processor is
busy, for example with searches of other agents.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from memgraph.retrieval.embeddings import Vector

INITIAL_CAPACITY = 256
"""Vectors for which a new matrix has room."""
COMPACTION_THRESHOLD = 64
"""Removed vectors that an index tolerates in addition to a sixteenth of its size."""


class VectorBackend(Protocol):
    """A matrix of vectors in the order of insertion."""

    def add(self, vectors: Vector) -> None: ...
    def search(self, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the scores and the positions of the best *k*, which is at most the number of vectors."""
        ...

    def at(self, positions: Sequence[int]) -> Vector:
        """Return the vectors at *positions*, at least one."""
        ...


class NumpyMatrix:
    """One NumPy array that doubles its capacity when it is full."""

    def __init__(self, dimension: int) -> None:
        self._rows = np.empty((INITIAL_CAPACITY, dimension), np.float32)
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
        scores = np.einsum("ij,j->i", self._rows[: self._count], vector)  # `@` would use the threads of BLAS
        best = np.argpartition(scores, self._count - k)[self._count - k :]
        return scores[best], best

    def at(self, positions: Sequence[int]) -> Vector:
        return self._rows[np.asarray(positions)]


class FaissMatrix:
    """FAISS's flat index, which compares with every vector as well."""

    def __init__(self, dimension: int) -> None:
        self._faiss: Any = importlib.import_module("faiss")
        self._index: Any = self._faiss.IndexFlatIP(dimension)

    def add(self, vectors: Vector) -> None:
        self._index.add(np.ascontiguousarray(vectors))

    def search(self, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)  # affects this thread only
        try:
            scores, positions = self._index.search(vector[np.newaxis], k)
        finally:
            self._faiss.omp_set_num_threads(threads)
        return scores[0], positions[0]

    def at(self, positions: Sequence[int]) -> Vector:
        return self._index.reconstruct_batch(np.asarray(positions, np.int64))


def make_backend(dimension: int) -> VectorBackend:
    """Return an empty matrix, of FAISS if the extra `faiss` is installed."""
    try:
        return FaissMatrix(dimension)
    except ImportError:
        return NumpyMatrix(dimension)


class VectorIndex:
    """Unit vectors by row number. Thread-safe.

    Removed vectors are only filtered from results, and deleted by an occasional compaction, so that the cost of adding
    and removing does not grow with the size.

    Args:
        dimension: Dimension of the vectors.
        make: Returns an empty matrix of a dimension.
    """

    def __init__(self, dimension: int, *, make: Callable[[int], VectorBackend] = make_backend) -> None:
        self.dimension = dimension
        self._make = make
        self._matrix = make(dimension)
        self._rows: list[int | None] = []
        self._positions: dict[int, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, row: int) -> bool:
        return row in self._positions

    def add(self, rows: Sequence[int], vectors: Vector) -> None:
        """Add *vectors*, shape (N, D), of *rows*; a known row gets the new vector.

        Raises:
            ValueError: If the shape is not (number of rows, dimension).
        """
        if vectors.shape != (len(rows), self.dimension):
            raise ValueError(f"vectors must have the shape ({len(rows)}, {self.dimension}), not {vectors.shape}")
        with self._lock:
            self._unlink(rows)
            self._positions.update(zip(rows, range(len(self._rows), len(self._rows) + len(rows)), strict=True))
            self._rows.extend(rows)
            if rows:
                self._matrix.add(vectors)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove the vectors of *rows*; unknown rows are ignored."""
        with self._lock:
            self._unlink(rows)
            if len(self._rows) - len(self._positions) > COMPACTION_THRESHOLD + len(self._rows) // 16:
                self._compact()

    def search(self, vector: Vector, k: int) -> list[tuple[int, float]]:
        """Return the *k* best rows for a unit vector, with their cosine, best first; of equal ones the newest first."""
        with self._lock:
            removed = len(self._rows) - len(self._positions)
            count = min(k + removed, len(self._rows))
            if not self._positions or k < 1:
                return []
            scores, positions = self._matrix.search(vector, count)
            rows = [self._rows[position] for position in cast("list[int]", positions.tolist())]
        found = zip(rows, cast("list[float]", scores.tolist()), strict=True)
        present = [(row, score) for row, score in found if row is not None]
        return sorted(present, key=_sort_key)[:k]

    def _unlink(self, rows: Iterable[int]) -> None:
        for row in rows:
            position = self._positions.pop(row, None)
            if position is not None:
                self._rows[position] = None

    def _compact(self) -> None:
        rows, positions = list[int | None](self._positions), list(self._positions.values())
        matrix = self._make(self.dimension)
        if rows:
            matrix.add(self._matrix.at(positions))
        self._matrix, self._rows = matrix, rows
        self._positions = {row: position for position, row in enumerate(self._positions)}


def _sort_key(found: tuple[int, float]) -> tuple[float, int]:
    return -found[1], -found[0]
