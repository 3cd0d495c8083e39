"""Search index of one owner's items, in RAM, synchronized with the database."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memgraph.attachments.lexical import JaccardIndex, text_similarity
from memgraph.attachments.vector_table import NO_MODEL
from memgraph.attachments.vectors import VectorIndex
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memgraph.attachments.item_store import ItemStore
    from memgraph.attachments.vector_table import VectorTable
    from memgraph.retrieval.embeddings import Vector

COSINE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
CANDIDATES = 50
"""Minimum number of items, best by cosine, that are then compared by words; or three times the requested ones."""


class SearchHit(NamedTuple):
    """An item and how well it matches."""

    number: int
    cosine: float
    score: float


class OwnerIndex:
    """The items of one owner, with the vectors of one model.

    For an item without a vector, the lexical similarity replaces the cosine.

    Args:
        owner: The owner of the items.
        model: Number of the model; NO_MODEL compares words only.
        items: The stored items.
        table: Their vectors.
    """

    def __init__(self, owner: str, model: int, *, items: ItemStore, table: VectorTable) -> None:
        self._owner, self._model = owner, model
        self._items, self._table = items, table
        self._numbers: deque[int] = deque()
        self._last = 0
        self._vectors: VectorIndex | None = None
        self._lexical = JaccardIndex()
        self._lock = threading.Lock()

    def search(self, text: str, vector: Vector | None, *, top_k: int, threshold: float) -> list[SearchHit]:
        """Return the best items, best first; of equal ones the newest first.

            score = 0.7 * cosine + 0.3 * lexical similarity

        Args:
            text: The query.
            vector: Its unit vector, by the model of this index; None without a model.
            top_k: Maximum number of items.
            threshold: Minimum cosine.
        """
        query = extract_terms(text)
        with self._lock:
            self._sync()
            cosines = self._candidates(query, vector, max(CANDIDATES, 3 * top_k))
            terms = self._items.terms(cosines)
            if deleted := [number for number in cosines if number not in terms]:
                self._drop(deleted)  # not the oldest ones, so another writer has deleted them
        hits = (_make_hit(number, cosines[number], text_similarity(query, words)) for number, words in terms.items())
        return sorted((hit for hit in hits if hit.cosine >= threshold), key=_sort_key)[:top_k]

    def _candidates(self, query: Sequence[str], vector: Vector | None, count: int) -> dict[int, float | None]:
        """Return the cosines of the items that may be best; None for those without a vector."""
        cosines: dict[int, float | None] = dict.fromkeys(self._lexical.search(query, count))
        if self._vectors and vector is not None:
            cosines.update(self._vectors.search(vector, count))
        return cosines

    def _sync(self) -> None:
        """Insert new items and drop evicted ones: numbers only grow, and the oldest are evicted first."""
        oldest = self._items.oldest(self._owner)
        evicted = list[int]()
        while self._numbers and (oldest is None or self._numbers[0] < oldest):
            evicted.append(self._numbers.popleft())
        self._drop(evicted)
        new = self._table.list_since(self._model, self._owner, self._last)
        self._insert({number: vector for number, _, vector in new if vector is not None})
        for number, words, vector in new:
            self._numbers.append(number)
            if vector is None:
                self._lexical.add(number, words.split())
        self._last = self._numbers[-1] if new else self._last
        if self._model != NO_MODEL and len(self._lexical):
            embedded = self._table.get_many(self._model, self._lexical.rows)  # since the last synchronization
            self._lexical.remove(embedded)
            self._insert(embedded)

    def _insert(self, vectors: Mapping[int, Vector]) -> None:
        if not vectors:
            return
        stacked = np.stack(list(vectors.values()))
        self._vectors = self._vectors or VectorIndex(stacked.shape[1])
        self._vectors.add(list(vectors), stacked)

    def _drop(self, numbers: Sequence[int]) -> None:
        self._lexical.remove(numbers)
        if self._vectors:
            self._vectors.remove(numbers)


def _make_hit(number: int, cosine: float | None, lexical: float) -> SearchHit:
    cosine = lexical if cosine is None else cosine
    return SearchHit(number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * lexical)


def _sort_key(hit: SearchHit) -> tuple[float, int]:
    return -hit.score, -hit.number
