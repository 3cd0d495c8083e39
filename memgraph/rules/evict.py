"""End facts whose time has passed, and evict those beyond the limit of the memory, the least valuable first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from memgraph.analysis.dates import parse_time
from memgraph.models import Fact
from memgraph.rules.draft import Draft
from memgraph.rules.pending import hold

FULL = "the memory is full"

CATEGORY_VALUES: Mapping[str, float] = MappingProxyType({"correction": 3.0, "preference": 0.2, "context": 0.2})
"""What a fact is worth for its category; those of other categories nothing."""
CONFIRMATION_VALUE = 0.5
"""What the first confirmation is worth; the third doubles it, the seventh triples it."""
SLOT_VALUE = 0.25
"""What a fact is worth that states an attribute such as a name or a home."""
CONFIDENCE_VALUE = 0.5
"""What a certain fact is worth more than one of confidence 0."""
HALF_LIFE_DAYS = 365
"""Days in which a fact that is not said again loses half of what recency is worth."""


def evict(draft: Draft) -> Draft:
    """Move the least valuable learned facts to the past until the memory is within its limit.

    The facts of this update go last, the others by their `fact_value`. Manual
    facts neither count nor are evicted. If no more known ones may be evicted, the least valuable new ones that replace
    nothing are pending.
    """
    learned = [fact for fact in draft.memory.facts if not fact.is_manual]
    surplus = len(learned) - draft.policy.max_facts
    if surplus <= 0:
        return draft
    new_ids, now = draft.new_ids, parse_time(draft.changes.at)
    # facts of one conversation have the same time, which is read once
    worth = {said: recency(said, now) for said in {fact.said_last for fact in learned}}

    def rank(fact: Fact) -> tuple[bool, float, str]:
        return fact.id in new_ids, fact_value(fact, worth[fact.said_last]), fact.said_last

    worst = sorted(learned, key=rank, reverse=True)[::-1]  # of equals the last goes first
    known = [fact.id for fact in worst if fact.id not in new_ids]
    evicted = known[: min(surplus, _evictable(draft))]
    crowded = [fact.id for fact in worst if fact.id in new_ids and not fact.replaces][: surplus - len(evicted)]
    draft = draft.end_facts(evicted + crowded, "evicted", why=FULL)
    return hold(draft, FULL, additions=[one for one in draft.changes.additions if one.id in crowded])


def fact_value(fact: Fact, recency: float) -> float:
    """Return what *fact* is worth: the sum of what its category, confirmations, slot, recency and confidence are.

        value = category + 0.5 * log2(1 + confirmations) + slot + recency + 0.5 * confidence

    Args:
        fact: Any fact.
        recency: See `recency`.
    """
    return (
        CATEGORY_VALUES.get(fact.effective_category, 0.0)
        + CONFIRMATION_VALUE * math.log2(1 + fact.confirmations)
        + (SLOT_VALUE if fact.slot else 0.0)
        + recency
        + CONFIDENCE_VALUE * fact.confidence
    )


def recency(said: str, now: datetime | None) -> float:
    """Return what recency is worth, in [0, 1]: 0.5 ** (days since it was said / 365).

    Args:
        said: When a fact was said last; a confirmation states it again.
        now: The current time; None counts no recency.
    """
    moment = parse_time(said)
    days = max(0.0, (now - moment).total_seconds() / 86_400) if now and moment else math.inf
    return 0.5 ** (days / HALF_LIFE_DAYS)


def _evictable(draft: Draft) -> int:
    """Return how many known facts may still be evicted: what was removed before counts, too, what expired does not."""
    if draft.removable is None:
        return len(draft.memory.facts)
    expired = {fact.id for fact in draft.memory.past if fact.reason == "expired"}
    lost = sum(not removed.fact.is_manual and removed.fact.id not in expired for removed in draft.removed)
    return max(0, draft.removable - lost)


def expire(draft: Draft) -> Draft:
    """Move the learned facts to the past that were true until a day before the update.

    A new fact may be one of them: a plan that is learned long after it was made. Recall does not show what has expired
    as current, so that this rule changes only what is stored.
    """
    for fact in draft.memory.facts:
        if fact.valid_until and not fact.is_manual and fact.has_expired(draft.changes.at):
            why = f"it was true until {fact.valid_until}"
            draft = draft.end_facts([fact.id], "expired", why=why, at=fact.valid_until)
            if fact.id in draft.new_ids:
                draft = draft.with_refusal(fact.content, f"{why}, so it is past already")
    return draft
