"""Which facts fit the token budget: greedy, the best first, with a guaranteed share for some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

SUMMARIES_SHARE = 0.5
"""Share of the budget that the summaries may take."""


def fit(
    order: Sequence[int],
    costs: Sequence[float],
    preferred: AbstractSet[int],
    *,
    min_cost: float,
    max_tokens: int,
    guaranteed_tokens: int,
) -> list[int]:
    """Return the positions of the facts that fit, the best first.

    The preferred facts - corrections and preferences - fill their share first; the rest is open to every fact. A
    fact that does not fit does not block the ones after it.

    Args:
        order: Positions of the facts, the best first.
        costs: Tokens of each fact, by position; infinite for one that must not be selected.
        preferred: Positions of the preferred facts.
        min_cost: The lowest of *costs*: with fewer tokens left the search ends.
        max_tokens: Tokens for all facts.
        guaranteed_tokens: Tokens of these that only preferred facts may take.
    """
    candidates = ((rank, position) for rank, position in enumerate(order) if position in preferred)
    selected = _fill(candidates, costs, min_cost, min(max_tokens, guaranteed_tokens))
    left = max_tokens - sum(int(costs[position]) for position in selected.values())
    others = ((rank, position) for rank, position in enumerate(order) if rank not in selected)
    return [position for _, position in sorted({**selected, **_fill(others, costs, min_cost, left)}.items())]


def _fill(ranked: Iterable[tuple[int, int]], costs: Sequence[float], min_cost: float, left: float) -> dict[int, int]:
    """Select positions in order while they fit into *left* tokens; return them by their rank."""
    selected = dict[int, int]()
    if left < min_cost:
        return selected
    for rank, position in ranked:
        if costs[position] <= left:
            selected[rank] = position
            left -= costs[position]
            if left < min_cost:
                break
    return selected
