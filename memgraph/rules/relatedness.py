"""Whether two facts are about the same thing, by their words and by the slots that a model named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from memgraph.models import Addition, Fact, Turn
from memgraph.retrieval.slot_values import share_slot
from memgraph.retrieval.terms import extract_terms
from memgraph.text.changes import light_words
from memgraph.text.quotes import sentences_of
from memgraph.text.slots import Slots


def is_related(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether they share a word that names what they are about, the user's own words included, or a slot."""
    return share_words(addition, fact) or share_slot(addition, fact, slots)


def share_words(one: Fact | Addition, other: Fact | Addition) -> bool:
    """Return whether they share a word that names what they are about, the user's own words included."""
    return not _all_terms(one).isdisjoint(_all_terms(other))


def named_share(addition: Addition, fact: Fact) -> float:
    """Return how many of the words of *fact* are in *addition*, or in what it quotes, from 0 to 1."""
    known = topic_terms(fact.content)
    return len(known & _all_terms(addition)) / len(known) if known else 0.0


def quoted_sentences(addition: Addition, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the sentences of the user that *addition* quotes, of the first quote that is found in *turns*."""
    for evidence in addition.evidence:
        for turn in reversed(turns):
            if touched := sentences_of(evidence.quote, turn.own_words if turn.is_users else "").touched:
                return touched
    return ()


def _all_terms(one: Fact | Addition) -> frozenset[str]:
    return frozenset[str]().union(
        *(topic_terms(text) for text in (one.content, *(said.quote for said in one.evidence)))
    )


def topic_terms(text: str) -> frozenset[str]:
    """Return the words of *text*, in Chinese the pairs of characters, that name what it is about: no numbers."""
    words = (term for term in extract_terms(text) if len(term) > 1 or term.isascii())
    return frozenset(term for term in words if not term.isdecimal()) - _light_terms()


@cache
def _light_terms() -> frozenset[str]:
    return frozenset(extract_terms(" ".join(light_words())))
