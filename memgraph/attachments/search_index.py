"""The items of one owner in RAM, ready to be searched, following what others write."""

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
"""Items that are best by cosine and are then compared by words, at least; three times as many as are asked for."""


class SearchHit(NamedTuple):
    """An item, and how well it answers."""

    number: int
    cosine: float
    score: float


class OwnerIndex:
    """What one owner has, with the vectors of one model.

    An item without a vector is found by its words, which stand in for its cosine too.

    Args:
        owner: Whose items.
        model: The number of the model; NO_MODEL compares words only.
        shelf: The items.
        table: Their vectors.
    """

    def __init__(self, owner: str, model: int, *, shelf: ItemStore, table: VectorTable) -> None:
        self._owner, self._model = owner, model
        self._shelf, self._table = shelf, table
        self._numbers: deque[int] = deque()
        self._last = 0
        self._vectors: VectorIndex | None = None
        self._words = JaccardIndex()
        self._lock = threading.Lock()

    def ranked(self, text: str, vector: Vector | None, *, top_k: int, threshold: float) -> list[SearchHit]:
        """Return the best items as they are now, the best first; of equals the newest.

            score = 0.7 * cosine + 0.3 * likeness of words

        Args:
            text: What is asked.
            vector: Its unit vector, by the model of this view; None where there is none.
            top_k: At most so many.
            threshold: The least cosine.
        """
        asked = extract_terms(text)
        with self._lock:
            self._sync()
            cosines = self._candidates(asked, vector, max(CANDIDATES, 3 * top_k))
            said = self._shelf.terms(cosines)
            if gone := [number for number in cosines if number not in said]:
                self._drop(gone)  # somebody took them out of the middle
        found = (_ranked(number, cosines[number], text_similarity(asked, words)) for number, words in said.items())
        return sorted((one for one in found if one.cosine >= threshold), key=_best_first)[:top_k]

    def _candidates(self, asked: Sequence[str], vector: Vector | None, count: int) -> dict[int, float | None]:
        """Return the cosine of the items that may be best; None where there is no vector."""
        cosines: dict[int, float | None] = dict.fromkeys(self._words.search(asked, count))
        if self._vectors and vector is not None:
            cosines.update(self._vectors.search(vector, count))
        return cosines

    def _sync(self) -> None:
        """Take in what came, and let go of what went: numbers only grow, and the oldest go first."""
        oldest = self._shelf.oldest(self._owner)
        gone = list[int]()
        while self._numbers and (oldest is None or self._numbers[0] < oldest):
            gone.append(self._numbers.popleft())
        self._drop(gone)
        came = self._table.list_since(self._model, self._owner, self._last)
        self._insert({number: vector for number, _, vector in came if vector is not None})
        for number, words, vector in came:
            self._numbers.append(number)
            if vector is None:
                self._words.add(number, words.split())
        self._last = self._numbers[-1] if came else self._last
        if self._model != NO_MODEL and len(self._words):
            late = self._table.get_many(self._model, self._words.rows)
            self._words.remove(late)
            self._insert(late)

    def _insert(self, vectors: Mapping[int, Vector]) -> None:
        if not vectors:
            return
        together = np.stack(list(vectors.values()))
        self._vectors = self._vectors or VectorIndex(together.shape[1])
        self._vectors.add(list(vectors), together)

    def _drop(self, numbers: Sequence[int]) -> None:
        self._words.remove(numbers)
        if self._vectors:
            self._vectors.remove(numbers)


def _ranked(number: int, cosine: float | None, words: float) -> SearchHit:
    cosine = words if cosine is None else cosine
    return SearchHit(number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * words)


def _best_first(one: SearchHit) -> tuple[float, int]:
    return -one.score, -one.number
