"""What fits: facts, the best first, until the budget is full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from memgraph.retrieval.render import FACTS
from memgraph.text.tokens import count_tokens

SUMMARIES_SHARE = 0.5
"""Of the budget, what the summaries take at most."""


def fit(
    order: Sequence[int],
    costs: Sequence[float],
    favoured: AbstractSet[int],
    *,
    least: float,
    room: int,
    guaranteed: int,
) -> list[int]:
    """Return the places of the facts that get in, the best first.

    The favoured ones - corrections and preferences - fill their share first; then every fact has the
    same right. One that does not fit blocks no other.

    Args:
        order: Places of the facts, the best first.
        costs: Tokens of each fact, by its place; infinite for one that must not get in.
        favoured: Places of the favoured ones.
        least: The least of *costs*: with less room there is no need to look on.
        room: Tokens for all facts and their heading.
        guaranteed: Tokens of these that the favoured ones are sure of.
    """
    left = room - count_tokens(FACTS)
    first = ((rank, place) for rank, place in enumerate(order) if place in favoured)
    sure = _filled(first, costs, least, min(left, guaranteed))
    left -= sum(int(costs[place]) for place in sure.values())
    others = ((rank, place) for rank, place in enumerate(order) if rank not in sure)
    return [place for _, place in sorted({**sure, **_filled(others, costs, least, left)}.items())]


def _filled(ranked: Iterable[tuple[int, int]], costs: Sequence[float], least: float, room: float) -> dict[int, int]:
    """Take places in order while there is room; return them by their rank."""
    chosen = dict[int, int]()
    if room < least:
        return chosen
    for rank, place in ranked:
        if costs[place] <= room:
            chosen[rank] = place
            room -= costs[place]
            if room < least:
                break
    return chosen
