"""The search index of one owner's items, in RAM: vectors by inner product, and the core's terms and their idf."""

from __future__ import annotations

import importlib
import threading
from array import array
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from memgraph.retrieval.bm25 import idf
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.attachments.embedding import Embedder
    from memgraph.attachments.items import ItemMemory, ItemText
    from memgraph.retrieval.vector_store import Vector

COSINE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
CANDIDATES = 50
"""Minimum number of items, best by cosine or by the idf of shared terms, that are then compared by words; or three
times the requested ones."""
MAX_DELETED = 64
"""Deleted items that an index tolerates in addition to a quarter of its size."""


class SearchHit(NamedTuple):
    """An item and how well it matches."""

    number: int
    cosine: float
    score: float
    vector: Vector | None


class OwnerIndex:
    """The items of one owner. For an item without a vector, the lexical similarity replaces the cosine.

    Args:
        items: The stored items.
        owner: The owner of the items.
        embedder: Their embedding model; None compares words only.
    """

    def __init__(self, items: ItemMemory, owner: str, embedder: Embedder | None) -> None:
        self._items, self._owner, self._embedder = items, owner, embedder
        self._lock = threading.Lock()
        self._clear()

    def search(self, text: str, *, top_k: int, threshold: float) -> list[SearchHit]:
        """Return the best items, best first; of equal ones the newest first.

            score = 0.7 * cosine + 0.3 * lexical similarity

        Args:
            text: The query.
            top_k: Maximum number of items.
            threshold: Minimum cosine.

        Raises:
            EmbeddingError: If the model fails.
        """
        vector = self._embedder.embed_query(text) if self._embedder else None
        with self._lock:
            deleted = self._refresh()
            found = self._candidates(text, vector, deleted + max(CANDIDATES, 3 * top_k))
        query, terms = extract_terms(text), self._items.terms(found)
        hits = [_make_hit(number, text_similarity(query, words), *found[number]) for number, words in terms.items()]
        return sorted((hit for hit in hits if hit.cosine >= threshold), key=_sort_key)[:top_k]

    def _clear(self) -> None:
        self._last = 0
        self._generation = self._embedder.generation if self._embedder else 0
        self._embedded = np.zeros(0, np.int64)
        self._vectors: Vector = np.zeros((0, 0), np.float32)
        self._others = array("q")
        self._postings: dict[str, array[int]] = {}

    def _refresh(self) -> int:
        """Add new items, and return how many of the index are deleted; a few of them are only skipped."""
        if self._embedder and self._embedder.generation != self._generation:
            self._clear()  # the vectors are of another model
        count, new = self._items.since(self._owner, self._last)
        deleted = len(self._embedded) + len(self._others) + len(new) - count
        if deleted > MAX_DELETED + count // 4:
            self._clear()
            _, new = self._items.since(self._owner, 0)
            deleted = 0
        if new:
            vectors, known = self._embed([item.summary for item in new])
            if self._embedder and self._embedder.generation != self._generation:
                return self._refresh()
            self._add(new, vectors, known)
        return max(0, deleted)

    def _embed(self, texts: Sequence[str]) -> tuple[Vector, NDArray[np.bool_]]:
        if self._embedder:
            return self._embedder.embed_texts(texts)
        return np.zeros((len(texts), 0), np.float32), np.zeros(len(texts), np.bool_)

    def _add(self, new: Sequence[ItemText], vectors: Vector, known: NDArray[np.bool_]) -> None:
        numbers = np.array([item.number for item in new])
        if known.any():
            self._vectors = np.concatenate([self._vectors.reshape(-1, vectors.shape[1]), vectors[known]])
            self._embedded = np.concatenate([self._embedded, numbers[known]])
        for item in (item for item, has in zip(new, known, strict=True) if not has):
            for term in set(item.terms.split()):
                self._postings.setdefault(term, array("q")).append(len(self._others))
            self._others.append(item.number)
        self._last = new[-1].number

    def _candidates(
        self, text: str, vector: Vector | None, count: int
    ) -> dict[int, tuple[float, Vector] | tuple[None, None]]:
        """Return the items that may be best, with their cosine and their vector; None for those that have none."""
        found: dict[int, tuple[float, Vector] | tuple[None, None]] = {}
        if self._others:
            found.update(dict.fromkeys(self._best_by_words(text)[:count].tolist(), (None, None)))
        if len(self._embedded) and vector is not None:
            cosines, positions = best_by_cosine(self._vectors, vector, count)
            pairs = zip(cosines.tolist(), self._vectors[positions], strict=True)
            found.update(zip(self._embedded[positions].tolist(), pairs, strict=True))
        return found

    def _best_by_words(self, text: str) -> NDArray[np.int64]:
        """Return the items without a vector, those first that share the rarest terms with *text*."""
        numbers, scores = np.array(self._others), np.zeros(len(self._others))
        for term in set(extract_terms(text)):
            if positions := self._postings.get(term):
                scores[np.frombuffer(positions, np.int64)] += idf(len(numbers), len(positions))
        return numbers[np.lexsort((-numbers, -scores))]


def best_by_cosine(vectors: Vector, vector: Vector, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the cosines and the positions of the best *k* unit vectors, best first; of equal ones the newest first.

    FAISS is used if it is installed. It runs on one thread: splitting so little work among several takes ten times as
    long when the processor is busy, for example with searches of other agents.
    """
    k, faiss = min(k, len(vectors)), load_faiss()
    if faiss is None:
        cosines = np.einsum("ij,j->i", vectors, vector)  # `@` would use the threads of BLAS
        positions = np.argpartition(cosines, len(vectors) - k)[len(vectors) - k :]
        cosines = cosines[positions]
    else:
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # affects this thread only
        try:
            found = faiss.knn(vector[np.newaxis], vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        finally:
            faiss.omp_set_num_threads(threads)
        cosines, positions = (each[0] for each in found)
    order = np.lexsort((-positions, -cosines))
    return cosines[order], positions[order]


@cache
def load_faiss() -> Any:  # noqa: ANN401 - a module without types
    """Return the package of the extra `faiss`; None if it is not installed."""
    try:
        return importlib.import_module("faiss")
    except ImportError:
        return None


def text_similarity(query: Sequence[str], text: Sequence[str]) -> float:
    """Return the similarity of two texts, given as terms, within [0, 1].

    (Jaccard + longest common subsequence) / 2
    Jaccard = terms in both / terms in either
    longest common subsequence = its length / terms of the shorter text
    """
    if not query or not text:
        return 0.0
    one, other = set(query), set(text)
    jaccard = len(one & other) / len(one | other)
    return (jaccard + LCSseq.similarity(query, text) / min(len(query), len(text))) / 2


def _make_hit(number: int, lexical: float, cosine: float | None, vector: Vector | None) -> SearchHit:
    cosine = lexical if cosine is None else cosine
    return SearchHit(number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * lexical, vector)


def _sort_key(hit: SearchHit) -> tuple[float, int]:
    return -hit.score, -hit.number
