"""Relative days: the week, the month or the year before a day, and in which year a date without one is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cache
from types import MappingProxyType
from typing import Literal, cast

from memgraph.analysis.normalize import is_chinese
from memgraph.analysis.words import in_order, words
from memgraph.models.dates import Days, days_of

Tense = Literal["past", "future", "unclear"]
Resolver = Callable[[re.Match[str], date], Days | None]
"""Returns the days that a match means on a day; None if they are not certain."""


DAYS_OF_UNIT: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "weekend": 7, "fortnight": 14})


def unit_at(today: date, unit: str, offset: int) -> Days:
    """Return the day, week from Monday, weekend, month or year that is *offset* of them after that of *today*.

    Raises:
        ValueError: If no calendar has it.
    """
    if unit in {"month", "year"}:
        year, month = divmod(today.year * 12 + today.month - 1 + offset * (12 if unit == "year" else 1), 12)
        if days := days_of(f"{year:04}-{month + 1:02}" if unit == "month" else f"{year:04}"):
            return days
        raise ValueError(year)
    first = last = today + timedelta(days=offset * DAYS_OF_UNIT[unit])
    if unit in {"week", "weekend"}:
        last = first + timedelta(days=6 - first.weekday())
        first = last - timedelta(days=1 if unit == "weekend" else 6)
    return Days(first, last)


def one_day(day: date | None) -> Days | None:
    return Days(day, day) if day else None


def day_at(today: date, offset: int) -> Days:
    day = today + timedelta(days=offset)
    return Days(day, day)


def same_day_at(today: date, unit: str, offset: int) -> Days | None:
    """Return the day that is *offset* units after *today*: "a month ago today"; None if its month has no such day."""
    if unit in DAYS_OF_UNIT:
        return day_at(today, offset * DAYS_OF_UNIT[unit])
    days = unit_at(today, unit, offset)
    length = len("2026" if unit == "year" else "2026-05")
    return days_of(days.first.isoformat()[:length] + today.isoformat()[length:])


def uncertain(match: re.Match[str], today: date) -> None:
    del match, today


# -- tense: which year a date without one is in ---------------------------------------------------

_SENTENCE_END = re.compile(r"(?<![.!?;\n。！？；])[.!?;\n。！？；]+(?:\s|$|(?<=[。！？；\n]))")
_CLAUSE_END = re.compile(
    r"[,()，：（）]|:(?!\d)|\s[-–]\s|—|\b(?:and|but|so|because|which|who|that|when|where|while|if|as|after|before|though)\b",
    re.IGNORECASE,
)
_RELATIVE_CLAUSE = re.compile(
    r"\b((?:the|an?|my|our|this)(?:\s\w+){1,3}?)\s(?:I|we|they|he|she)\s(?:(?:was|were|had|have)\s)?\w+"
    r"(?!\w|\s+(?:(?:in|on|since|the|of|early|late)\s+)*$)",
    re.IGNORECASE,
)
"""A relative clause without a pronoun, such as "the band I left": its verb is not that of the clause around it."""
_NOT_ITS_TIME = re.compile(r"\b(?:(?:to|for)|(by|until|till|from))\s+(?:the\s+)?$|[到至在]了?$", re.IGNORECASE)
"""Before a date that is not when the clause happens: "moved it to May 3rd" has the new day."""
_SINCE = re.compile(r"(?:\bsince|^\s*back (?:on|in))\s+(?:the\s+)?$", re.IGNORECASE)
"""Before a date that is past."""
_YEAR_BEFORE = re.compile(r"\b(last|this|next) year,?\s+(?:(?:in|on|the|early|late)\s+)*$", re.IGNORECASE)
_OTHER_MONTH = rf"(?P<month>{'|'.join(month[:3] for month in in_order('months'))})[a-z]*\.?"
_OTHER_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_OTHER_AFTER = re.compile(
    rf"\s{{0,9}}(?:(?P<and>and)|to|through|until|till|[-–])\s{{1,9}}(?:the\s{{1,9}})?"
    rf"(?:{_OTHER_DAY}\s{{1,9}}(?:of\s{{1,9}})?)?{_OTHER_MONTH}(?:\s{{1,9}}{_OTHER_DAY})?,?\s{{1,9}}(?P<year>\d{{4}})\b",
    re.IGNORECASE,
)
_OTHER_BEFORE = re.compile(
    rf"(?:\b{_OTHER_MONTH}(?:\s{{1,9}}{_OTHER_DAY},?)?\s{{1,9}}(?P<year>\d{{4}})\s{{1,9}}(?:to|through|until|till|[-–])"
    r"\s{1,9}(?:the\s{1,9})?"
    r"|(?P<han_year>\d{4})年(?P<han_month>\d{1,2})月(?:\d{1,2}[日号])?[到至~～-])$",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\bbetween\s{1,9}(?:the\s{1,9})?$", re.IGNORECASE)
"""The other end of a range, which has the year: "from March to May 2025"."""
_SUBJECT = re.compile(r"\b(?:I|we|you|he|she|it|they)\b", re.IGNORECASE)
DAYS = "|".join(day[:3] for day in in_order("weekdays"))
DAY_NAME = rf"(?:({DAYS})[a-z]{{0,3}}day|(?:周|週|星期|礼拜|禮拜)([一二三四五六日天]))"
"""Matches a weekday; the groups are the beginning of an English name and the number of a Chinese one."""
_WEEKDAY = re.compile(DAY_NAME, re.IGNORECASE)
_DAY_BEFORE = re.compile(rf"{DAY_NAME}[\s,，]*(?:the\s)?$", re.IGNORECASE)
_EVERY_BEFORE = re.compile(rf"\b(?:every|each)\s(?:{DAY_NAME},?\s(?:and\s)?){{1,6}}$", re.IGNORECASE)
"""Before a weekday of a list that recurs: "every Monday, Wednesday and Friday"."""
_DAY_AFTER = re.compile(rf"[\s,，]{{0,8}}(?:a\s)?[(（]?{DAY_NAME}", re.IGNORECASE)
_FULL_DATE_AFTER = re.compile(r"[\s,，(（]{0,8}(\d{4}-\d\d-\d\d)(?!\d)")
SENTENCE_CHARS = 200
"""Characters before and after a date in which its tense is looked for."""
CLEAR_DAYS = 60
"""In a clause without a tense, a past day is meant if it is at most so many days away."""
TENSE_DAYS = 240
"""The tense of a clause decides for a day that is at most so many days away."""


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    """Return a pattern of the word lists *names*, a group each."""
    texts = {name: "|".join(sorted(words(f"in_dates_{name}"))).replace("_", r"\s") for name in names}
    return re.compile("|".join(f"(?P<{name}>{text})" for name, text in texts.items()), re.IGNORECASE)


def _tenses(text: str) -> list[str | None]:
    """Return the tenses of the verbs in *text*: not of a participle before a noun."""
    found = _pattern("unclear", "future", "present", "attribute", "infinitive", "past").finditer(text)
    return [one.lastgroup for one in found if one.lastgroup != "attribute"]


def _around(match: re.Match[str]) -> tuple[str, str]:
    """Return what is before and after *match* in its sentence, of a long one the parts next to it."""
    before = match.string[max(0, match.start() - SENTENCE_CHARS) : match.start()]
    after = match.string[match.end() : match.end() + SENTENCE_CHARS]
    return _SENTENCE_END.split(before)[-1], _SENTENCE_END.split(after, maxsplit=1)[0]


def tense_of(match: re.Match[str]) -> Tense | None:
    """Return the tense of the clause of *match*; None if it is the present, or not known."""
    tense = _tense_of(match)
    return "unclear" if tense == "either" else None if tense == "present" else tense


def _tense_of(match: re.Match[str]) -> Tense | Literal["present", "either"] | None:
    """Return the tense of the clause of *match*: of the verb before an English date, and after a Chinese one.

    That of "I put" is either, and so is that of "agreed to meet", which may still come, and "managed to sell it".
    """
    before, after = _around(match)
    before, after = _CLAUSE_END.split(before)[-1], _CLAUSE_END.split(after, maxsplit=1)[0]
    in_chinese = is_chinese(f"{before}{match[0]}{after}")
    if _SINCE.search(before):
        return "past"
    if _NOT_ITS_TIME.search(before) and not (in_chinese and after.strip()):
        return None
    # the first verb after a date is its own, as in 要走了 or "the test on Monday was hard"; before it the last one
    kinds = _tenses(_RELATIVE_CLAUSE.sub(r"\1", before))
    has_subject = not in_chinese and _SUBJECT.search(before) is not None
    if after.strip() if in_chinese else not (kinds or has_subject):
        kinds = _tenses(after.rstrip())[::-1]
    # past forms are known, so what follows a subject and is none of them is the present: "I start in September"
    if not kinds and has_subject:
        return "either" if _pattern("either").search(before) else "present"
    return "either" if kinds[-1:] == ["infinitive"] else cast("Tense | None", kinds[-1] if kinds else None)


def _is_note(match: re.Match[str]) -> bool:
    """Return whether the date is a clause of its own, in a sentence without a verb or pronoun that is known."""
    before, after = _around(match)
    sentence = f"{before} {after}"
    is_clause = not _CLAUSE_END.split(before)[-1].strip() and not _CLAUSE_END.split(after, maxsplit=1)[0].strip()
    return is_clause and not _pattern("stated").search(sentence) and not _tenses(sentence)


def ahead_at(match: re.Match[str], today: date, unit: str, count: int) -> Days | None:
    """Return the days that are *count* units ahead; None in a clause of the past, as in "I learned it in two days"."""
    return None if tense_of(match) == "past" else unit_at(today, unit, count)


def in_some_year(match: re.Match[str], today: date, month: int, day: int | None = None) -> Days | None:
    """Return the days of a month, or a day of one, in the year that the sentence means: see `of_some_year`."""
    text = f"{month:02}-{day:02}" if day else f"{month:02}"
    return of_some_year(match, today, lambda year: days_of(f"{year:04}-{text}"))


def of_some_year(match: re.Match[str], today: date, days_in: Callable[[int], Days | None]) -> Days | None:
    """Return what *days_in* has in the year that the sentence means.

    A weekday or a full date next to it decides. Otherwise it is the nearest year, unless the tense of its clause means
    another day that is near. None if that is not certain.
    """
    before, after = _around(match)
    days = sorted(filter(None, (days_in(today.year + offset) for offset in (-1, 0, 1))))
    if full := _FULL_DATE_AFTER.match(after):
        stated = days_of(full[1])
        named = days_in(stated.first.year) if stated else None
        return stated if stated and named and named.first <= stated.first <= named.last else None
    is_day = all(one.first == one.last for one in days)
    if is_day and (weekday := _DAY_BEFORE.search(before) or _DAY_AFTER.match(after)):
        days = [one for one in days if one.first.weekday() == _weekday_of(weekday)]
        return min(days, key=lambda one: distance(one, today), default=None)
    if days and (year := _year_beside(before, after, days[0].first.month, today)):
        return days_in(year)
    clause = f"{_CLAUSE_END.split(before)[-1]}{match[0]}{_CLAUSE_END.split(after, maxsplit=1)[0]}"
    if _pattern("recurring").search(clause) or _is_note(match):
        return None
    past = [one for one in days if one.first <= today]
    future = [one for one in days if one.last >= today]
    tense = _tense_of(match)
    if tense not in (None, "present", "either"):
        meant = past[-1:] if tense == "past" else future[:1] if tense == "future" else []
        is_near = meant and (distance(meant[0], today) <= TENSE_DAYS or _SINCE.search(_CLAUSE_END.split(before)[-1]))
        return meant[0] if is_near else None
    nearest = min(days, key=lambda one: distance(one, today), default=None)
    is_close = nearest is not None and distance(nearest, today) <= CLEAR_DAYS
    is_ahead = nearest in future and tense != "either"
    return nearest if is_ahead or (is_close and tense != "present") else None  # not "I'm flying on May 3"


def _year_beside(before: str, after: str, month: int, today: date) -> int | None:
    """Return the year of a date in *month* by "next year" before it, or by the other end of a range that it ends."""
    if named := _YEAR_BEFORE.search(before):
        return today.year + ("last", "this", "next").index(named[1].casefold()) - 1
    if (end := _OTHER_AFTER.match(after)) and (not end["and"] or _BETWEEN.search(before)):
        return int(end["year"]) - (month > month_number(end["month"]))
    if begin := _OTHER_BEFORE.search(before):
        first = int(begin["han_month"] or 0) or month_number(begin["month"])
        return int(begin["year"] or begin["han_year"]) + (month < first)
    return None


def month_number(name: str) -> int:
    """Return the number of an English month by its first three letters."""
    return next(at for at, month in enumerate(in_order("months"), 1) if month.startswith(name[:3].casefold()))


def weekday_near(match: re.Match[str], today: date, weekday: int) -> Days | None:
    """Return the latest such day before today in a clause of the past, the next one in another; None if unclear."""
    tense, ahead = tense_of(match), weekday - today.weekday()
    if _EVERY_BEFORE.search(_around(match)[0]):
        return None
    if tense == "past":
        return day_at(today, ahead if ahead < 0 else ahead - 7)
    return None if tense == "unclear" else day_at(today, ahead if ahead > 0 else ahead + 7)


def in_some_month(match: re.Match[str], today: date, day: int, *, tense: Tense | None = None) -> Days | None:
    """Return the latest such day, or the next, by the tense of the clause, or by *tense* if no verb is known in it."""
    tense = tense_of(match) or tense
    months = [unit_at(today, "month", at).first.isoformat()[:7] for at in (-1, 0, 1)]
    days = [one for month in months if (one := days_of(f"{month}-{day:02}"))]
    if tense == "past":
        return max((one for one in days if one.first <= today), default=None)
    return min((one for one in days if one.first >= today), default=None) if tense == "future" else None


def _weekday_of(named: re.Match[str]) -> int:
    english, chinese = named.groups()
    if chinese:
        return min("一二三四五六日天".index(chinese), 6)
    return next(at for at, day in enumerate(in_order("weekdays")) if day.startswith(english[:3].casefold()))


def distance(days: Days, today: date) -> int:
    """Return how many days *today* is before or after *days*; 0 if it is one of them."""
    return max((days.first - today).days, (today - days.last).days, 0)
