"""Facts that are no longer true go."""

from __future__ import annotations

from memgraph.models import Removal
from memgraph.rules.draft import Draft


def remove(draft: Draft) -> Draft:
    """Remove what the model holds to be contradicted, but nothing that a person wrote.

    A fact that a new one replaces is left to `add`: it goes only if the new one is kept.
    """
    replaced = {old for addition in draft.changes.additions for old in addition.replaces}
    for removal in draft.changes.removals:
        if removal.id not in replaced:
            draft = _forgotten(draft, removal)
    return draft


def _forgotten(draft: Draft, removal: Removal) -> Draft:
    fact = draft.memory.fact(removal.id)
    if fact is None:
        return draft.with_refusal(removal.id, "there is no such fact to remove")
    if fact.is_manual:
        return draft.with_refusal(fact.content, "a person wrote it, so it is not removed")
    return draft.without_facts([fact.id], because=removal.reason)
