"""A memory stays within its bounds."""

from __future__ import annotations

from memgraph.models import Fact
from memgraph.rules.draft import Draft


def evict(draft: Draft) -> Draft:
    """Let the least valuable learned facts go until the memory fits.

    What this update brought goes last, then corrections, then the surer, then the newer.
    """
    new = draft.new_ids

    def value(fact: Fact) -> tuple[bool, bool, float, str]:
        return (
            fact.id in new,
            fact.category == "correction",
            fact.confidence,
            max(fact.created_at, fact.last_confirmed_at),
        )

    learned = sorted((fact for fact in draft.facts if not fact.is_manual), key=value, reverse=True)
    return draft.without_facts((fact.id for fact in learned[draft.policy.max_facts :]), because="no room")
