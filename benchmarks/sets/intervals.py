"""Intervals of shares that may be 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from common import Row


def hit_row(name: str, hits: Sequence[bool], *, note: str = "") -> Row:
    """Return the share of *hits* with Wilson's interval; a bootstrap would degenerate to a point if all hit."""
    low, high = wilson(sum(hits), len(hits))
    return Row(name, sum(hits) / len(hits), "share", low, high, note=note)


def wilson(hits: float, of: float, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share; [0, 1] if nothing was counted.

    Source:
        Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    """
    if not of:
        return 0.0, 1.0
    share, wide = hits / of, z * z / of
    middle = (share + wide / 2) / (1 + wide)
    reach = z * math.sqrt(share * (1 - share) / of + wide / of / 4) / (1 + wide)
    # rounding must not exclude the share itself
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))
