"""What a person may write, and when and under which id it is written."""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, datetime

from memgraph.errors import EditError
from memgraph.models import CATEGORIES, Memory, new_fact_id, timestamp
from memgraph.policy import Policy
from memgraph.rules.draft import same_key


def checked_content(content: str, memory: Memory, *, besides: str | None = None) -> str:
    """Return the content of a fact, stripped, if no other fact says the same."""
    content = _text(content, "a fact")
    key = same_key(content)
    same = next((fact for fact in memory.facts if fact.id != besides and same_key(fact.content) == key), None)
    if same:
        raise EditError(f"{same.id} says the same already")
    return content


def _text(text: str, what: str) -> str:
    text = text.strip()
    longest = Policy().max_fact_chars
    if not 1 <= len(text) <= longest:
        raise EditError(f"{what} has 1 to {longest:,} characters, not {len(text):,}")
    if any(unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\t" for character in text):
        raise EditError(f"{what} may not hold control characters: {text[:80]!r}")
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
    return _text(source_error, "what went wrong")


def free_id(memory: Memory) -> str:
    """Draw an id that no fact has."""
    while memory.fact(fact_id := new_fact_id()):
        pass
    return fact_id


def now() -> str:
    """The time of an edit."""
    return timestamp(datetime.now(UTC))
