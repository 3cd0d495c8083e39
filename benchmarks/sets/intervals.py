"""Intervals of shares that may be all or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from common import Row


def hit_row(name: str, hits: Sequence[bool], *, note: str = "") -> Row:
    """The share of *hits*, with Wilson's interval: one drawn from hits alone is a point where all of them hit."""
    low, high = wilson(sum(hits), len(hits))
    return Row(name, sum(hits) / len(hits), "share", low, high, note=note)


def wilson(hits: float, of: float, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share; all of it where nothing was counted.

    Source:
        Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    """
    if not of:
        return 0.0, 1.0
    share, wide = hits / of, z * z / of
    middle = (share + wide / 2) / (1 + wide)
    reach = z * math.sqrt(share * (1 - share) / of + wide / of / 4) / (1 + wide)
    # rounding must not leave the share outside
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))
