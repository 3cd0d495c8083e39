"""Relative days: the week, the month or the year before a day, and in which year a date without one is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Literal

from memgraph.models.dates import Days, days_of

Tense = Literal["past", "future"]
Resolver = Callable[[re.Match[str], date], Days | None]
"""Returns the days that a match means on a day; None if they are not certain."""


def day_at(today: date, offset: int) -> Days:
    day = today + timedelta(days=offset)
    return Days(day, day)


def week_at(today: date, offset: int) -> Days:
    """Return the week from Monday that is *offset* weeks after that of *today*."""
    monday = today + timedelta(days=7 * offset - today.weekday())
    return Days(monday, monday + timedelta(days=6))


def weekend_at(today: date, offset: int) -> Days:
    week = week_at(today, offset)
    return Days(week.last - timedelta(days=1), week.last)


def month_at(today: date, offset: int) -> Days | None:
    year, month = divmod(today.year * 12 + today.month - 1 + offset, 12)
    return days_of(f"{year:04}-{month + 1:02}")


def year_at(today: date, offset: int) -> Days | None:
    return days_of(f"{today.year + offset:04}")


UNITS: Mapping[str, Callable[[date, int], Days | None]] = MappingProxyType(
    {"day": day_at, "week": week_at, "weekend": weekend_at, "month": month_at, "year": year_at}
)


def unit_at(today: date, unit: str, offset: int) -> Days | None:
    """Return the day, week, weekend, month or year that is *offset* of them after that of *today*."""
    return UNITS[unit](today, offset)


# -- tense: which year a date without one is in ---------------------------------------------------

_SENTENCE_END = re.compile(r"(?<![.!?;\n。！？；])[.!?;\n。！？；]+(?:\s|$|(?<=[。！？；\n]))")
_FUTURE = re.compile(
    r"\b(?:will|won't|going to|gonna|plan(?:s|ned|ning)?|scheduled|booked|upcoming|hop(?:e|es|ing) to|wants? to"
    r"|about to|look(?:ing)? forward|can't wait)\b|'ll\b"
    r"|(?<![开開聚机機社协協不])[会會](?!议|議)|[将將]|即将|(?<![需重主])要|打算|[计計][划劃]|[准準][备備]|希望|期待",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|went|did|didn't|had|got|came|took|made|bought|met|saw|began|left|lost|won|used to|ago"
    r"|(?!excited|interested|supposed|scheduled|planned|booked|need)[a-z]{3,}ed)\b|(?<!为)了(?!解)|[过過]|曾|当时|那时",
    re.IGNORECASE,
)
_RECURRING = re.compile(
    r"\b(?:birthday|anniversary|born|every|each|annual(?:ly)?|yearly)\b|生日|[纪紀]念日|周年|每|出生", re.IGNORECASE
)
SENTENCE_CHARS = 200
"""Characters before and after a date in which its tense is looked for."""
CLEAR_DAYS = 60
"""Without a tense, a date is in the year in which it is nearest, if it is at most so many days away."""


def _sentence(match: re.Match[str]) -> str:
    """Return the sentence around *match*, of a long one the part next to it."""
    before = match.string[max(0, match.start() - SENTENCE_CHARS) : match.start()]
    after = match.string[match.end() : match.end() + SENTENCE_CHARS]
    return f"{_SENTENCE_END.split(before)[-1]}{match[0]}{_SENTENCE_END.split(after, maxsplit=1)[0]}"


def tense_of(match: re.Match[str]) -> Tense | None:
    sentence = _sentence(match)
    is_past, is_future = _PAST.search(sentence) is not None, _FUTURE.search(sentence) is not None
    return None if is_past == is_future else "past" if is_past else "future"


def in_some_year(match: re.Match[str], today: date, month: int, day: int | None = None) -> Days | None:
    """Return the days of a month, or a day of one, in the year that the sentence means."""
    if _RECURRING.search(_sentence(match)):
        return None
    text = f"{month:02}-{day:02}" if day else f"{month:02}"
    candidates = [days_of(f"{today.year + offset:04}-{text}") for offset in (-1, 0, 1)]
    days = [candidate for candidate in candidates if candidate]
    past = [one for one in days if one.first <= today]
    future = [one for one in days if one.last >= today]
    match tense_of(match):
        case "past":
            return past[-1] if past else None
        case "future":
            return future[0] if future else None
        case _:
            nearest = min(days, key=lambda one: _distance(one, today), default=None)
            return nearest if nearest and _distance(nearest, today) <= CLEAR_DAYS else None


def _distance(days: Days, today: date) -> int:
    return max((days.first - today).days, (today - days.last).days, 0)
