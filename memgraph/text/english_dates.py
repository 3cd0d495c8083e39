"""English date phrases, such as "two weeks ago" and "on May 3rd": patterns, and the days that they mean."""

from __future__ import annotations

import re
from datetime import date

from memgraph.models.dates import Days, days_of
from memgraph.text.relative_days import (
    DAYS_OF_UNIT,
    Resolver,
    ahead_at,
    day_at,
    in_some_year,
    month_at,
    tense_of,
    unit_at,
    weekend_at,
)

_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ONES = [*_DIGITS, *_TEENS]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_FIRST_HALF = ["January", "February", "March", "April", "May", "June"]
_MONTHS = [*_FIRST_HALF, "July", "August", "September", "October", "November", "December"]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_OFFSETS = {"last": -1, "this": 0, "next": 1}
_HOLIDAYS = {
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "new year's eve": (12, 31),
}
_DAY_OFFSETS = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "day after tomorrow": 2}


# -- the days of a match --------------------------------------------------------------------------


def _near_day(match: re.Match[str], today: date) -> Days:
    words = " ".join(match[0].casefold().split())
    return day_at(today, _DAY_OFFSETS.get(words.removeprefix("the "), 0))


def _ago(match: re.Match[str], today: date) -> Days | None:
    unit, count = match["unit"].casefold(), _number(match["number"])
    if match["today"] and unit in DAYS_OF_UNIT:
        return day_at(today, -count * DAYS_OF_UNIT[unit])
    return unit_at(today, unit, -count)


def _ahead(match: re.Match[str], today: date) -> Days | None:
    return ahead_at(match, today, match["unit"].casefold(), _number(match["number"]))


def _from_today(match: re.Match[str], today: date) -> Days | None:
    unit, count = match["unit"].casefold(), _number(match["number"])
    return day_at(today, count * DAYS_OF_UNIT[unit]) if unit in DAYS_OF_UNIT else unit_at(today, unit, count)


def _before_last(match: re.Match[str], today: date) -> Days | None:
    word = match["word"].casefold()
    if word in _WEEKDAYS:
        ahead = _WEEKDAYS.index(word) - today.weekday()
        return day_at(today, (ahead if ahead < 0 else ahead - 7) - 7)
    return unit_at(today, {"night": "day"}.get(word, word), -2)


def _day_of_month(match: re.Match[str], today: date) -> Days | None:
    """Return the day: "on the 9th" is the latest or the next by the tense of its clause, "is the 9th" the next."""
    tense, day = "future" if match["is"] is not None else tense_of(match), int(match["day"])
    days = [days_of(f"{month.first.isoformat()[:7]}-{day:02}") for at in (-1, 0, 1) if (month := month_at(today, at))]
    past = [one for one in days if one and one.first <= today]
    future = [one for one in days if one and one.first >= today]
    return past[-1] if tense == "past" and past else future[0] if tense == "future" and future else None


def _day_of_near_month(match: re.Match[str], today: date) -> Days | None:
    month = month_at(today, _OFFSETS[match["which"].casefold()])
    return month and days_of(f"{month.first.isoformat()[:7]}-{int(match['day']):02}")


def _holiday(match: re.Match[str], today: date) -> Days | None:
    return in_some_year(match, today, *_HOLIDAYS[" ".join(match[0].casefold().replace("’", "'").split())])


def _uncertain(match: re.Match[str], today: date) -> None:
    del match, today


def _relative_unit(match: re.Match[str], today: date) -> Days | None:
    unit, offset = match["unit"].casefold(), _OFFSETS[match["which"].casefold()]
    # on a Monday, "this weekend was great" is about the days before
    if unit == "weekend" and not offset and weekend_at(today, 0).first > today and tense_of(match) == "past":
        offset = -1
    return unit_at(today, unit, offset)


def _weekday(match: re.Match[str], today: date) -> Days | None:
    """Return the day: "last Friday" is the latest before today, "this Friday" the one ahead in this week."""
    which, ahead = match["which"].casefold(), _WEEKDAYS.index(match["day"].casefold()) - today.weekday()
    tense = tense_of(match) if which == "on" else "future" if which == "coming" else None
    if which == "last" or tense == "past":
        return day_at(today, ahead if ahead < 0 else ahead - 7)
    if tense == "future":
        return day_at(today, ahead if ahead > 0 else ahead + 7)
    return day_at(today, ahead) if which == "this" and ahead >= 0 else None


def _relative_month(match: re.Match[str], today: date) -> Days | None:
    """Return the month; in December, "last March" may be of this year or of the year before."""
    which, month = match["which"].casefold(), _month_number(match["month"])
    is_clear = which == "this" or (month >= today.month if which == "last" else month <= today.month)
    return days_of(f"{today.year + _OFFSETS[which]:04}-{month:02}") if is_clear else None


def _named_month(match: re.Match[str], today: date) -> Days | None:
    month = _month_number(match["month"])
    return days_of(f"{match['year']}-{month:02}") if match["year"] else in_some_year(match, today, month)


def _named_day(match: re.Match[str], today: date) -> Days | None:
    month, day = _month_number(match["month"]), int(match["day"])
    year = match["year"] or (match["of"] and str(today.year + _OFFSETS[match["of"].casefold()]))
    return days_of(f"{year}-{month:02}-{day:02}") if year else in_some_year(match, today, month, day)


