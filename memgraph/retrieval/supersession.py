"""Which facts are superseded: another fact replaced them, and is current in their stead."""

from __future__ import annotations

from collections.abc import Sequence

from memgraph.models import Fact


def resolve_superseded(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the current fact at the end of its chain."""
    replaced_by = find_replacements(facts)
    current = dict[int, int]()
    for old, replacement in replaced_by.items():
        new = replacement
        while new in replaced_by:
            new = replaced_by[new]
        current[old] = new
    return current


def find_replacements(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the fact that replaced it.

    If facts replace each other in a circle, the newest one stays current, so at least one always does.
    """
    positions = {fact.id: position for position, fact in enumerate(facts)}
    newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
    age = {position: rank for rank, position in enumerate(newest_first)}
    replaced_by = dict[int, int]()
    for new in newest_first:
        for fact_id in facts[new].replaces:
            old = positions.get(fact_id, new)
            # an older clock must not bring the replaced fact back, unless that closes a circle
            if old != new and (age[old] > age[new] or new not in replaced_by):
                replaced_by.setdefault(old, new)
    return replaced_by
