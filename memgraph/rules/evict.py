"""Evict facts beyond the limit of the memory."""

from __future__ import annotations

from memgraph.models import Fact
from memgraph.rules.draft import Draft
from memgraph.rules.quarantine import quarantine

FULL = "the memory is full"


def evict(draft: Draft) -> Draft:
    """Evict the least valuable learned facts until the memory is within its limit.

    The facts of this update are the most valuable, then corrections, then higher confidence, then newer facts.
    Manual facts neither count nor are evicted. If no more known ones may be evicted, the least valuable new ones that
    replace nothing go into quarantine.
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
    surplus = len(learned) - draft.policy.max_facts
    worst = learned[::-1]
    known = [fact.id for fact in worst if fact.id not in new_ids]
    evicted = known[: min(surplus, _evictable(draft))]
    crowded = [fact.id for fact in worst if fact.id in new_ids and not fact.replaces][: surplus - len(evicted)]
    draft = draft.end_facts(evicted + crowded, "evicted", why=FULL)
    return quarantine(draft, FULL, additions=[one for one in draft.changes.additions if one.id in crowded])


def _evictable(draft: Draft) -> int:
    """Return how many known facts may still be evicted: what was removed before counts, too."""
    if draft.removable is None:
        return len(draft.memory.facts)
    return draft.removable - sum(not removed.fact.is_manual for removed in draft.removed)
