"""English date phrases, such as "two weeks ago" and "on May 3rd": patterns, and the days that they mean."""

from __future__ import annotations

import re
from datetime import date

from memgraph.analysis.holidays import MONTHS, holiday, holiday_names
from memgraph.analysis.names import ONES, ORDINALS, TENS, numbers_of
from memgraph.analysis.relative_days import (
    Resolver,
    ahead_at,
    day_at,
    distance,
    in_some_month,
    in_some_year,
    month_number,
    of_some_year,
    same_day_at,
    tense_of,
    uncertain,
    unit_at,
    weekday_near,
)
from memgraph.analysis.words import in_order
from memgraph.models.dates import Days, days_of

_ORDINALS = [
    *(*ORDINALS, *(f"{teen}th" for teen in ONES[13:]), "twentieth"),
    *(*(f"twenty-{ordinal}" for ordinal in ORDINALS[:9]), "thirtieth", "thirty-first"),
]
_MONTHS = [month.capitalize() for month in in_order("months")]
_WEEKDAYS = in_order("weekdays")
_OFFSETS = {"last": -1, "this": 0, "next": 1}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_DAY_OFFSETS = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "day after tomorrow": 2}


# -- the days of a match --------------------------------------------------------------------------


def _near_day(match: re.Match[str], today: date) -> Days:
    words = " ".join(match[0].casefold().split())
    return day_at(today, _DAY_OFFSETS.get(words.removeprefix("the "), 0))


def _counted(match: re.Match[str], today: date) -> Days | None:
    words, count = match[0].casefold().split(), _number(match["number"])
    is_exact = not {"exactly", "today", "day"}.isdisjoint(words)
    return (same_day_at if is_exact else unit_at)(
        today, match["unit"].casefold(), -count if {"ago", "back"} & {*words} else count
    )


def _ahead(match: re.Match[str], today: date) -> Days | None:
    return ahead_at(match, today, match["unit"].casefold(), _number(match["number"]))


def _counted_from(match: re.Match[str], today: date) -> Days | None:
    """Return the day that is whole weeks after a day ahead: "a week on Saturday", "Friday week", "a week tomorrow"."""
    word, number = match["day"].casefold(), match.groupdict().get("number")
    is_weekday = word in _WEEKDAYS
    ahead = (_WEEKDAYS.index(word) - today.weekday() - 1) % 7 + 1 if is_weekday else _DAY_OFFSETS.get(word, 0)
    return same_day_at(day_at(today, ahead).first, match["unit"].casefold(), _number(number) if number else 1)


def _weekday_and_day(match: re.Match[str], today: date) -> Days | None:
    """Return the nearest day of any month that is of that weekday: "Thursday the 10th"."""
    months = (unit_at(today, "month", at).first.isoformat()[:7] for at in range(-6, 7))
    days = [one for month in months if (one := days_of(f"{month}-{int(match['day']):02}"))]
    named = [one for one in days if one.first.weekday() == _WEEKDAYS.index(match["weekday"].casefold())]
    tense = tense_of(match)
    fitting = [one for one in named if tense not in {"past", "future"} or (one.first < today) == (tense == "past")]
    return min(fitting or named, key=lambda one: abs((one.first - today).days), default=None)


def _season(match: re.Match[str], today: date) -> Days | None:
    """Return the months of a season: the latest that is over, the nearest ("this summer"), or the first to come."""
    first, which = _SEASONS[match["season"].casefold()], match["which"]
    by_tense = {"past": -1, "future": 1}.get(tense_of(match) or "")
    offset = _OFFSETS[which.casefold()] if which else by_tense
    starts = [date(today.year + at, first, 1) for at in (-2, -1, 0, 1)]
    seasons = [Days(start, unit_at(start, "month", 2).last) for start in starts]
    if offset is None:
        return None
    if offset == 0:
        return min(seasons, key=lambda one: distance(one, today))
    if offset < 0:
        return max(one for one in seasons if one.last < today)
    return min(one for one in seasons if one.first > today)


