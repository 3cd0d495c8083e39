"""Dates: reading times, showing them in a time zone, and comparing partial dates.

A partial date is a year, a month or a day of ISO 8601: `2023`, `2023-05`, `2023-05-08`. It stands for all its days.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, tzinfo
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator

from memgraph.models import PARTIAL_DATE, Fact

MIN_MILLISECONDS = 1e11
"""A number of this size or more is milliseconds since 1970: in seconds it would be the year 5138."""

_DIGITS = re.compile(r"[0-9]{9,13}(?:\.[0-9]{1,9})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(value: object, *, now: datetime | None = None) -> datetime | None:
    """Return the time that *value* states, in UTC.

    Args:
        value: A datetime or a date, a text in ISO 8601, or the seconds or milliseconds since 1970, also as a text.
            Without a zone it is UTC.
        now: Later times are not believed; None believes them.

    Returns:
        None if *value* states no time, or one before 1970 or after *now*.
    """
    try:
        moment = _read(value)
        moment = moment.astimezone(UTC) if moment and moment.tzinfo else moment and moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    is_plausible = moment is not None and moment >= _EPOCH and (now is None or moment <= now)
    return moment if is_plausible else None


def first_time(values: Iterable[object], *, now: datetime | None = None) -> datetime | None:
    """Return the first time that one of *values* states, see `parse_time`."""
    return next((moment for value in values if (moment := parse_time(value, now=now))), None)


def _read(value: object) -> datetime | None:
    """Read *value*; None or an error if it is not a time."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=UTC)
    if isinstance(value, str):
        text = value.strip()
        return _from_epoch(float(text)) if _DIGITS.fullmatch(text) else datetime.fromisoformat(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _from_epoch(float(value))


def _check_time(value: object) -> datetime:
    moment = parse_time(value)
    if moment is None:
        raise ValueError("must be a time since 1970: a datetime, ISO 8601, or seconds or milliseconds since 1970")
    return moment


UtcTime = Annotated[datetime, BeforeValidator(_check_time)]
"""A time in UTC, read by `parse_time`."""


def _from_epoch(number: float) -> datetime | None:
    if not math.isfinite(number) or number <= 0:  # 0 stands for "not set"
        return None
    return datetime.fromtimestamp(number / 1_000 if number >= MIN_MILLISECONDS else number, tz=UTC)


# -- time zones -----------------------------------------------------------------------------------


def check_timezone(name: str) -> str:
    """Return *name* if it is a time zone of the IANA database, such as `Europe/Lisbon`.

    Raises:
        ValueError: If it is not, or if this computer has no such database: Windows needs the package tzdata.
    """
    try:
        _zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone of the IANA database, such as Europe/Lisbon") from None
    return name


TimezoneName = Annotated[str, AfterValidator(check_timezone)]
"""A time zone of the IANA database, such as `Europe/Lisbon`."""


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def local_day(at: str | datetime, timezone: str = "UTC") -> date | None:
    """Return the day on which *at* is in *timezone*; None if *at* is not a time."""
    moment = parse_time(at)
    return moment.astimezone(_zone(timezone)).date() if moment else None


def local_date(at: str | datetime, timezone: str = "UTC") -> str:
    """Return the day on which *at* is in *timezone*, as `2026-05-03`; empty if *at* is not a time."""
    day = local_day(at, timezone)
    return day.isoformat() if day else ""


def shown_date(at: str, timezone: str = "UTC") -> str:
    """Return the day of *at* in *timezone*; a partial date as it is; "" if *at* is neither."""
    return at if PARTIAL_DATE.fullmatch(at) else local_date(at, timezone)


# -- partial dates --------------------------------------------------------------------------------


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
    return Days(first, first if day else _last_day(first, whole_year=not month))


def _last_day(first: date, *, whole_year: bool) -> date:
    if whole_year:
        return first.replace(month=12, day=31)
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


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


def has_expired(fact: Fact, now: str) -> bool:
    """Return whether *fact* was true until a day before *now*.

    A fact that was said after that day is about the past, such as "Lived in Rome until 2020": it stays true.

    Args:
        fact: Any fact.
        now: A time in ISO 8601, or a day.
    """
    if not fact.valid_until:
        return False
    said = (fact.said_at or fact.created_at)[:_DAY_CHARS]
    return is_before(fact.valid_until, now[:_DAY_CHARS]) and not is_before(fact.valid_until, said)


_DAY_CHARS = len("2026-05-03")
