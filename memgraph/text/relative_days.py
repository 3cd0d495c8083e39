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


def fortnight_at(today: date, offset: int) -> Days:
    return week_at(today, 2 * offset)


UNITS: Mapping[str, Callable[[date, int], Days | None]] = MappingProxyType(
    {
        "day": day_at,
        "week": week_at,
        "fortnight": fortnight_at,
        "weekend": weekend_at,
        "month": month_at,
        "year": year_at,
    }
)
DAYS_OF_UNIT: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "fortnight": 14})


def unit_at(today: date, unit: str, offset: int) -> Days | None:
    """Return the day, week, weekend, month or year that is *offset* of them after that of *today*."""
    return UNITS[unit](today, offset)


# -- tense: which year a date without one is in ---------------------------------------------------

_SENTENCE_END = re.compile(r"(?<![.!?;\n。！？；])[.!?;\n。！？；]+(?:\s|$|(?<=[。！？；\n]))")
_CLAUSE_END = re.compile(
    r"[,:()，：（）]|\s[-–]\s|—|\b(?:and|but|so|because|which|who|that|when|where|while|if)\b", re.IGNORECASE
)
_RELATIVE_CLAUSE = re.compile(
    r"\b((?:the|an?|my|our|this)(?:\s\w+){1,3}?)\s(?:I|we|they|he|she)\s(?:(?:was|were|had|have)\s)?\w+", re.IGNORECASE
)
"""A relative clause without a pronoun, such as "the band I left": its verb is not that of the clause around it."""
_TENSE = re.compile(
    r"(?P<future>(?:\b(?:will|won't|going to|gonna|plan(?:s|ned|ning)?|scheduled|booked|upcoming|hop(?:e|es|ing) to"
    r"|wants? to|about to|look(?:ing)? forward|can't wait|would|can|must|should)\b|'ll\b)(?:\s\w+){0,2}"
    r"|(?<![开開聚机機社协協不])[会會](?!议|議)|[将將]|即将|(?<![需重主])要|快|打算|[计計][划劃]|[准準][备備]|希望|期待)"
    r"|(?P<present>(?:\b(?:am|is|are|be)|['’](?:m|s|re))(?:\s(?:being|not|getting))?\s\w+(?:ed|ing)\b|就)"
    r"|(?P<past>\b(?:was|were|went|did|didn't|had|got|came|took|made|bought|met|saw|began|left|lost|won|ran|fell|sold|gave"
    r"|broke|quit|found|told|paid|spent|flew|used to|ago|(?!excited|interested|supposed|need)[a-z]{3,}ed)\b"
    r"|(?<!为)了(?!解)|[过過](?!几)|曾|当时|那时|的$)",
    re.IGNORECASE,
)
_RECURRING = re.compile(
    r"\b(?:birthday|anniversary|born|every|each|always|annual(?:ly)?|yearly)\b|生日|[纪紀]念日|周年|每|出生",
    re.IGNORECASE,
)
_NOT_ITS_TIME = re.compile(r"\b(?:to|for|by|until|till|from)\s+(?:the\s+)?$|[到至在]了?$", re.IGNORECASE)
"""Before a date that is not when the clause happens: "moved it to May 3rd" has the new day."""
_LEAD_IN = re.compile(r"\s*(?:(?:then|so|well|back|early|late|on|in|the|of)\s+)*", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]")
_WEEKDAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_NAME = r"(?:(mon|tues?|wednes|thurs?|fri|satur|sun)day|(?:周|週|星期|礼拜|禮拜)([一二三四五六日天]))"
_DAY_BEFORE = re.compile(rf"{_DAY_NAME}[\s,，]*(?:the\s)?$", re.IGNORECASE)
_DAY_AFTER = re.compile(rf"[\s,，]{{0,8}}(?:a\s)?[(（]?{_DAY_NAME}", re.IGNORECASE)
_FULL_DATE_AFTER = re.compile(r"[\s,，(（]{0,8}(\d{4}-\d\d-\d\d)(?!\d)")
SENTENCE_CHARS = 200
"""Characters before and after a date in which its tense is looked for."""
CLEAR_DAYS = 60
"""In a clause without a tense, a past day is meant if it is at most so many days away."""
TENSE_DAYS = 240
"""The tense of a clause decides for a day that is at most so many days away."""


