"""Validation of what a person writes: facts and summaries, their limits and error messages."""

from __future__ import annotations

import math
from collections.abc import Collection

from memgraph.analysis.hidden import show_hidden
from memgraph.analysis.tokens import count_tokens
from memgraph.errors import EditError
from memgraph.models import CATEGORIES
from memgraph.policy import Policy

_PREVIEW_CHARS = 80


def validate_text(text: str, name: str) -> str:
    """Return *text*, stripped, if it is valid for a fact; *name* is what an error calls it."""
    text = _validate_characters(text.strip(), name)
    longest = Policy().max_fact_chars
    if not 1 <= len(text) <= longest:
        raise EditError(f"{name} has 1 to {longest:,} characters, not {len(text):,}")
    return text


def validate_summary(text: str) -> str:
    """Return *text*, stripped, if it is valid for a summary."""
    text = _validate_characters(text.strip(), "a summary")
    longest = Policy().max_summary_tokens
    if not text:
        raise EditError("a summary may not be empty; reject it to keep the current one")
    if (tokens := count_tokens(text)) > longest:
        raise EditError(f"a summary has at most {longest:,} tokens, not {tokens:,}")
    return text


def validate_category(category: str, categories: Collection[str] = tuple(CATEGORIES)) -> str:
    """Return *category* if it is one of *categories*."""
    if category not in categories:
        raise EditError(f"there is no category {category[:80]!r}; there are {', '.join(categories)}")
    return category


def validate_confidence(confidence: float) -> float:
    """Return *confidence* if it is within [0, 1]."""
    if not (math.isfinite(confidence) and 0 <= confidence <= 1):
        raise EditError(f"confidence is from 0 to 1, not {confidence:g}")
    return float(confidence)


def validate_source_error(source_error: str | None, category: str) -> str | None:
    """Return what went wrong, which only a correction has."""
    if source_error is None:
        return None
    if category != "correction":
        raise EditError(f"only a correction has a source_error, not a fact of category {category}")
    return validate_text(source_error, "source_error")


def _validate_characters(text: str, name: str) -> str:
    if (shown := show_hidden(text)) != text:
        raise EditError(f"{name} may not contain hidden characters: {shown[:_PREVIEW_CHARS]}")
    return text
