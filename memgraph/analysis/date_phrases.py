"""Date phrases: the days that "two weeks ago", "last Friday" or 上个月 mean on the day on which they are written.

Only common phrases are read, and only if they are clear: "a few days ago" and a birthday have no date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from memgraph.analysis.chinese_dates import CHINESE
from memgraph.analysis.english_dates import ENGLISH
from memgraph.analysis.normalize import is_chinese
from memgraph.analysis.relative_days import DAY_NAME, Resolver
from memgraph.models.dates import DAY_CHARS, Days, covering_date, days_of, is_before

UNKNOWN_DAY = date(1970, 1, 1)
"""Of a text of which the time is unknown."""


class DateMention(NamedTuple):
    """Where a text names a date, and which."""

    start: int
    end: int
    date: str | None
    """A partial date, as precise as it can be for all of the days; None if it is not certain."""
    days: Days | None = None
    """The days that the phrase means; None if they are not certain."""


def find_dates(text: str, today: date) -> tuple[DateMention, ...]:
    """Return the dates that *text* names, in its order; *today* is the day on which it was written."""
    phrases = _ENGLISH if text.isascii() else (*_ENGLISH, *_CHINESE)
    matches = ((resolve, match) for pattern, resolve in phrases for match in pattern.finditer(text))
    found = sorted(matches, key=lambda pair: (pair[1].start(), -pair[1].end()))
    mentions: list[DateMention] = []
    for resolve, match in found:
        if not mentions or match.start() >= mentions[-1].end:
            days = _resolve(resolve, match, today)
            mentions.append(DateMention(match.start(), match.end(), covering_date(days) if days else None, days))
    return tuple(mentions)


def names_time(text: str) -> bool:
    """Return whether *text* names a date or any other time, such as "this week"."""
    return bool(find_dates(text, UNKNOWN_DAY) or _TIME.search(text))


def resolve_date(text: str, today: date) -> str | None:
    """Return the partial date that *text* names; None if it names none, several, or one that is not certain."""
    return _only(find_dates(text, today))


def _only(mentions: Sequence[DateMention]) -> str | None:
    """Return the date that all of *mentions* name, the most precise of "next year, in June"; None if they differ."""
    date = max((mention.date or "" for mention in mentions), key=len, default="")
    return date if date and all(mention.date and date.startswith(mention.date) for mention in mentions) else None


# a space in a pattern stands for a line break too
_ENGLISH = [(re.compile(pattern.replace(" ", r"\s"), re.IGNORECASE), resolve) for pattern, resolve in ENGLISH]
_CHINESE = [(re.compile(pattern), resolve) for pattern, resolve in CHINESE]

_TIME = re.compile(
    r"\b(?:(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|[./]\d{1,2})|ago|last|next|this|since|today|tonight|tomorrow|yesterday"
    r"|week(?:day)?|month|years?|morning|evening|now)\b|[今明昨前后去][天日年晚]|[上下这本]个?[周月礼]|[周拜期]末"
    rf"|第[一二三四五六七八九十\d]{{1,3}}个?[天周月年]|[年月号日]|刚才?|现在|{DAY_NAME}",
    re.IGNORECASE,
)
_APPROXIMATE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|almost|nearly|over|more than|less than|at least|maybe|probably)\s+"
    r"|大约|大概|差不多|将近|快|超过|至少|不到|约|可能)$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 20
"""Characters before a date that may change what it means."""
_OR_SO = re.compile(r"\s?(?:or so\b|左右|前[后後])", re.IGNORECASE)


def _resolve(resolve: Resolver, match: re.Match[str], today: date) -> Days | None:
    text = match.string
    if _APPROXIMATE.search(text[max(0, match.start() - _BEFORE_CHARS) : match.start()]) or _OR_SO.match(
        text, match.end()
    ):
        return None
    try:
        return resolve(match, today)
    except (ValueError, OverflowError):  # such as 30 February, or 9,000 years ago
        return None


# -- the dates of a fact ------------------------------------------------------------------------------

_ENDS_THEN = re.compile(r"(?:\b(?:until|till|by|before|through)\s+(?:the\s+)?|[到至])$", re.IGNORECASE)
_AFTER = re.compile(r"\s?(?:为止|之前|以前|前)")
_YEAR = re.compile(r"\d{4}")
_PARTIAL_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}")
_NAMED_DATE = re.compile(rf" \({_PARTIAL_DATE.pattern}\)|（{_PARTIAL_DATE.pattern}）")
_PARTS = tuple(map(len, ("2026", "2026-05", "2026-05-03")))


def read_date(value: object, day: date | None) -> str:
    """Return *value* as a partial date; relative words are resolved against *day*. Empty if it is not a date."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if text and days_of(text[:DAY_CHARS]):
        return text[:DAY_CHARS]
    return (resolve_date(text, day) or "") if day and text else ""


def quoted_date(words: str, day: date | None) -> str:
    """Return the only date that the user's *words* of *day* name; empty if it is when something ends."""
    mentions = find_dates(words, day) if day else ()
    return "" if any(_is_end(words, one) for one in mentions) else _only(mentions) or ""


def date_of_fact(stated: object, words: str, day: date | None) -> str:
    """Return from when a fact holds: as a model has *stated*, else as the user's *words* of *day* name it.

    Models that have nothing to state repeat the day on which the words were said. It is not a date of the fact,
    unless the words name it ("today"). Another date than the only one that they name is a slip if it is as precise, and
    else uncertain: no date.
    """
    date, named = read_date(stated, day), quoted_date(words, day)
    repeats_day = words != "" and date == str(day) and date != named
    if is_before(date, named) or is_before(named, date):
        return named if repeats_day or len(date) == len(named) else ""
    return named if repeats_day else date or named


def _is_end(words: str, mention: DateMention) -> bool:
    before = words[max(0, mention.start - _BEFORE_CHARS) : mention.start]
    return _ENDS_THEN.search(before) is not None or _AFTER.match(words, mention.end) is not None


def name_dates(content: str, day: date | None, words: str = "") -> str:
    """Return *content* with the date after each relative time, which could not be resolved later.

    A time that the user's *words* of *day* have too means there what it does here: their tense decides.
    """
    said = {words[one.start : one.end].casefold(): one.date for one in find_dates(words, day)} if day else {}
    written = {date[:length] for date in _PARTIAL_DATE.findall(content) for length in _PARTS}
    parts, end = list[str](), 0
    for mention in find_dates(content, day) if day else ():
        phrase = content[mention.start : mention.end]
        meant = said.get(phrase.casefold(), mention.date)
        named = meant and not _YEAR.search(phrase) and meant not in written
        if named:
            parts += [
                content[end : mention.end],
                f"（{meant}）" if is_chinese(phrase) else f" ({meant})",
            ]
            end = mention.end
    return "".join([*parts, content[end:]])


def without_named_dates(content: str) -> str:
    """Return *content* without what `name_dates` writes into it."""
    return _NAMED_DATE.sub("", content)
