"""Normalizes English values, or rejects them if they mean nothing on their own."""

from __future__ import annotations

import re
from functools import cache

from memgraph.llm.offline.rules import pattern, words
from memgraph.llm.offline.sentences import BLANK

_WORD = re.compile(r"[^\W_][\w'+#.&-]*")


def tidy(text: str) -> str:
    """Cut *text* where a subordinate clause begins, and strip its filler."""
    return unquoted(trimmed(_listed(pattern("en", "cut").sub("", text).strip())))


def trimmed(text: str) -> str:
    """Strip filler from the end of *text*."""
    return pattern("en", "tail").sub("", text).strip()


def unquoted(text: str) -> str:
    """Strip quotes around all of *text*, and unmatched ones."""
    if text.count('"') == 1 or (text.startswith('"') and text.endswith('"')):
        text = text.replace('"', "")
    return text.strip(" '")


def _listed(text: str) -> str:
    """Keep what follows a comma only if it continues a list."""
    items = text.split(", ")
    last = next((place for place, item in enumerate(items) if re.search(r"(?:^|\s)(?:and|or|&) ", item)), 0)
    if last and all(fits(item.split(), 1, 6) for item in items[: last + 1]):
        return ", ".join(items[: last + 1])
    first, *more = items
    is_adjective = lists("adjectives", first)
    goes_on = fits(more, 1, 1) and fits(more[0].split(), 2, 6) and more[0].split()[0] not in words("en", "vague")
    return text if is_adjective and goes_on else first


def tokens(text: str) -> list[str]:
    """Return the words of *text* in lower case."""
    return [word.lower().rstrip(".'") for word in _WORD.findall(text)]


def fits(items: list[str], least: int, most: int) -> bool:
    """Return whether *items* are at least *least* and at most *most*."""
    return least <= len(items) <= most


def is_word(text: str) -> bool:
    """Return whether *text* is one word."""
    return _WORD.fullmatch(text) is not None


def lists(name: str, text: str) -> bool:
    """Return whether the word list *name* contains *text*, in any case and number."""
    text = text.lower().strip()
    return any(form in words("en", name) for form in (text, text.removesuffix("s"), text.removesuffix("es")))


def is_vague(text: str) -> bool:
    """Return whether *text* refers to something outside it or to a moment, or is incomplete."""
    found = tokens(text)
    return (
        not found
        or BLANK in text
        or found[-1] in words("en", "dangling")
        or found[0] in words("en", "vague")
        or found[-1] in words("en", "vague")
        or pattern("en", "pointing").search(text) is not None
        or _passing().search(text) is not None
    )


@cache
def _passing() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(words('en', 'passing_time')))})\b", re.IGNORECASE)


def third_person(text: str) -> str:
    """Replace "my" by "their"."""
    for own, other in ((r"\b(?:my|our)\b", "their"), (r"\bmyself\b", "themselves"), (r"\bme\b", "them")):
        text = re.sub(own, other, text, flags=re.IGNORECASE)
    return text


def short(text: str, *, limit: int = 12) -> str | None:
    """A few words with a meaning of their own."""
    tidied = tidy(text)
    is_letter = fits([*tidied], 1, 1) and not lists("tools", tidied)
    bad = is_letter or is_vague(tidied) or not fits(tokens(tidied), 1, limit) or len(tidied) > 10 * limit
    return None if bad else third_person(tidied)


def plain(text: str) -> str | None:
    """Any text: the pattern was strict enough."""
    return third_person(text.strip()) or None
