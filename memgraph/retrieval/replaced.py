"""Which facts are no longer current, since another took their place."""

from __future__ import annotations

from collections.abc import Sequence

from memgraph.models import Fact


def replacements(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the place of each replaced fact, the place of the one that took its place.

    The newest fact wins where facts replace each other in a circle, so one of them always stays.
    """
    places = {fact.id: place for place, fact in enumerate(facts)}
    newest_first = sorted(range(len(facts)), key=lambda place: facts[place].created_at, reverse=True)
    age = {place: rank for rank, place in enumerate(newest_first)}
    taken = dict[int, int]()
    for new in newest_first:
        for fact_id in facts[new].replaces:
            old = places.get(fact_id, new)
            if old != new and (age[old] > age[new] or new not in taken):
                taken.setdefault(old, new)
    return taken


def current_places(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the place of each replaced fact, the place of the fact that is current in its stead."""
    taken = replacements(facts)
    current = dict[int, int]()
    for old, new in taken.items():
        while new in taken:
            new = taken[new]  # noqa: PLW2901 - from one to the next, to the end
        current[old] = new
    return current
