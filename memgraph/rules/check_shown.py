"""Check that the model removes and replaces only what it has seen."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Refusal
from memgraph.rules.draft import Draft

_NOT_SHOWN = "the prompt did not show this fact"


def check_shown(draft: Draft) -> Draft:
    """Refuse removals and replacements of known facts that the prompt did not show: the model can only guess their ids.

    What a rule replaces later, by comparing facts, need not have been shown, nor what a person names.
    """
    shown = draft.shown_ids
    if shown is None:
        return draft
    hidden = {fact.id: fact.content for fact in draft.memory.facts if fact.id not in shown}
    unseen = [removal.id for removal in draft.changes.removals if removal.id in hidden and not removal.edited_by_user]
    proposed = [addition for addition in draft.changes.additions if not addition.edited_by_user]
    unseen += [old for addition in proposed for old in addition.replaces if old in hidden]
    if not unseen:
        return draft
    additions = (
        addition
        if addition.edited_by_user
        else addition.model_copy(update={"replaces": tuple(old for old in addition.replaces if old not in hidden)})
        for addition in draft.changes.additions
    )
    removals = tuple(
        removal for removal in draft.changes.removals if removal.edited_by_user or removal.id not in hidden
    )
    notes = tuple(Refusal(item=hidden[fact_id], reason=_NOT_SHOWN) for fact_id in dict.fromkeys(unseen))
    changes = draft.changes.model_copy(update={"additions": tuple(additions), "removals": removals})
    return replace(draft, changes=changes, refused=(*draft.refused, *notes))
