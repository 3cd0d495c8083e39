"""Admit only what a memory may hold: no orders to a model, and no secrets."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Addition, Refusal, Rewrite
from memgraph.rules.draft import Draft
from memgraph.text.orders import is_order, without_orders
from memgraph.text.secrets import find_secrets

ORDER = "it reads like an instruction to a model"


def admit(draft: Draft) -> Draft:
    """Refuse additions that are orders or contain a secret, and leave such sentences out of new summaries.

    It runs whatever `grounding` is, since the user may have pasted them. What a reviewer wrote passes.
    """
    additions: list[Addition] = []
    rewrites: list[Rewrite] = []
    refused: list[Refusal] = []
    for addition in draft.changes.additions:
        problem = None if addition.edited_by_user else problem_of(f"{addition.content}\n{addition.source_error or ''}")
        if problem:
            refused.append(Refusal(item=addition.content, reason=problem))
        else:
            additions.append(addition)
    for rewrite in draft.changes.rewrites:
        summary = rewrite.summary if rewrite.edited_by_user else without_orders(rewrite.summary)
        if summary != rewrite.summary:
            refused.append(Refusal(item=rewrite.section, reason=f"a sentence was left out: {ORDER}"))
        if summary:
            rewrites.append(rewrite.model_copy(update={"summary": summary}))
    changes = draft.changes.model_copy(update={"additions": tuple(additions), "rewrites": tuple(rewrites)})
    return replace(draft, changes=changes, refused=(*draft.refused, *refused))


def problem_of(text: str) -> str | None:
    """Return why a memory may not hold *text*; None if it may."""
    if is_order(text):
        return ORDER
    secret = next(find_secrets(text), None)
    return f"it contains {secret.kind}" if secret else None
