"""What a person may write: the bounds of a fact and of a summary, and what to say of a text beyond them."""

from __future__ import annotations

import math
import unicodedata

from memgraph.errors import EditError
from memgraph.models import CATEGORIES
from memgraph.policy import Policy
from memgraph.text.tokens import count_tokens


def checked_text(text: str, what: str) -> str:
    """Return *text*, stripped, if a fact may say it."""
    text = _checked_characters(text.strip(), what)
    longest = Policy().max_fact_chars
    if not 1 <= len(text) <= longest:
        raise EditError(f"{what} has 1 to {longest:,} characters, not {len(text):,}")
    return text


def checked_summary(text: str) -> str:
    """Return *text*, stripped, if a summary may say it."""
    text = _checked_characters(text.strip(), "a summary")
    longest = Policy().max_summary_tokens
    if not text:
        raise EditError("a summary may not be empty; reject it to keep the one there is")
    if (tokens := count_tokens(text)) > longest:
        raise EditError(f"a summary has at most {longest:,} tokens, not {tokens:,}")
    return text


def checked_category(category: str) -> str:
    """Return a category that there is."""
    if category not in CATEGORIES:
        raise EditError(f"there is no category {category[:80]!r}; there are {', '.join(CATEGORIES)}")
    return category


def checked_confidence(confidence: float) -> float:
    """Return a confidence within [0, 1]."""
    if not (math.isfinite(confidence) and 0 <= confidence <= 1):
        raise EditError(f"confidence is from 0 to 1, not {confidence:g}")
    return float(confidence)


def checked_source_error(source_error: str | None, category: str) -> str | None:
    """Return what went wrong, which only a correction tells."""
    if source_error is None:
        return None
    if category != "correction":
        raise EditError(f"what went wrong is said of a correction, not of a fact of category {category}")
    return checked_text(source_error, "what went wrong")


def _checked_characters(text: str, what: str) -> str:
    if any(unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\t" for character in text):
        raise EditError(f"{what} may not hold control characters: {text[:80]!r}")
    return text
