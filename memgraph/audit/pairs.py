"""Checks of pairs of facts: duplicates and contradictions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.findings import Finding, fact_finding, last_seen
from memgraph.models import Fact, MemoryDocument
from memgraph.retrieval.slot_values import by_single_slot, states_other
from memgraph.rules.merge import SAME, may_be_same
from memgraph.text.normalize import fact_key
from memgraph.text.similarity import SimilarityIndex, is_richer

MAX_RIVALS = 3
"""The newest values of an attribute, with which the others are compared: all pairs would be quadratically many."""

Pair = tuple[Fact, Fact, str]
"""Two facts, and why they contradict each other."""


def duplicates(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts that state the same. Manual facts are kept, then the more detailed, then the newer."""
    kept: dict[str, Fact] = {}
    left: list[Fact] = []
    for fact in sorted(memory.facts, key=_value, reverse=True):
        key = fact_key(fact.content)
        if key and key in kept:
            yield fact_finding("duplicate", "they have the same content", kept[key], fact)
        else:
            kept[key] = fact
            left.append(fact)
    removed = set[str]()
    for index, other_index, _ in SimilarityIndex([fact.content for fact in left]).pairs(SAME):
        one, other = left[index], left[other_index]
        if removed.isdisjoint((one.id, other.id)) and may_be_same(one, other):
            is_better = is_richer(other.content, one.content) and not one.is_manual
            better, worse = (other, one) if is_better else (one, other)
            removed.add(worse.id)
            yield fact_finding("duplicate", "they state the same in other words", better, worse)


def _value(fact: Fact) -> tuple[bool, float, str, str]:
    return fact.is_manual, fact.confidence, last_seen(fact), fact.id


def contradictions(memory: MemoryDocument, _now: datetime) -> Iterator[Finding]:
    """Find facts that exclude each other. Removing the older is suggested; if they are equally old, nothing is."""
    seen = set[frozenset[str]]()
    checks = (_replaced_facts, _conflicting_slots, _opposed_facts)
    for one, other, why in (pair for check in checks for pair in check(memory)):
        ids = frozenset((one.id, other.id))
        if ids not in seen:
            seen.add(ids)
            newer, older = (one, other) if last_seen(one) >= last_seen(other) else (other, one)
            yield fact_finding("contradiction", why, newer, older, remove=last_seen(newer) != last_seen(older))


def _replaced_facts(memory: MemoryDocument) -> Iterator[Pair]:
    for fact in memory.facts:
        for old_id in fact.replaces:
            if (old := memory.fact(old_id)) and old.id != fact.id:
                yield fact, old, "the newer one replaced the other, which is still there"


def _conflicting_slots(memory: MemoryDocument) -> Iterator[Pair]:
    filling = by_single_slot(fact for fact in memory.facts if fact.effective_category != "correction")
    for slot, facts in filling.items():
        facts.sort(key=last_seen, reverse=True)
        for index, one in enumerate(facts[:MAX_RIVALS]):
            for other in facts[index + 1 :]:
                if states_other(one, other):
                    yield one, other, f"there can be one {slot} only"


def _opposed_facts(memory: MemoryDocument) -> Iterator[Pair]:
    current = [fact for fact in memory.facts if fact.effective_category != "correction"]
    for one, other in SimilarityIndex([fact.content for fact in current]).opposed():
        yield current[one], current[other], "one denies the other"
