"""What raises the score of a document apart from its words: its conversation, and the days that it is about.

Documents of one conversation support each other: what was said near a match is more likely to matter. Documents of a
day are found by the dates in a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models.dates import DAY_CHARS, days_of

THREAD_WEIGHT = 0.25
"""Weight of the mean of the best scores of a document's thread."""
TOP_N = 3
"""How many scores of a thread are its best."""
NEIGHBOUR_WEIGHT = 0.25
"""Weight of the score of a document just before or after; the next but one counts half."""
MAX_DISTANCE = 2


class ThreadBoost:
    """The threads of documents, and what they add to scores.

        boosted = score + THREAD_WEIGHT * mean of the TOP_N best scores of the thread
                        + NEIGHBOUR_WEIGHT * sum of (score / distance) of its neighbours in the thread

    Args:
        threads: The thread of each of N documents, in the order in which they were said; empty if there is none.
    """

    def __init__(self, threads: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._threads = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in threads], np.int64)
        self._count = len(numbers)
        in_order = np.argsort(self._threads, kind="stable")
        self._by_thread = in_order[self._threads[in_order] >= 0]
        self._starts = np.searchsorted(self._threads[self._by_thread], np.arange(self._count))
        self._lengths = np.diff(self._starts, append=len(self._by_thread))
        self._weights = [
            ((self._threads[distance:] == self._threads[:-distance]) & (self._threads[distance:] >= 0)) / distance
            for distance in range(1, MAX_DISTANCE + 1)
        ]
        """By distance: what the score of a document counts for the one so far after it, and the other way round."""

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), each >= 0, with what their threads add."""
        if not self._count:
            return scores
        return scores + THREAD_WEIGHT * self._thread_means(scores) + NEIGHBOUR_WEIGHT * self._neighbour_scores(scores)

    def _thread_means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document the mean of the TOP_N best scores of its thread; missing ones count 0."""
        left = scores[self._by_thread]
        sums, wanted = np.zeros(self._count), np.full(self._count, TOP_N)
        for _ in range(TOP_N):  # without sorting: the best of each thread and all that equal it, then the next
            best = np.maximum.reduceat(left, self._starts)
            is_best = left == best.repeat(self._lengths)
            # as bytes, numpy adds them without converting each
            taken = np.minimum(np.add.reduceat(is_best.view(np.int8), self._starts, dtype=np.int64), wanted)
            sums += taken * best
            wanted -= taken
            left[is_best] = 0
        return np.where(self._threads >= 0, (sums / TOP_N)[self._threads], 0)

    def _neighbour_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document the sum of the scores near it in its thread, each divided by the distance."""
        near = np.zeros(len(scores))
        for distance, weight in enumerate(self._weights, 1):
            near[distance:] += scores[:-distance] * weight
            near[:-distance] += scores[distance:] * weight
        return near


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
