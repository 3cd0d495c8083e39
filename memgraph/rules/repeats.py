"""Known facts that additions repeat in other words, by their meaning as well as their words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from memgraph.models import Addition, Fact, MemoryDocument, MemoryUpdate
from memgraph.rules.merge import SAME, KnownFacts
from memgraph.text.similarity import is_richer
from memgraph.text.slots import Slots

ALIKE = 0.35
"""Minimum similarity of the words of two sentences that an embedding model compares, measured likewise: below it,
sentences about one thing are as close in meaning as those that state the same."""

Similarities = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""Returns the similarity in meaning of N pairs of sentences, in [0, 1]; unrelated ones have 0."""


def is_same(by_words: float, by_meaning: float) -> bool:
    """Return whether two sentences with these similarities state the same, measured by benchmarks/duplicates.py."""
    return by_words >= SAME or (by_words >= ALIKE and by_meaning >= SAME)


def mark_repeats(
    changes: MemoryUpdate,
    memory: MemoryDocument,
    slots: Slots,
    similarities: Similarities,
    undecided: Collection[str] = (),
) -> MemoryUpdate:
    """Return *changes* in which additions name the known fact that they repeat, if only the meaning shows it.

    Args:
        changes: The change set that the model proposed.
        memory: What is known.
        slots: What a person has one of at a time.
        similarities: Called once at most, with the pairs whose words alone do not decide.
        undecided: Ids of additions about which the model is asked.
    """
    known = KnownFacts(memory.facts, slots)
    candidates = [
        (addition, fact)
        for addition in changes.additions
        if not (addition.replaces or addition.repeats or addition.edited_by_user or addition.id in undecided)
        for fact in _candidates(known, addition)
    ]
    found = similarities([(addition.content, fact.content) for addition, fact in candidates]) if candidates else ()
    best: dict[str, tuple[float, str]] = {}
    for (addition, fact), similarity in zip(candidates, found, strict=True):
        if is_same(ALIKE, similarity):
            best[addition.id] = max(best.get(addition.id, (0.0, "")), (similarity, fact.id))
    if not best:
        return changes
    additions = tuple(
        addition.model_copy(update={"repeats": best[addition.id][1]}) if addition.id in best else addition
        for addition in changes.additions
    )
    return changes.model_copy(update={"additions": additions})


def _candidates(known: KnownFacts, addition: Addition) -> list[Fact]:
    """Return the facts that *addition* may repeat; none if its words decide, and no manual fact that it adds to."""
    if known.find(addition):
        return []
    alike = known.alike(addition, ALIKE)
    return [fact for fact in alike if not (fact.is_manual and is_richer(addition.content, fact.content))]
