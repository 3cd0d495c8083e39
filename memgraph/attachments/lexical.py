"""Lexical similarity of texts, and an index by Jaccard similarity."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

COMPACTION_THRESHOLD = 64
"""Removed texts that an index tolerates in addition to a quarter of its size."""


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
    return (jaccard + lcs_length(query, text) / min(len(query), len(text))) / 2


def lcs_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two texts, given as terms.

    One bit of an integer represents each position in *one*, so that a term of *other* costs a few operations.

    Source:
        Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004.
    """
    positions: dict[str, int] = {}
    for index, term in enumerate(one):
        positions[term] = positions.get(term, 0) | 1 << index
    full = (1 << len(one)) - 1
    unmatched = full
    for term in other:
        matched = unmatched & positions.get(term, 0)
        unmatched = (unmatched + matched | unmatched - matched) & full
    return len(one) - unmatched.bit_count()


class JaccardIndex:
    """Texts by row number, searched by Jaccard similarity. Not thread-safe."""

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

    def add(self, row: int, text: Iterable[str]) -> None:
        """Add the terms of a new row."""
        self._put(row, tuple({sys.intern(term) for term in text}))

    def _put(self, row: int, unique: tuple[str, ...]) -> None:
        position = len(self._rows)
        self._terms[row] = unique
        self._rows.append(row)
        self._sizes.append(len(unique))
        for term in unique:
            self._postings.setdefault(term, array("q")).append(position)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove the texts of *rows*; unknown rows are ignored."""
        for row in rows:
            self._terms.pop(row, None)
        if len(self._rows) - len(self._terms) > COMPACTION_THRESHOLD + len(self._rows) // 4:
            remaining = self._terms
            self._clear()
            for row, unique in remaining.items():
                self._put(row, unique)

    def search(self, query: Sequence[str], k: int) -> list[int]:
        """Return the *k* rows most similar to *query*, best first; of equal ones the newest first."""
        if not self._terms or k < 1:
            return []
        shared = np.zeros(len(self._rows))
        unique = set(query)
        for term in unique:
            if term in self._postings:
                shared[np.frombuffer(self._postings[term], np.int64)] += 1
        either = len(unique) + np.frombuffer(self._sizes, np.int64) - shared
        scores = shared / np.maximum(either, 1)
        rows = np.frombuffer(self._rows, np.int64)
        order = np.lexsort((-rows, -scores))
        present = (int(row) for row in rows[order] if int(row) in self._terms)
        return list(islice(present, k))
