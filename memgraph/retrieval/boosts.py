"""What raises the score of a document apart from its words: its neighbours, and the days that it is about.

What was said near a match is more likely to matter. Documents of a day are found by the dates in a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models.dates import DAY_CHARS, days_of

NEIGHBOUR_WEIGHT = 0.75
"""Weight of the score of a document just before or after; the next but one counts half.

At 0 LoCoMo loses .08 to .09 of the evidence.
"""
MAX_DISTANCE = 2
SHORT_TERMS = 12
"""A document of so many terms or fewer takes all of that; a longer one stands more by itself, and takes less.

If all take the same, RealMem loses .04 to .08 of the evidence.
"""


class NeighbourBoost:
    """The threads of documents, and what the neighbours of a document in its thread add to its score.

        boosted = score + NEIGHBOUR_WEIGHT * min(1, SHORT_TERMS / length) * max of (score / distance) of its neighbours

    Args:
        threads: The thread of each of N documents, in the order in which they were said; empty if there is none.
        lengths: How many terms each has, shape (N,).
    """

    def __init__(self, threads: Sequence[str], lengths: NDArray[np.float64]) -> None:
        numbers: dict[str, int] = {}
        found = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in threads], np.int64)
        self._weights = [
            ((found[distance:] == found[:-distance]) & (found[distance:] >= 0)) / distance
            for distance in range(1, MAX_DISTANCE + 1)
        ]
        """By distance: what the score of a document counts for the one so far after it, and the other way round."""
        self._shares = NEIGHBOUR_WEIGHT * np.minimum(1, SHORT_TERMS / np.maximum(1, lengths))

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), each >= 0, with what their neighbours add."""
        best = np.zeros(len(scores))
        for distance, weight in enumerate(self._weights, 1):
            np.maximum(best[distance:], scores[:-distance] * weight, out=best[distance:])
            np.maximum(best[:-distance], scores[distance:] * weight, out=best[:-distance])
        return scores + self._shares * best


class DateIndex:
    """The days that documents are about.

    Args:
        dates: The (partial) ISO 8601 dates of each of N documents, in any order: each is about the time from the first
            to the last of them. A text that is not a date counts as none.
    """

    def __init__(self, dates: Sequence[Sequence[str]]) -> None:
        spans = [_span(of_document) for of_document in dates]
        self._first = np.array([first for first, _ in spans], dtype=np.int64)
        self._last = np.array([last for _, last in spans], dtype=np.int64)

    def find(self, dates: Iterable[str]) -> NDArray[np.bool_]:
        """Return for each document whether it is about one of the partial *dates*, shape (N,)."""
        found = np.zeros(len(self._first), dtype=bool)
        for value in dates:
            first, last = _span([value])
            found |= (self._first <= last) & (self._last >= first)
        return found


_NEVER = (1, 0)
"""The span of a document without a date, which overlaps no other."""


def _span(dates: Iterable[str]) -> tuple[int, int]:
    """Return the first and the last day of *dates*, as ordinals."""
    found = [days for value in dates if (days := days_of(value[:DAY_CHARS]))]
    if not found:
        return _NEVER
    return min(days.first for days in found).toordinal(), max(days.last for days in found).toordinal()
