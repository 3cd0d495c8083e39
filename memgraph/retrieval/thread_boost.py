"""Facts of one conversation help each other: what was said beside a good match is more likely to matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models import MANUAL, UNKNOWN_THREAD, Fact

THREAD_WEIGHT = 0.25
"""How much of the mean of its thread's best scores a fact gets."""
TOP_N = 3
"""How many of a thread's scores are its best."""
NEIGHBOUR_WEIGHT = 0.25
"""How much a fact gets of the score of one learned just before or after it; half of that, of the next one."""
NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})


class ThreadBoost:
    """Which facts were learned together.

        helped = score + HELP * mean of the thread's BEST best scores
                       + BESIDE * max(score one place away, score two places away / 2)

    Args:
        facts: N facts in the order of the memory, which is that of learning.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        numbers: dict[str, int] = {}
        named = [fact.source not in NO_THREAD for fact in facts]
        self._thread = np.array([numbers.setdefault(fact.source, len(numbers)) for fact in facts], dtype=np.int64)
        self._thread[~np.array(named, dtype=bool)] = -1
        self._count = len(numbers)

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), with what the threads add."""
        matched = np.flatnonzero((scores > 0) & (self._thread >= 0))
        if not len(matched):
            return scores
        return scores + THREAD_WEIGHT * self._best(scores, matched) + NEIGHBOUR_WEIGHT * self._beside(scores)

    def _best(self, scores: NDArray[np.float64], matched: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each fact the mean of the best scores of its thread; a missing one counts 0."""
        best_first = matched[np.lexsort((-scores[matched], self._thread[matched]))]
        threads = self._thread[best_first]
        starts = np.searchsorted(threads, threads)
        first = best_first[np.arange(len(threads)) - starts < TOP_N]
        means = np.bincount(self._thread[first], scores[first], minlength=self._count + 1) / TOP_N
        return np.where(self._thread >= 0, means[self._thread], 0)

    def _beside(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each fact the best score beside it in its thread."""
        beside = np.zeros(len(scores))
        for away in (1, 2):
            together = (self._thread[away:] == self._thread[:-away]) & (self._thread[away:] >= 0)
            near = together / away
            np.maximum(beside[away:], scores[:-away] * near, out=beside[away:])
            np.maximum(beside[:-away], scores[away:] * near, out=beside[:-away])
        return beside
