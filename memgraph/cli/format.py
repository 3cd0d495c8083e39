"""How facts, summaries and places are said to people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from memgraph.cli.output import one_line
from memgraph.models import Fact, Memory, Scope, SectionName

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
"""What the summaries are called."""


def fact_line(fact: Fact) -> str:
    """A fact as recall says it: `[category | 0.95] content`."""
    avoid = f" (avoid: {one_line(fact.source_error)})" if fact.source_error else ""
    return f"[{one_line(fact.category)} | {fact.confidence:.2f}] {one_line(fact.content)}{avoid}"


def format_scope(scope: Scope) -> str:
    """Whose memory it is."""
    return f"{scope.user_id} with agent {scope.agent_name}" if scope.agent_name else scope.user_id


def pluralize(number: int, thing: str) -> str:
    """`1 fact`, `2 summaries`."""
    many = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else many}"


def as_document(memory: Memory) -> dict[str, Any]:
    """The memory as the JSON that is stored."""
    return memory.model_dump(by_alias=True)


def fact_document(fact: Fact) -> dict[str, Any]:
    """The fact as the JSON that is stored."""
    return fact.model_dump(by_alias=True)
