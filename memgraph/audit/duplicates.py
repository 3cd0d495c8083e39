"""Duplicates: facts that say the same, and facts that another one says better."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from difflib import SequenceMatcher

from memgraph.audit.finding import Finding, latest, of_two
from memgraph.audit.overlap import covered
from memgraph.audit.polarity import is_denied, is_past, numbers
from memgraph.models import Fact, Memory
from memgraph.retrieval.terms import terms
from memgraph.rules.draft import same_key

LEAST_TERMS = 3
"""Of a fact that another may say better: what has fewer is too short to tell."""
LEAST_SHARE = 0.75
"""Of the longer one's terms, that the shorter must have."""
LEAST_ORDER = 0.8
"""How far the terms must come in the same order, from 0 to 1: "Ada manages Bob" is not "Bob manages Ada"."""


def duplicates(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts that are told twice; what a person wrote stays, else what says more, else what is newer."""
    del now
    gone = set[str]()
    first: dict[str, Fact] = {}
    for fact in sorted(memory.facts, key=_worth, reverse=True):
        if not (key := same_key(fact.content)):
            continue
        if key in first:
            gone.add(fact.id)
            yield of_two("duplicate", first[key], fact, "they say the same")
        first.setdefault(key, fact)
    left = [fact for fact in memory.facts if fact.id not in gone]
    for short, long in covered(left, lambda fact: frozenset(terms(fact.content))):
        if short.id in gone or long.id in gone or not _says_all(short, long):
            continue
        same_length = frozenset(terms(short.content)) == frozenset(terms(long.content))
        kept, dropped = sorted((short, long), key=_worth, reverse=True) if same_length else (long, short)
        gone.add(dropped.id)
        yield of_two("duplicate", kept, dropped, "the first says all that the second says")


def _worth(fact: Fact) -> tuple[bool, float, str, str]:
    return fact.is_manual, fact.confidence, latest(fact), fact.id


def _says_all(short: Fact, long: Fact) -> bool:
    mine, theirs = terms(short.content), terms(long.content)
    return (
        short.kind == long.kind
        and len(set(mine)) >= LEAST_TERMS
        and len(set(mine)) / len(set(theirs)) >= LEAST_SHARE
        and numbers(short.content) == numbers(long.content)
        and is_denied(short.content) == is_denied(long.content)
        and is_past(short.content) == is_past(long.content)
        and _order(mine, theirs) >= LEAST_ORDER
    )


def _order(mine: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    shared = [term for term in theirs if term in set(mine)]
    return SequenceMatcher(None, mine, shared, autojunk=False).ratio()
