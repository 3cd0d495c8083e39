"""Evict facts beyond the limit of the memory."""

from __future__ import annotations

from memgraph.models import Fact
from memgraph.rules.draft import Draft


def evict(draft: Draft) -> Draft:
    """Evict the least valuable learned facts until the memory is within its limit.

    The facts of this update are the most valuable, then corrections, then higher confidence, then newer facts.
    Manual facts neither count nor are evicted.
    """
    learned = [fact for fact in draft.memory.facts if not fact.is_manual]
    if len(learned) <= draft.policy.max_facts:
        return draft
    new_ids = draft.new_ids

    def value(fact: Fact) -> tuple[bool, bool, float, str]:
        return (
            fact.id in new_ids,
            fact.category == "correction",
            fact.confidence,
            max(fact.created_at, fact.last_confirmed_at),
        )

    learned.sort(key=value, reverse=True)
    return draft.without_facts((fact.id for fact in learned[draft.policy.max_facts :]), reason="the memory is full")