def _iso_date(match: re.Match[str], today: date) -> Days | None:
    del today
    year, *rest = (int(part) for part in match.groups() if part)
    return days_of("-".join([f"{year:04}", *(f"{part:02}" for part in rest)]))


def _number(text: str) -> int:
    """Return a number up to 999, in digits or in words up to ninety-nine."""
    text = text.casefold()
    if text.isdecimal():
        return int(text)
    if text in {"a", "an"}:
        return 1
    words = re.split(r"[\s-]", text)
    return sum(_ONES.index(word) if word in _ONES else 10 * _TENS.index(word) + 20 for word in words)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month[:3] == name[:3].capitalize())


# -- patterns; a space stands for any white space -------------------------------------------------


def _after(*words: str) -> str:
    """Return a pattern of the position after one of *words*."""
    return "(?:" + "|".join(rf"(?<=\b{word} )" for word in words) + ")"


_NUMBER = rf"(?:\d{{1,3}}|an?|(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_ONES[1:10])}))?|{'|'.join(_ONES[1:])})"
_UNIT = r"(?P<unit>day|week|fortnight|weekend|month|year)"
_MONTHS_NAMED = rf"{'|'.join(_MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_MONTH = rf"(?P<month>{_MONTHS_NAMED})"
_CAPITAL = "(?=(?-i:[A-Z]))"  # "may" and "march" are also verbs
_IN = _after("in", "since", "during", "until", "till", "by", "of", "from", "early", "late", "mid")
_ON = _after("on", "since", "until", "till", "by", "from", "before", "after")
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d/-])"
_ORDINAL = "(?:st|nd|rd|th)"
_DATE_FOLLOWS = rf",? (?:the )?(?:\d\d?{_ORDINAL}? (?:of )?(?:{_MONTHS_NAMED})|(?:{_MONTHS_NAMED}) (?:the )?\d)"
_DAY = r"(?P<day>\d\d?)"
_OF_YEAR = rf"(?:,? {_YEAR}| (?P<of>last|this|next) year)?"
_NO_NOUN = r"(?=[,.;!?]|$| (?:and|but|so|at|when|because)\b)"  # "on the 9th floor"
_DAY_END = rf"(?!\w|[.:]\d){_OF_YEAR}"
ENGLISH: tuple[tuple[str, Resolver], ...] = (
    (r"\b(?:(?:the )?day before yesterday|yesterday|last night|tomorrow|(?:the )?day after tomorrow)\b", _near_day),
    (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _near_day),
    (rf"(?<![\d.,-])\b(?P<number>{_NUMBER}) {_UNIT}s? ago\b(?P<today> today\b)?", _ago),
    (rf"\bin (?:exactly )?(?P<number>{_NUMBER}) {_UNIT}s?\b(?! of\b)", _ahead),
    (rf"(?<![\d.,-])\b(?P<number>{_NUMBER}) {_UNIT}s? from (?:now|today)\b", _from_today),
    (rf"\b(?:few|several|some|many|couple|half an?|and a half)(?: of)? {_UNIT}s? ago\b", _uncertain),
    (rf"(?<![\d.,])(?:\d+[.,]\d+|\d+ ?[-–] ?\d+|{_NUMBER} (?:or|to) {_NUMBER}) {_UNIT}s? ago\b", _uncertain),
    (r"(?<!the )\b(?P<which>last|this|next) (?P<unit>week(?:end)?|month|year)\b(?! of\b)", _relative_unit),
    (rf"\b(?P<word>night|week|month|year|{'|'.join(_WEEKDAYS)}) before last\b", _before_last),
    (rf"\b(?P<which>last|this|next|on|coming) (?P<day>{'|'.join(_WEEKDAYS)})\b(?!{_DATE_FOLLOWS})", _weekday),
    (rf"\b(?P<which>last|this|next) {_CAPITAL}{_MONTH}(?!\w)", _relative_month),
    (rf"{_IN}{_MONTH}(?!\w)(?:,? (?:of )?{_YEAR})?", _named_month),
    (rf"\b{_MONTH},? (?:of )?{_YEAR}", _named_month),
    (rf"(?:{_ON}|\b{_CAPITAL}){_MONTH} (?:the )?{_DAY}{_ORDINAL}?{_DAY_END}", _named_day),
    (rf"\b{_MONTH} (?:the )?{_DAY}{_ORDINAL}{_DAY_END}", _named_day),
    (rf"(?<![\d.:])\b{_DAY}{_ORDINAL}? {_CAPITAL}{_MONTH}(?!\w){_OF_YEAR}", _named_day),
    (rf"\b{_DAY}{_ORDINAL} (?:of )?{_MONTH}(?!\w){_OF_YEAR}", _named_day),
    (rf"\b{_DAY}{_ORDINAL} of (?P<which>last|this|next) month\b", _day_of_near_month),
    (
        rf"(?:{_after('on the', 'by the')}|(?P<is>(?<=\bis the ))){_DAY}{_ORDINAL}{_NO_NOUN}",
        _day_of_month,
    ),
    (r"\b(?:Halloween|(?:New Year|Valentine)['’]s Day|New Year['’]s Eve|Christmas (?:Eve|Day))\b", _holiday),
    (rf"{_after('in', 'since', 'by')}((?:19|20)\d\d)(?![\d/-]|\.\d| [a-z]+s\b)", _iso_date),
    (r"(?<![\d/-])((?:19|20)\d\d)[-/](\d\d?)(?:[-/](\d\d?))?(?![\d/-])", _iso_date),
)
