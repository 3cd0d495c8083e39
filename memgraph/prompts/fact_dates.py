"""The dates of a fact: what the model gave, else what the user's words name; relative times against their day."""

from __future__ import annotations

import re
from datetime import date

from memgraph.text.date_phrases import DateMention, find_dates, resolve_date
from memgraph.text.dates import days_of

_DAY_CHARS = len("2026-05-03")
_ENDS_THEN = re.compile(r"(?:\b(?:until|till|by|before|through)\s+(?:the\s+)?|[到至])$", re.IGNORECASE)
_AFTER = re.compile(r"\s?(?:为止|之前|以前|前)")
_YEAR = re.compile(r"\d{4}")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def read_date(value: object, day: date | None) -> str:
    """Return *value* as a partial date; relative words are resolved against *day*. Empty if it is not a date."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if days_of(text[:_DAY_CHARS]):
        return text[:_DAY_CHARS]
    return (resolve_date(text, day) or "") if day and text else ""


def quoted_date(words: str, day: date | None) -> str:
    """Return the only date that the user's *words* of *day* name; empty if it is when something ends."""
    mentions = find_dates(words, day) if day else ()
    if len(mentions) != 1 or _is_end(words, mentions[0]):
        return ""
    return mentions[0].date or ""


def _is_end(words: str, mention: DateMention) -> bool:
    before, after = words[: mention.start], words[mention.end :]
    return _ENDS_THEN.search(before) is not None or _AFTER.match(after) is not None


def name_dates(content: str, day: date | None) -> str:
    """Return *content* with the date after each relative time, which nobody could resolve later."""
    parts, end = list[str](), 0
    for mention in find_dates(content, day) if day else ():
        phrase = content[mention.start : mention.end]
        named = mention.date and not _YEAR.search(phrase) and mention.date not in content
        if named:
            parts += [
                content[end : mention.end],
                f"（{mention.date}）" if _HAN.search(phrase) else f" ({mention.date})",
            ]
            end = mention.end
    return "".join([*parts, content[end:]])