def _around(match: re.Match[str]) -> tuple[str, str]:
    """Return what is before and after *match* in its sentence, of a long one the parts next to it."""
    before = match.string[max(0, match.start() - SENTENCE_CHARS) : match.start()]
    after = match.string[match.end() : match.end() + SENTENCE_CHARS]
    return _SENTENCE_END.split(before)[-1], _SENTENCE_END.split(after, maxsplit=1)[0]


def tense_of(match: re.Match[str]) -> Tense | None:
    """Return the tense of the clause of *match*: of the verb before an English date, and after a Chinese one."""
    before, after = _around(match)
    before, after = _CLAUSE_END.split(before)[-1], _CLAUSE_END.split(after, maxsplit=1)[0]
    is_chinese = _HAN.search(f"{before}{match[0]}{after}") is not None
    if _NOT_ITS_TIME.search(before) and not (is_chinese and after.strip()):
        return None
    is_after = after.strip() if is_chinese else _LEAD_IN.fullmatch(before)
    found = list(_TENSE.finditer(after.rstrip() if is_after else _RELATIVE_CLAUSE.sub(r"\1", before)))
    kinds = [one.lastgroup for one in found]
    if not kinds or kinds[-1] == "present":
        return None
    # the first verb after a date is its own, as in 要走了; before it the last one
    kind = kinds[0] if is_after else kinds[-1]
    return "past" if kind == "past" else "future" if kind == "future" else None


def ahead_at(match: re.Match[str], today: date, unit: str, count: int) -> Days | None:
    """Return the days that are *count* units ahead; None in a clause of the past, as in "I learned it in two days"."""
    return None if tense_of(match) == "past" else unit_at(today, unit, count)


def in_some_year(match: re.Match[str], today: date, month: int, day: int | None = None) -> Days | None:
    """Return the days of a month, or a day of one, in the year that the sentence means.

    A weekday or a full date next to it decides. Otherwise it is the nearest year, unless the tense of its clause means
    another day that is near. None if that is not certain.
    """
    before, after = _around(match)
    text = f"{month:02}-{day:02}" if day else f"{month:02}"
    candidates = [days_of(f"{today.year + offset:04}-{text}") for offset in (-1, 0, 1)]
    days = [candidate for candidate in candidates if candidate]
    if full := _FULL_DATE_AFTER.match(after):
        return days_of(full[1]) if full[1].endswith(text) else None
    if day and (named := _DAY_BEFORE.search(before) or _DAY_AFTER.match(after)):
        days = [one for one in days if one.first.weekday() == _weekday_of(named)]
        return min(days, key=lambda one: _distance(one, today), default=None)
    if _RECURRING.search(f"{before}{match[0]}{after}"):
        return None
    past = [one for one in days if one.first <= today]
    future = [one for one in days if one.last >= today]
    tense = tense_of(match)
    meant = past[-1:] if tense == "past" else future[:1] if tense == "future" else []
    if meant and _distance(meant[0], today) <= TENSE_DAYS:
        return meant[0]
    nearest = min(days, key=lambda one: _distance(one, today), default=None)
    is_clear = nearest and (nearest in future or _distance(nearest, today) <= CLEAR_DAYS)
    return nearest if is_clear else None


def _weekday_of(named: re.Match[str]) -> int:
    english, chinese = named.groups()
    return _WEEKDAY_NAMES.index(english[:3].casefold()) if english else min("一二三四五六日天".index(chinese), 6)


def _distance(days: Days, today: date) -> int:
    return max((days.first - today).days, (today - days.last).days, 0)