def _before_last(match: re.Match[str], today: date) -> Days | None:
    word = match["word"].casefold()
    if word in _WEEKDAYS:
        ahead = _WEEKDAYS.index(word) - today.weekday()
        return day_at(today, (ahead if ahead < 0 else ahead - 7) - 7)
    return unit_at(today, {"night": "day"}.get(word, word), -2)


def _after_next(match: re.Match[str], today: date) -> Days | None:
    return unit_at(today, match["unit"].casefold(), 2)


def _part_of_unit(match: re.Match[str], today: date) -> Days | None:
    """Return the unit: a part of a week, month or year is given as all of it."""
    return unit_at(today, match["unit"].casefold(), _OFFSETS[(match["which"] or "this").casefold()])


def _day_of_month(match: re.Match[str], today: date) -> Days | None:
    """Return the day: "on the 9th" is the latest in a clause of the past, else the next."""
    day = match["day"].casefold()
    return in_some_month(match, today, _ORDINALS.index(day) + 1 if day in _ORDINALS else int(day), tense="future")


def _day_of_near_month(match: re.Match[str], today: date) -> Days | None:
    month = unit_at(today, "month", _OFFSETS[match["which"].casefold()]).first
    return days_of(f"{month.isoformat()[:7]}-{int(match['day']):02}")


