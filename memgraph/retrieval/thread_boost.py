"""Facts of one conversation support each other: what was said near a good match is more likely to matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models import MANUAL, UNKNOWN_THREAD, Fact

THREAD_WEIGHT = 0.25
"""Weight of the mean of the best scores of a fact's thread."""
TOP_N = 3
"""How many scores of a thread are its best."""
NEIGHBOUR_WEIGHT = 0.25
"""Weight of the score of a fact learned just before or after; the next but one counts half."""
MAX_DISTANCE = 2
NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""


class ThreadBoost:
    """The threads that facts were learned from, and what they add to scores.

        boosted = score + THREAD_WEIGHT * mean of the TOP_N best scores of the thread
                        + NEIGHBOUR_WEIGHT * max(score at distance 1, score at distance 2 / 2)

    Args:
        facts: N facts in the order of the memory, which is that of learning.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        numbers: dict[str, int] = {}
        has_thread = np.array([fact.source not in NO_THREAD for fact in facts], dtype=bool)
        self._threads = np.array([numbers.setdefault(fact.source, len(numbers)) for fact in facts], dtype=np.int64)
        self._threads[~has_thread] = -1
        self._count = len(numbers)

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), each >= 0, with what their threads add."""
        matches = np.flatnonzero((scores > 0) & (self._threads >= 0))
        if not len(matches):
            return scores
        return (
            scores
            + THREAD_WEIGHT * self._thread_means(scores, matches)
            + NEIGHBOUR_WEIGHT * self._neighbour_scores(scores)
        )

    def _thread_means(self, scores: NDArray[np.float64], matches: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each fact the mean of the TOP_N best scores of its thread; missing ones count 0."""
        best_first = matches[np.lexsort((-scores[matches], self._threads[matches]))]
        threads = self._threads[best_first]
        starts = np.searchsorted(threads, threads)
        top = best_first[np.arange(len(threads)) - starts < TOP_N]
        means = np.bincount(self._threads[top], scores[top], minlength=self._count) / TOP_N
        return np.where(self._threads >= 0, means[self._threads], 0)

    def _neighbour_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each fact the best score near it in its thread, divided by the distance."""
        best = np.zeros(len(scores))
        for distance in range(1, MAX_DISTANCE + 1):
            is_same = (self._threads[distance:] == self._threads[:-distance]) & (self._threads[distance:] >= 0)
            weight = is_same / distance
            np.maximum(best[distance:], scores[:-distance] * weight, out=best[distance:])
            np.maximum(best[:-distance], scores[distance:] * weight, out=best[:-distance])
        return best
