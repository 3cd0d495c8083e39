"""Likeness of texts by their words."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

SLACK = 64
"""Removed texts that are put up with in any index, besides a quarter of what it holds."""


def text_similarity(asked: Sequence[str], said: Sequence[str]) -> float:
    """Return how much *said* is like *asked*, both in terms, within [0, 1].

    (Jaccard + longest common subsequence) / 2
    Jaccard = terms in both / terms in either
    longest common subsequence = its length / terms of the shorter text
    """
    if not asked or not said:
        return 0.0
    one, other = set(asked), set(said)
    jaccard = len(one & other) / len(one | other)
    return (jaccard + lcs_length(asked, said) / min(len(asked), len(said))) / 2


def lcs_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two texts in terms.

    A bit of one number stands for each place of *one*, so that a term of *other* costs a handful of operations.

    Source:
        Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004.
    """
    places: dict[str, int] = {}
    for place, term in enumerate(one):
        places[term] = places.get(term, 0) | 1 << place
    full = (1 << len(one)) - 1
    open_places = full
    for term in other:
        matched = open_places & places.get(term, 0)
        open_places = (open_places + matched | open_places - matched) & full
    return len(one) - open_places.bit_count()


class JaccardIndex:
    """Texts by the number of the row they are of, found by Jaccard. One thread at a time."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._terms: dict[int, tuple[str, ...]] = {}
        self._rows = array("q")
        self._sizes = array("q")
        self._postings: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def __contains__(self, row: int) -> bool:
        return row in self._terms

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(self._terms)

    def add(self, row: int, said: Iterable[str]) -> None:
        """Add the terms of a row that is not there."""
        self._put(row, tuple({sys.intern(term) for term in said}))

    def _put(self, row: int, found: tuple[str, ...]) -> None:
        place = len(self._rows)
        self._terms[row] = found
        self._rows.append(row)
        self._sizes.append(len(found))
        for term in found:
            self._postings.setdefault(term, array("q")).append(place)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove the texts of *rows*; one that is not there is none the less gone."""
        for row in rows:
            self._terms.pop(row, None)
        if len(self._rows) - len(self._terms) > SLACK + len(self._rows) // 4:
            kept = self._terms
            self._clear()
            for row, found in kept.items():
                self._put(row, found)

    def search(self, asked: Sequence[str], k: int) -> list[int]:
        """Return the *k* rows whose terms are most like *asked*; the best first, of equals the newest."""
        if not self._terms or k < 1:
            return []
        shared = np.zeros(len(self._rows))
        wanted = set(asked)
        for term in wanted:
            if term in self._postings:
                shared[np.frombuffer(self._postings[term], np.int64)] += 1
        either = len(wanted) + np.frombuffer(self._sizes, np.int64) - shared
        scores = shared / np.maximum(either, 1)
        rows = np.frombuffer(self._rows, np.int64)
        order = np.lexsort((-rows, -scores))
        there = (int(row) for row in rows[order] if int(row) in self._terms)
        return [row for row, _ in zip(there, range(k), strict=False)]
