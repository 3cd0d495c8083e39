"""The days that documents are about, to be found by the dates in a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.text.dates import days_of

DAY_CHARS = len("2026-05-03")


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
