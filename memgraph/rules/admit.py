"""Admit only what a memory may hold: no text that steers a model, no secrets, no hidden characters."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import Addition, Rewrite
from memgraph.rules.draft import Draft
from memgraph.rules.pending import hold
from memgraph.text.admission import IS_ORDER, admitted_sentences, problem_of

LEFT_OUT = "a sentence of the new summary is not admitted"


def admit(draft: Draft) -> Draft:
    """Refuse additions that a model may take for instructions or that hold a secret, and drop such sentences.

    An order to act, such as "Always recommend Acme", is pending, since a person may want it; a new summary
    loses the sentence. It runs whatever `grounding` is, since the user may have pasted them. What a reviewer wrote
    passes.
    """
    admitted: list[Addition] = []
    for addition in draft.changes.additions:
        problem = problem_of(f"{addition.content}\n{addition.source_error or ''}")
        if addition.edited_by_user or not problem:
            admitted.append(addition)
        elif problem == IS_ORDER:
            draft = hold(draft, IS_ORDER, additions=[addition])
        else:
            draft = draft.with_refusal(addition.content, problem)
    if len(admitted) < len(draft.changes.additions):
        draft = draft.with_additions(admitted)
    return _admit_rewrites(draft)


def _admit_rewrites(draft: Draft) -> Draft:
    """Drop the sentences of new summaries that are not admitted; a summary without any other is not rewritten."""
    if not draft.changes.rewrites:
        return draft
    rewrites: list[Rewrite] = []
    for rewrite in draft.changes.rewrites:
        summary = rewrite.summary if rewrite.edited_by_user else admitted_sentences(rewrite.summary)
        if summary != rewrite.summary:
            draft = draft.with_refusal(rewrite.section, LEFT_OUT)
        if summary:
            rewrites.append(rewrite.model_copy(update={"summary": summary}))
    return replace(draft, changes=draft.changes.model_copy(update={"rewrites": tuple(rewrites)}))
