"""Whether an addition and a known fact are about the same thing, by their words and slots."""

from __future__ import annotations

from functools import cache

from memgraph.models import Addition, Fact
from memgraph.retrieval.terms import extract_terms
from memgraph.text.changes import light_words
from memgraph.text.slots import Slots


def is_related(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether they share a word that names what they are about, the user's own words included, or a slot."""
    stated, known = (
        frozenset[str]().union(*(topic_terms(text) for text in (one.content, *(said.quote for said in one.evidence))))
        for one in (addition, fact)
    )
    return not stated.isdisjoint(known) or share_slot(addition, fact, slots)


def share_slot(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether both state something about one slot, also one that has several values, such as an allergy."""
    stated = {value.slot for value in slots.values(addition.content, addition.slot)}
    return bool(stated) and slots.states(fact.content, stated)


def topic_terms(text: str) -> frozenset[str]:
    """Return the words of *text*, in Chinese the pairs of characters, that name what it is about: no numbers."""
    words = (term for term in extract_terms(text) if len(term) > 1 or term.isascii())
    return frozenset(term for term in words if not term.isdecimal()) - _light_terms()


@cache
def _light_terms() -> frozenset[str]:
    return frozenset(extract_terms(" ".join(light_words())))
