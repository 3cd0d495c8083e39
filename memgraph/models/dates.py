"""Partial dates: a year, a month or a day of ISO 8601, such as `2023-05`. Each stands for all its days."""

from __future__ import annotations

import calendar
from datetime import date
from typing import NamedTuple

from memgraph.models.values import PARTIAL_DATE

DAY_CHARS = len("2026-05-03")
"""The day of a time in ISO 8601 is its first characters."""


class Days(NamedTuple):
    """The days from the first to the last, both included."""

    first: date
    last: date


def days_of(partial: str) -> Days | None:
    """Return the days that a partial date stands for; None if it is not one, such as `2023-02-30`."""
    match = PARTIAL_DATE.fullmatch(partial)
    if match is None:
        return None
    year, month, day = (int(part or 0) for part in match.groups())
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    return Days(first, date(year, month or 12, day or calendar.monthrange(year, month or 12)[1]))


def covering_date(days: Days) -> str | None:
    """Return the most precise partial date that contains all of *days*; None if they are in different years."""
    first, last = days
    if first == last:
        return first.isoformat()
    if first.year != last.year:
        return None
    return first.isoformat()[:7] if first.month == last.month else first.isoformat()[:4]


def is_before(one: str, other: str) -> bool:
    """Return whether all of the partial date *one* is before all of *other*; False if that is not certain."""
    days, others = days_of(one), days_of(other)
    return days is not None and others is not None and days.last < others.first
