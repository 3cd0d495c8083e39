"""What a person may write, and when and under which id it is written."""

from __future__ import annotations

from datetime import UTC, datetime

from memgraph.errors import EditError
from memgraph.models import Memory, new_fact_id, timestamp
from memgraph.rules.validation import checked_category, checked_confidence, checked_source_error, checked_text
from memgraph.text.normalize import fact_key

__all__ = ["checked_category", "checked_confidence", "checked_content", "checked_source_error", "now", "unique_fact_id"]


def checked_content(content: str, memory: Memory, *, besides: str | None = None) -> str:
    """Return the content of a fact, stripped, if no other fact says the same."""
    content = checked_text(content, "a fact")
    key = fact_key(content)
    same = next((fact for fact in memory.facts if fact.id != besides and fact_key(fact.content) == key), None)
    if same:
        raise EditError(f"{same.id} says the same already")
    return content


def unique_fact_id(memory: Memory) -> str:
    """Draw an id that no fact has."""
    while memory.fact(fact_id := new_fact_id()):
        pass
    return fact_id


def now() -> str:
    """The time of an edit."""
    return timestamp(datetime.now(UTC))
