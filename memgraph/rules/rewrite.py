"""Rewrite summaries."""

from __future__ import annotations

from dataclasses import replace

from memgraph.models import MANUAL, Rewrite, Section
from memgraph.rules.add import is_placeholder
from memgraph.rules.draft import Draft
from memgraph.text.sentences import cut_at_sentence
from memgraph.text.tokens import count_tokens


def rewrite(draft: Draft) -> Draft:
    """Replace each rewritten summary, unless it was changed after the model saw it."""
    for change in draft.changes.rewrites:
        draft = _rewrite_section(draft, change)
    return draft


def _rewrite_section(draft: Draft, change: Rewrite) -> Draft:
    current = draft.memory.section(change.section)
    if change.section not in draft.policy.section_names and not change.edited_by_user:
        return draft.with_refusal(change.section, "it is not one of the summaries")
    summary = change.summary.strip()
    if not change.edited_by_user:
        if is_placeholder(summary):
            return draft.with_refusal(change.section, "the new summary says nothing")
        summary = cut_summary(summary, draft.policy.summary_tokens(change.section))
    if not summary or summary == current.summary:
        return draft
    if current.summary != change.base:
        return draft.with_refusal(change.section, "the summary was changed by another writer meanwhile")
    source = MANUAL if change.edited_by_user else ""
    written = {"summary": summary, "updated_at": draft.changes.at, "source": source}
    section = Section.model_validate(current.model_dump() | written)
    return replace(draft, memory=draft.memory.with_section(change.section, section))


def cut_summary(summary: str, max_tokens: int) -> str:
    """Return *summary* cut at the end of a sentence, if possible, to at most *max_tokens* tokens."""
    return cut_at_sentence(summary.strip(), max_tokens, count_tokens).strip()
