"""The values of slots: whether two facts fill one slot of the user, and with the same value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from memgraph.analysis.slots import Slots, packaged_slots
from memgraph.analysis.subjects import other_subject
from memgraph.analysis.terms import content_terms
from memgraph.models import Addition, Fact


def share_slot(one: Fact | Addition, other: Fact | Addition, slots: Slots) -> bool:
    """Return whether both fill one slot of the user, also one that has several values, such as an allergy."""
    slot = slot_of(one, slots)
    return slot is not None and slot == slot_of(other, slots)


def slot_of(fact: Fact | Addition, slots: Slots) -> str | None:
    """Return the slot that a model named for *fact*, as the table calls it; None if it is of another person.

    "Wife is Ada." fills `partner`: it is about the person whom the slot names.
    """
    slot, person = slots.normalize(fact.slot), other_subject(fact.content) if fact.slot else ""
    return None if person and slots.normalize(person) != slot else slot


def states_other(one: Fact | Addition, other: Fact | Addition) -> bool:
    """Return whether each has a word, or a number, that the other has not: another value of their slot."""
    ours, theirs = content_terms(one.content), content_terms(other.content)
    return not (ours <= theirs or theirs <= ours)


def by_single_slot(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Return the facts that fill each slot with one value at a time."""
    slots, by_slot = packaged_slots(), defaultdict[str, list[Fact]](list)
    for fact in facts:
        if fact.slot and (slot := slot_of(fact, slots)) in slots.single_valued:
            by_slot[slot].append(fact)
    return by_slot


def earlier_values(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the ids of the facts whose slot, with one value at a time, has another value by a fact said later."""
    by_slot = by_single_slot(facts)
    latest = {slot: max(group, key=lambda fact: fact.said_last) for slot, group in by_slot.items()}
    return frozenset(
        fact.id
        for slot, group in by_slot.items()
        for fact in group
        if fact.said_last < latest[slot].said_last and states_other(fact, latest[slot])
    )
