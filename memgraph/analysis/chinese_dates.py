"""Chinese date phrases, such as 上周五 and 三天前: patterns, and the days that they mean."""

from __future__ import annotations

import re
from datetime import date

from memgraph.analysis.holidays import holiday, holiday_names, lunar_day
from memgraph.analysis.relative_days import (
    Resolver,
    ahead_at,
    in_some_month,
    in_some_year,
    of_some_year,
    one_day,
    same_day_at,
    tense_of,
    uncertain,
    unit_at,
    weekday_near,
)
from memgraph.models.dates import Days, days_of

_DIGITS = "一二三四五六七八九"
_DAY_OFFSETS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "後": 2, "大后": 3, "大後": 3}
_YEAR_OFFSETS = {"大前": -3, "前": -2, "去": -1, "今": 0, "明": 1, "后": 2, "後": 2}
_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12, "臘": 12}
_OFFSETS = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2}
_UNITS = {"天": "day", "日": "day", "月": "month", "年": "year"}


# -- the days of a match --------------------------------------------------------------------------


def _near_day(match: re.Match[str], today: date) -> Days:
    return unit_at(today, "day", _DAY_OFFSETS[match["which"]])


def _ago(match: re.Match[str], today: date) -> Days | None:
    unit, count = _UNITS.get(match["unit"], "week"), _number(match["number"])
    return (same_day_at if match["today"] else unit_at)(today, unit, -count)


def _ahead(match: re.Match[str], today: date) -> Days | None:
    unit, count = _UNITS.get(match["unit"], "week"), _number(match["number"])
    return same_day_at(today, unit, count) if match["today"] else ahead_at(match, today, unit, count)


def _holiday(match: re.Match[str], today: date) -> Days | None:
    return of_some_year(match, today, lambda year: one_day(holiday(match[0], year)))


def _lunar(match: re.Match[str], today: date) -> Days | None:
    """Return the day of a date of the lunar calendar, such as 腊月二十八."""
    name, text = match["month"], match["day"].removeprefix("初").replace("廿", "二十")
    month, day = _LUNAR_MONTHS.get(name) or _number(name), _number(text)
    return of_some_year(match, today, lambda year: one_day(lunar_day(year, month, day)))


def _weekday(match: re.Match[str], today: date) -> Days | None:
    return weekday_near(match, today, min("一二三四五六日天".index(match["day"]), 6)) if tense_of(match) else None


def _part_of_unit(match: re.Match[str], today: date) -> Days | None:
    return unit_at(today, _UNITS[match["unit"]], 0)


def _week(match: re.Match[str], today: date) -> Days:
    offset, day = _OFFSETS[match["which"]], match["day"]
    if not day:
        return unit_at(today, "week", offset)
    if day == "末":
        return unit_at(today, "weekend", offset)
    return unit_at(unit_at(today, "week", offset).first, "day", 6 if day in "日天" else _DIGITS.index(day))


def _month(match: re.Match[str], today: date) -> Days | None:
    return _day_or_month(unit_at(today, "month", _OFFSETS[match["which"]]).first, match)


def _year(match: re.Match[str], today: date) -> Days | None:
    year = int(match["number"]) if match["number"] else today.year + _YEAR_OFFSETS[match["which"]]
    if match["today"]:
        return same_day_at(today, "year", year - today.year)
    if not match["month"]:
        return days_of(f"{year:04}")
    month = days_of(f"{year:04}-{_number(match['month']):02}")
    return month and _day_or_month(month.first, match)


def _day_or_month(first: date, match: re.Match[str]) -> Days | None:
    """Return the day that *match* names of the month that begins on *first*, or the month if it names none."""
    month = first.isoformat()[:7]
    return days_of(f"{month}-{_number(match['day']):02}" if match["day"] else month)


def _named(match: re.Match[str], today: date) -> Days | None:
    month, day = (_number(part) if (part := match.groupdict().get(name)) else None for name in ("month", "day"))
    return in_some_year(match, today, month, day) if month else in_some_month(match, today, day or 0)


def _number(text: str) -> int:
    """Return a number, in digits or as 一 to 九十九.

    Raises:
        ValueError: If it is not a number, such as 两三, "two or three".
    """
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.replace("两", "二").replace("兩", "二").rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        raise ValueError(text)
    count = _DIGITS.index(tens) + 1 if tens else 1
    return (10 * count if ten else 0) + (_DIGITS.index(ones) + 1 if ones else 0)


