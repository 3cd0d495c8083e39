"""Documents of one conversation support each other: what was said near a match is more likely to matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
        self._neighbours = [
            (self._threads[distance:] == self._threads[:-distance]) & (self._threads[distance:] >= 0)
            for distance in range(1, MAX_DISTANCE + 1)
        ]

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
            is_best = left == np.repeat(best, self._lengths)
            taken = np.minimum(np.add.reduceat(is_best, self._starts, dtype=np.int64), wanted)
            sums += taken * best
            wanted -= taken
            left[is_best] = 0
        return np.where(self._threads >= 0, (sums / TOP_N)[self._threads], 0)

    def _neighbour_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document the sum of the scores near it in its thread, each divided by the distance."""
        near = np.zeros(len(scores))
        for distance, is_same in enumerate(self._neighbours, 1):
            weight = is_same / distance
            near[distance:] += scores[:-distance] * weight
            near[:-distance] += scores[distance:] * weight
        return near
