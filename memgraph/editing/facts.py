"""Add, edit and remove facts, by a person's hand."""

from __future__ import annotations

import difflib

from memgraph.editing.checks import (
    checked_category,
    checked_confidence,
    checked_content,
    checked_source_error,
    now,
    unique_fact_id,
)
from memgraph.errors import EditError
from memgraph.models import MANUAL, Fact, Memory

DEFAULT_CATEGORY = "context"
DEFAULT_CONFIDENCE = 1.0
"""A person who writes a fact down is sure of it."""


def add_fact(
    memory: Memory,
    content: str,
    *,
    category: str = DEFAULT_CATEGORY,
    confidence: float = DEFAULT_CONFIDENCE,
    source_error: str | None = None,
) -> Memory:
    """Add a fact that a person wrote; it is the last one of the memory returned.

    Args:
        memory: What is remembered.
        content: 1-2,000 characters.
        category: One of CATEGORIES.
        confidence: How sure it is, in [0, 1].
        source_error: What went wrong; on corrections only.

    Raises:
        EditError: If one of these may not be so, or a fact says the same already.
    """
    fact = Fact(
        id=unique_fact_id(memory),
        content=checked_content(content, memory),
        category=checked_category(category),
        confidence=checked_confidence(confidence),
        created_at=now(),
        source=MANUAL,
        source_error=checked_source_error(source_error, category),
    )
    return _changed(memory, (*memory.facts, fact))


def edit_fact(
    memory: Memory,
    fact_id: str,
    *,
    content: str | None = None,
    category: str | None = None,
    confidence: float | None = None,
    source_error: str | None = None,
) -> Memory:
    """Change what is given of the fact *fact_id*; from then on it counts as written by a person.

    Raises:
        EditError: If there is no such fact, nothing is given, or something may not be so.
    """
    if content is None and category is None and confidence is None and source_error is None:
        raise EditError(f"nothing to change in {fact_id}: give a content, a category, a confidence or what went wrong")
    fact = find_fact(memory, fact_id)
    kind = fact.category if category is None else checked_category(category)
    edited = fact.model_copy(
        update={
            "content": fact.content if content is None else checked_content(content, memory, besides=fact_id),
            "category": kind,
            "confidence": fact.confidence if confidence is None else checked_confidence(confidence),
            "source": MANUAL,
            "source_error": checked_source_error(source_error, kind)
            or (fact.source_error if kind == "correction" else None),
        }
    )
    return _changed(memory, tuple(edited if known.id == fact_id else known for known in memory.facts))


def remove_fact(memory: Memory, fact_id: str) -> Memory:
    """Remove the fact *fact_id*, whoever wrote it.

    Raises:
        EditError: If there is no such fact.
    """
    find_fact(memory, fact_id)
    return _changed(memory, tuple(fact for fact in memory.facts if fact.id != fact_id))


def find_fact(memory: Memory, fact_id: str) -> Fact:
    """Return the fact *fact_id*.

    Raises:
        EditError: If there is none, naming the nearest id.
    """
    fact = memory.fact(fact_id)
    if fact:
        return fact
    ids = [known.id for known in memory.facts]
    near = difflib.get_close_matches(fact_id, ids, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"{len(ids)} facts are known" if ids else "no facts are known"
    raise EditError(f"there is no fact {fact_id[:80]!r}; {hint}")


def _changed(memory: Memory, facts: tuple[Fact, ...]) -> Memory:
    return memory.model_copy(update={"facts": facts, "last_updated": now()})