# -- patterns -------------------------------------------------------------------------------------

_NUMBER = rf"(?:\d{{1,3}}|[{_DIGITS}两兩十]{{1,3}})"
_WEEKS = "周|週|星期|礼拜|禮拜"
_WHICH = "(?P<which>上上|上|这|這|本|下下|下)[个個]?"
_WEEKDAY = r"(?P<day>[一二三四五六日天末](?![次个個天遍回本直起样樣些家人份部篇]))"  # 上周三次 is not 上周三
_COUNTED = rf"(?P<unit>天|日|{_WEEKS}|(?<=[个個])月|年)"
_BEFORE = "(?:之前|以前|前)"
_WORD = "(?<![以之从從目然最午今前提聪聰过過])"  # the 前 of 以前 and the 后 of 然后 belong to these words
_MONTH = rf"(?P<month>{_NUMBER})月"
_DAY = rf"(?P<day>{_NUMBER})[日号號]"
_YEAR = rf"(?:(?<!\d)(?P<number>(?:19|20)\d\d)\s?|{_WORD}(?P<which>大前|前|去|今|明|[后後]))年"
_NOT_A_YEAR = "(?![轻輕纪紀龄齡代级級前]|以前|之前)"
_TODAY = "(?P<today>的?今[天日])?"
_ALONE = rf"(?<![\d.{_DIGITS}两兩十几幾多数數])"
_START = rf"(?<![\d年个個月{_DIGITS}十])"
_NEXT_WORD = "[我你他她要会就想没去回跟和在也都自给給，,。.！!？?\\s]"
_FOLLOWS = f"那天|那晚|当天|这天|晚|[前后後]|放假|七天|{_NEXT_WORD}"
CHINESE: tuple[tuple[str, Resolver], ...] = (
    (rf"{_WORD}(?P<which>大?前|昨|今|明|大?[后後])(?:天(?!性)|日|[儿兒][个個]?)", _near_day),
    (r"(?P<which>昨|今|明)[晚早晨夜]", _near_day),
    (rf"{_ALONE}(?P<number>{_NUMBER})\s?[个個]?{_COUNTED}{_BEFORE}(?![后後]){_TODAY}", _ago),
    (rf"{_ALONE}(?P<number>{_NUMBER})\s?[个個]?{_COUNTED}(?:[之以]?[后後]){_TODAY}", _ahead),
    (rf"再过(?P<number>{_NUMBER})\s?[个個]?{_COUNTED}{_TODAY}", _ahead),
    (
        rf"(?:{holiday_names(is_ascii=False)})(?={_FOLLOWS}|$)",
        _holiday,
    ),
    (
        rf"(?<![上下这這本每个個到至和、日号號])(?<![日号號][,， （(])(?:{_WEEKS}){_WEEKDAY}(?!\s?[到至和、,-])",
        _weekday,
    ),
    (rf"[几幾数數多半][个個]?(?:天|日|{_WEEKS}|月|年){_BEFORE}", uncertain),
    (rf"(?<![早晚以]){_WHICH}(?:{_WEEKS}){_WEEKDAY}?", _week),
    (rf"{_WHICH}月(?![球亮台])(?:{_DAY})?", _month),
    (rf"{_YEAR}{_NOT_A_YEAR}(?:\s?的?{_MONTH}份?(?:{_DAY})?|{_TODAY})", _year),
    (rf"(?:农历|農曆|阴历|陰曆|旧历)\s?(?P<month>{_NUMBER}|[正冬腊臘])月(?P<day>初?[{_DIGITS}十廿]{{1,3}})", _lunar),
    (rf"(?P<month>[正冬腊臘])月(?P<day>初?[{_DIGITS}十廿]{{1,3}})", _lunar),
    (rf"(?:农历|農曆|阴历|陰曆|旧历)\s?{_MONTH}(?:{_DAY})?", uncertain),
    (rf"(?<![{_DIGITS}十\d个個上下这這本每年])(?P<unit>[月年])[底末初](?!级)", _part_of_unit),
    (rf"{_START}{_MONTH}{_DAY}", _named),
    (rf"{_START}(?P<day>{_NUMBER})[号號](?![楼樓线線位院房门門机機店码碼])", _named),
    (rf"(?<=[在从從到自于於我你他她们們]){_MONTH}(?![\d{_DIGITS}十])", _named),
    (rf"{_START}{_MONTH}(?=[份初中底末上下]|{_NEXT_WORD})", _named),
)
