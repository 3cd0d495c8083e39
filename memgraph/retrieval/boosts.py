"""What raises the score of a document apart from its words: its neighbours, and the days that it is about.

What was said near a match is more likely to matter. Documents of a day are found by the dates in a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models.dates import DAY_CHARS, days_of

NEIGHBOUR_WEIGHT = 0.25
"""Weight of the score of a document just before or after; the next but one counts half.

At 0 LoCoMo loses .023 (episode_recall.py), and LifeBench and RealMem win .022 to .053 (long_talks.py).
"""
MAX_DISTANCE = 2


class NeighbourBoost:
    """The threads of documents, and what the neighbours of a document in its thread add to its score.

        boosted = score + NEIGHBOUR_WEIGHT * sum of (score / distance) of its neighbours in the thread

    Args:
        threads: The thread of each of N documents, in the order in which they were said; empty if there is none.
    """

    def __init__(self, threads: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        found = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in threads], np.int64)
        self._weights = [
            NEIGHBOUR_WEIGHT * ((found[distance:] == found[:-distance]) & (found[distance:] >= 0)) / distance
            for distance in range(1, MAX_DISTANCE + 1)
        ]
        """By distance: what the score of a document counts for the one so far after it, and the other way round."""

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), each >= 0, with what their neighbours add."""
        boosted = scores.copy()
        for distance, weight in enumerate(self._weights, 1):
            boosted[distance:] += scores[:-distance] * weight
            boosted[:-distance] += scores[distance:] * weight
        return boosted


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
