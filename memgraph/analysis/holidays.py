"""Holidays: the day of each year that a name stands for. They are data: `holidays.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal

from pydantic import TypeAdapter

from memgraph._yaml import read_packaged
from memgraph.analysis.normalize import is_chinese

MONTHS = 12
_APOSTROPHE = "['’]?"

Kind = Literal["fixed", "nth", "easter", "lunar", "terms"]
_TABLES = TypeAdapter(dict[Kind, dict[str | int, str]])


@cache
def _rules() -> Mapping[str, tuple[Kind, str]]:
    """Return by the pattern of a name how its day is found, as `holidays.yaml` explains it; many drop apostrophes."""
    tables = _TABLES.validate_python(read_packaged("memgraph.analysis", "holidays.yaml"))
    return {
        name.replace("'", _APOSTROPHE): (kind, str(rule))
        for kind, table in tables.items()
        for rule, names in table.items()
        for name in names.split(" | ")
    }


@cache
def holiday_names(*, is_ascii: bool) -> str:
    """Return a pattern of the names of all holidays, in English or in Chinese, the longest first."""
    names = (name for name in _rules() if is_chinese(name) != is_ascii)
    return "|".join(sorted(names, key=len, reverse=True))


def holiday(name: str, year: int) -> date | None:
    """Return the day of the holiday *name*, folded, in *year*; None if there is none."""
    found = next((rule for pattern, rule in _rules().items() if re.fullmatch(pattern, name)), None)
    if found is None:
        return None
    kind, rule = found
    if kind == "fixed":
        return date.fromisoformat(f"{year:04}-{rule}")
    if kind == "terms":
        return _day_of_term(year, tuple(rule.split()))
    first, *others = map(int, rule.split())
    if kind == "easter":
        return _easter(year) + timedelta(days=first)
    if kind == "lunar":
        day = lunar_day(year, first, others[0])
        return day and day + timedelta(days=others[1])
    days = (date(year, first, 1) + timedelta(days=at) for at in range(31))
    weekdays = [day for day in days if day.month == first and day.weekday() == others[0]]
    return weekdays[others[1] - (others[1] > 0)]


@lru_cache(maxsize=1_024)
def lunar_day(year: int, month: int, day: int) -> date | None:
    """Return a day of the Chinese year that begins in *year*; None if it has no such day."""
    found = _calendar().LunarMonth.fromYm(year, month) if 1 <= month <= MONTHS else None
    if found is None or not 1 <= day <= found.getDayCount():
        return None
    return date.fromisoformat(_calendar().Lunar.fromYmd(year, month, day).getSolar().toYmd())


@lru_cache(maxsize=256)
def _day_of_term(year: int, names: tuple[str, ...]) -> date | None:
    terms = _calendar().Solar.fromYmd(year, 12, 31).getLunar().getJieQiTable()
    days = (date.fromisoformat(terms[name].toYmd()) for name in names)
    return next((day for day in days if day.year == year), None)


def _calendar() -> Any:  # noqa: ANN401 - the package has no types
    """Return the package of the Chinese calendar, which is imported when a text names a date of it."""
    return import_module("lunar_python")


def _easter(year: int) -> date:
    """Return Easter Sunday in the Gregorian calendar.

    Source:
        Meeus, "Astronomical Algorithms", 1991, chapter 8.
    """
    golden, century, rest = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    correction = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * correction + 114, 31)
    return date(year, month, day + 1)
