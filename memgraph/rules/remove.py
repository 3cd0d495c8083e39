"""Remove facts that are no longer true."""

from __future__ import annotations

from memgraph.models import Removal
from memgraph.rules.draft import Draft


def remove(draft: Draft) -> Draft:
    """Remove the facts that the model considers contradicted, except manual ones, which only a person removes."""
    for removal in draft.changes.removals:
        draft = _remove_fact(draft, removal)
    return draft


def _remove_fact(draft: Draft, removal: Removal) -> Draft:
    fact = draft.memory.fact(removal.id)
    if fact is None:
        return draft.with_refusal(removal.id, "there is no such fact to remove")
    if fact.is_manual and not removal.edited_by_user:
        return draft.with_refusal(fact.content, "a person wrote it, so it is not removed")
    return draft.end_facts([fact.id], "removed", why=removal.reason)
