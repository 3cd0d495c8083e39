"""Meaningless: facts that say nothing, or nearly nothing, or far too much."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.finding import Finding, of_fact
from memgraph.models import Memory
from memgraph.policy import Policy
from memgraph.retrieval.terms import terms


def meaningless(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts without a word, of a single one, and over-long ones."""
    del now
    longest = Policy().max_fact_chars
    for fact in memory.facts:
        if not any(character.isalnum() for character in fact.content):
            yield of_fact("meaningless", fact, "it says nothing")
        elif len(fact.content) > longest:
            why = f"it has {len(fact.content):,} characters; a fact has at most {longest:,}"
            yield of_fact("meaningless", fact, why, remove=False)
        elif len(terms(fact.content)) <= 1 and len(fact.content.split()) == 1:
            yield of_fact("meaningless", fact, "it is a single word, which says little by itself", remove=False)
