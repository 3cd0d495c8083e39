"""End facts whose time has passed."""

from __future__ import annotations

from memgraph.rules.draft import Draft


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
