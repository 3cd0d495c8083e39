"""Formatting of facts, scopes and counts for display."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memgraph.models import AsSaid, Fact, Scope, SectionName
from memgraph.sections import section_title
from memgraph.text.dates import local_date
from memgraph.text.hidden import show_hidden
from memgraph.text.normalize import single_line

TITLES: Mapping[SectionName, str] = MappingProxyType(
    {
        "work_context": "Work",
        "personal_context": "Personal",
        "top_of_mind": "Top of mind",
        "recent_months": "Recent months",
        "earlier_context": "Earlier",
        "long_term_background": "Long-term background",
    }
)
"""Display names of the built-in summaries."""


def shown_line(text: str) -> str:
    """Return *text* on one line, its hidden characters visible."""
    return show_hidden(single_line(text))


def title_of(section: SectionName) -> str:
    """Return the display name of a summary."""
    return TITLES.get(section) or shown_line(section_title(section))


def format_fact(fact: Fact) -> str:
    """Format a fact: `[category | 0.95] content`; of a claim that is kept as said also the words."""
    avoid = f" (avoid: {shown_line(fact.source_error)})" if fact.source_error else ""
    said = f' (as said: "{shown_line(fact.words)}")' if isinstance(fact, AsSaid) else ""
    return f"[{shown_line(fact.category)} | {fact.confidence:.2f}] {shown_line(fact.content)}{avoid}{said}"


def format_dates(fact: Fact, timezone: str) -> str:
    """Format when a fact was said and is true: `(said 2023-05-08, from 2023-05-01 until 2024)`; empty if unknown."""
    said, start, end = local_date(fact.said_at, timezone), shown_line(fact.valid_from), shown_line(fact.valid_until)
    valid = " ".join([*([f"from {start}"] if start else []), *([f"until {end}"] if end else [])])
    parts = [part for part in (f"said {said}" if said else "", valid) if part]
    return f"({', '.join(parts)})" if parts else ""


def format_scope(scope: Scope) -> str:
    """Format the owner of a memory: `ada`, or `ada (agent coder)`."""
    return f"{scope.user_id} (agent {scope.agent_name})" if scope.agent_name else scope.user_id


def pluralize(count: int, noun: str) -> str:
    """Format a count: `1 fact`, `2 summaries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