def _holiday(match: re.Match[str], today: date) -> Days | None:
    """Return the day; with its weekend, the days around it."""
    name = " ".join(match["holiday"].casefold().split())
    margin = 2 if match["weekend"] else 0

    def days_in(year: int) -> Days | None:
        day = holiday(name, year)
        return day and Days(day_at(day, -margin).first, day_at(day, margin // 2).last)

    return of_some_year(match, today, days_in)


def _relative_unit(match: re.Match[str], today: date) -> Days | None:
    unit, offset = match["unit"].casefold(), _OFFSETS[match["which"].casefold()]
    # on a Monday, "this weekend was great" is about the days before
    if unit == "weekend" and not offset and today.weekday() < _WEEKDAYS.index("saturday") and tense_of(match) == "past":
        offset = -1
    return unit_at(today, unit, offset)


def _weekend(match: re.Match[str], today: date) -> Days | None:
    """Return the weekend before today in a clause of the past, the one that is or comes next in another."""
    tense = tense_of(match)
    is_over = tense == "past" and today.weekday() < _WEEKDAYS.index("saturday")
    return unit_at(today, "weekend", -1 if is_over else 0) if tense in {"past", "future"} else None


def _weekday(match: re.Match[str], today: date) -> Days | None:
    """Return the day: "last Friday" is the latest before today, "this Friday" the one ahead in this week.

    "next Friday" is certain only on a Friday or later in the week.
    """
    weekday, which = _WEEKDAYS.index(match["day"].casefold()), match.groupdict().get("which", "on").casefold()
    if which == "on":
        return weekday_near(match, today, weekday)
    ahead = weekday - today.weekday()
    if which in {"last", "past"}:
        return day_at(today, ahead if ahead < 0 else ahead - 7)
    if which == "coming" or (which == "next" and ahead <= 0):
        return day_at(today, ahead if ahead > 0 else ahead + 7)
    return day_at(today, ahead) if which == "this" and ahead >= 0 else None


def _season_of_year(match: re.Match[str], today: date) -> Days | None:
    del today
    start = date(int(match["year"]), _SEASONS[match["season"].casefold()], 1)
    return Days(start, unit_at(start, "month", 2).last)


def _weekday_of_month(match: re.Match[str], today: date) -> Days | None:
    """Return the day: "the first Monday of next month", "the last Sunday of May"."""
    which, nth, weekday = match["which"], match["nth"].casefold(), _WEEKDAYS.index(match["weekday"].casefold())
    if month := unit_at(today, "month", _OFFSETS[which.casefold()]) if which else _named(match, today):
        first = (weekday - month.first.weekday()) % 7 + 7 * (_ORDINALS.index(nth) if nth != "last" else 0)
        last = (month.last.weekday() - weekday) % 7
        return day_at(month.last, -last) if nth == "last" else day_at(month.first, first)
    return None


def _relative_month(match: re.Match[str], today: date) -> Days | None:
    """Return the month; in December, "last March" may be of this year or of the year before."""
    which, month = match["which"].casefold(), month_number(match["month"])
    is_clear = which == "this" or (month >= today.month if which == "last" else month <= today.month)
    return days_of(f"{today.year + _OFFSETS[which]:04}-{month:02}") if is_clear else None


def _named(match: re.Match[str], today: date) -> Days | None:
    """Return the days of a month, or a day of one, in the year that *match* names, else that the sentence means."""
    month, day = month_number(match["month"]), match.groupdict().get("day", "").casefold()
    number = _ORDINALS.index(day) + 1 if day in _ORDINALS else int(day or 0)
    year = match["year"] or (match["of"] and str(today.year + _OFFSETS[match["of"].casefold()]))
    text = f"{year}-{month:02}-{number:02}".removesuffix("-00")
    return days_of(text) if year else in_some_year(match, today, month, number or None)


def _iso_date(match: re.Match[str], today: date) -> Days | None:
    del today
    year, *rest = (int(part) for part in match.groups() if part)
    return days_of("-".join([f"{year:04}", *(f"{part:02}" for part in rest)]))


def _numeric(match: re.Match[str], today: date) -> Days | None:
    """Return the day of a date such as 27/02 or 2/27/2026, if only one of the two can be the month."""
    low, high = sorted((int(match["one"]), int(match["other"])))
    if low > MONTHS or high <= MONTHS:
        return None
    year = match["year"]
    return days_of(f"{year}-{low:02}-{high:02}") if year else in_some_year(match, today, low, high)


def _number(text: str) -> int:
    """Return a number up to 999, in digits or in words up to ninety-nine; an article is 1."""
    return max(map(int, numbers_of(text, in_words=True)), default=1)


# -- patterns; a space stands for any white space -------------------------------------------------


def _after(*words: str) -> str:
    """Return a pattern of the position after one of *words*."""
    return "(?:" + "|".join(rf"(?<=\b{word} )" for word in words) + ")"


_NUMBER = rf"(?:\d{{1,3}}|an?|(?:{'|'.join(TENS)})(?:[ -](?:{'|'.join(ONES[1:10])}))?|{'|'.join(ONES[1:])})"
_UNIT = r"(?P<unit>day|week|fortnight|weekend|month|year)"
_MONTHS_NAMED = rf"{'|'.join(_MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_MONTH = rf"(?P<month>{_MONTHS_NAMED})"
_CAPITAL = r"(?=(?-i:[A-Z])|(?!may\b|mar(?:ch)?\b))"  # "may" and "march" are also verbs
_BEFORE_MONTH = ("in", "since", "during", "between", "until", "till", "by", "of", "from", "early", "late", "mid")
_IN = f"(?:{_after(*_BEFORE_MONTH)}|(?<=\\bmid-))"
_ON = _after("on", "since", "until", "till", "by", "from", "before", "after")
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d/-])"
_ORDINAL = "(?:st|nd|rd|th)"
_DATE_FOLLOWS = rf",? (?:the )?(?:\d\d?{_ORDINAL}? (?:of )?(?:{_MONTHS_NAMED})|(?:{_MONTHS_NAMED}) (?:the )?\d)"
_MONTH_FOLLOWS = rf" (?:of )?(?:{_MONTHS_NAMED}|(?:last|this|next) month)"
_HABIT = " (?:mornings|lunchtimes|afternoons|evenings|nights)\\b"  # "on Sunday mornings" names no day
_DAY = r"(?P<day>\d\d?)"
_OF_YEAR = rf"(?:,? (?:of )?(?:{_YEAR}|(?P<of>last|this|next) year))?"
_VERB_FOLLOWS = "and|but|so|at|when|because|that|if|was|were|is|went|has|had|will|we|I|he|she|they"
_NO_NOUN = rf"(?=[,.;!?]|$| (?:{_VERB_FOLLOWS})\b)"  # "on the 9th floor"
_NTH_DAY = rf"\b(?P<nth>last|{'|'.join(_ORDINALS[:4])}) (?P<weekday>{'|'.join(_WEEKDAYS)})"
_IS_THE = "(?:" + _after("on the", "by the", "for the", "since the", "is the") + "|(?<=['’]s the ))"
_FROM_NOW = r"(?:ago(?:,? (?:today|to the day))?|from (?:now|today)|back(?=[.,;!?]|$| (?:I|we|my|our|when)\b))\b"
_START_DAY = rf"(?P<day>{'|'.join(_WEEKDAYS)}|today|tomorrow)"
_PART = "(?:end|start|beginning|middle|first half|second half)"
_DAY_END = rf"(?!\w|[.:]\d){_OF_YEAR}"
_NAMED_DAY = "|".join(sorted(_ORDINALS, key=len, reverse=True)).replace("-", "[ -]")
_DETERMINERS = ["every", "each", "on", "last", "past", "this", "next", "coming", "of", "a", "the", "to", "or"]
_NAMED = ["good", "black", "ash", "shrove", "palm", "easter", "mothering", "holiday", "cyber"]
"""What makes a weekday a certain one, such as Palm Sunday."""
_BEFORE_BARE = [*_DETERMINERS, *_ORDINALS[:4], "other", *_NAMED]
_NAMED_WEEKDAY = rf"(?P<day>{'|'.join(_WEEKDAYS)})"
_NO_DATE_BEFORE = r"(?<!\d )(?<!\d, )(?<!\d \()(?<!(?:st|nd|rd|th) )(?<!(?:st|nd|rd|th), )"
# what is before is looked at where a weekday begins only, since there is much to look for
_NOT_AFTER = "".join(rf"(?<!\b{word} )" for word in _BEFORE_BARE) + r"(?<![\w-])"
_WEEKDAY_FOLLOWS = rf"(?={_NAMED_WEEKDAY.replace('P<day>', ':')})"
_BARE = rf"{_WEEKDAY_FOLLOWS}{_NOT_AFTER}{_NO_DATE_BEFORE}{_NAMED_WEEKDAY}(?!{_DATE_FOLLOWS})"
_PART_OF_DAY = " (?:morning|lunchtime|afternoon|evening|night)\\b"
_DAYS_NAMED = holiday_names(is_ascii=True)
_NO_TREE = (
    rf"(?<!christmas)(?<!easter)(?<!thanksgiving)|(?=['’]s\b)|{_NO_NOUN}|(?= (?:in|on|with|for|to|by|this|last)\b)"
)
ENGLISH: tuple[tuple[str, Resolver], ...] = (
    (r"\b(?:(?:the )?day before yesterday|yesterday|last night|tomorrow|(?:the )?day after tomorrow)\b", _near_day),
    (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _near_day),
    (rf"(?<![\d.,-])\b(?:exactly )?(?P<number>{_NUMBER}) {_UNIT}s? {_FROM_NOW}", _counted),
    (rf"\b(?P<number>{_NUMBER}) (?P<unit>week|fortnight)s? (?:on |from )?{_START_DAY}\b", _counted_from),
    (rf"\b(?:on )?{_START_DAY} (?P<unit>week|fortnight)\b(?! of\b)", _counted_from),
    (
        rf"\b(?:on )?(?P<weekday>{'|'.join(_WEEKDAYS)}),? (?:the )?{_DAY}{_ORDINAL}\b(?!{_MONTH_FOLLOWS})",
        _weekday_and_day,
    ),
    (rf"\bin (?:exactly )?(?P<number>{_NUMBER}) {_UNIT}s?\b(?! of\b)", _ahead),
    (rf"\b(?:few|several|some|many|couple|half an?|and a half)(?: of)? {_UNIT}s? ago\b", uncertain),
    (rf"(?<![\d.,])(?:\d+[.,]\d+|\d+ ?[-–] ?\d+|{_NUMBER} (?:or|to) {_NUMBER}) {_UNIT}s? ago\b", uncertain),
    (r"(?<!the )\b(?P<which>last|this|next) (?P<unit>week(?:end)?|month|year)\b(?! of\b)", _relative_unit),
    (r"\b(?:at|over|on) the weekend\b", _weekend),
    (r"\b(?P<unit>week(?:end)?|month|year) after next\b", _after_next),
    (rf"\b{_PART} of (?:(?P<which>last|this|next)|the) (?P<unit>week|month|year)\b", _part_of_unit),
    (rf"\b(?:(?P<which>last|this|next)|in(?: the)?) (?P<season>{'|'.join(_SEASONS)})\b(?! (?:of )?\d)", _season),
    (rf"\b(?P<word>night|week|month|year|{'|'.join(_WEEKDAYS)}) before last\b", _before_last),
    (rf"{_NTH_DAY} (?:of|in) (?:(?P<which>last|this|next) month\b|{_MONTH}(?!\w){_OF_YEAR})", _weekday_of_month),
    (
        rf"\b(?P<which>last|past|this|next|on|coming) (?P<day>{'|'.join(_WEEKDAYS)})\b(?!{_DATE_FOLLOWS}|{_HABIT})",
        _weekday,
    ),
    (rf"\b(?P<which>last|this|next) {_CAPITAL}{_MONTH}(?!\w)", _relative_month),
    (rf"{_IN}{_MONTH}(?!\w){_OF_YEAR}", _named),
    (rf"\b{_MONTH}(?=,? (?:of )?(?:19|20)\d\d){_OF_YEAR}", _named),
    (rf"(?:{_ON}|(?<=day )|(?<=day, )|\b{_CAPITAL}){_MONTH} (?:the )?{_DAY}{_ORDINAL}?{_DAY_END}", _named),
    (rf"\b{_MONTH} (?:the )?{_DAY}{_ORDINAL}{_DAY_END}", _named),
    (rf"(?<![\d.:])\b{_DAY}{_ORDINAL}? {_CAPITAL}{_MONTH}(?!\w){_OF_YEAR}", _named),
    (rf"\b{_DAY}{_ORDINAL} (?:of )?{_MONTH}(?!\w){_OF_YEAR}", _named),
    (rf"\b(?P<day>{_NAMED_DAY}) of {_CAPITAL}{_MONTH}(?!\w){_OF_YEAR}", _named),
    (rf"\b{_CAPITAL}{_MONTH} (?:the )?(?P<day>{_NAMED_DAY})\b{_OF_YEAR}", _named),
    (rf"{_IS_THE}(?!(?:first|second|third|fourth)\b)(?P<day>{_NAMED_DAY}){_NO_NOUN}", _day_of_month),
    (rf"\b(?P<season>{'|'.join(_SEASONS)}) (?:of )?{_YEAR}", _season_of_year),
    (rf"{_BARE}(?:['’]s(?= \w)|(?={_PART_OF_DAY})|(?: gone)?{_NO_NOUN})", _weekday),
    (rf"\b{_DAY}{_ORDINAL} of (?P<which>last|this|next) month\b", _day_of_near_month),
    (rf"{_IS_THE}{_DAY}{_ORDINAL}{_NO_NOUN}", _day_of_month),
    (rf"\b(?P<holiday>{_DAYS_NAMED})\b(?P<weekend> weekend)?(?:{_NO_TREE})", _holiday),
    (rf"{_after('in', 'since', 'by')}((?:19|20)\d\d)(?![\d/-]|\.\d| [a-z]+s\b)", _iso_date),
    (r"(?<![\d/-])((?:19|20)\d\d)[-/](\d\d?)(?:[-/](\d\d?))?(?![\d/-])", _iso_date),
    (rf"(?:{_ON}|(?=\d\d?/\d\d?/\d))(?<![\d/-])(?P<one>\d\d?)/(?P<other>\d\d?)(?:/{_YEAR})?(?![\d/-])", _numeric),
)
