"""Times: reading them, and showing them in a time zone. `memgraph.models.dates` has the partial dates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator

from memgraph.errors import EditError
from memgraph.models import PARTIAL_DATE, timestamp
from memgraph.models.dates import days_of

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
    try:
        return moment.astimezone(_zone(timezone)).date() if moment else None
    except OverflowError:  # at the end of the year 9999, where the zone is ahead of UTC
        return None


def local_date(at: str | datetime, timezone: str = "UTC") -> str:
    """Return the day on which *at* is in *timezone*, as `2026-05-03`; empty if *at* is not a time."""
    day = local_day(at, timezone)
    return day.isoformat() if day else ""


def shown_date(at: str, timezone: str = "UTC") -> str:
    """Return the day of *at* in *timezone*; a partial date as it is; "" if *at* is neither."""
    return at if PARTIAL_DATE.fullmatch(at) else local_date(at, timezone)


def since(date: str, timezone: str = "UTC") -> Callable[[str], bool]:
    """Return whether a time is on or after *date*.

    Args:
        date: A time, or a year, month or day such as `2026-05`, of which the first day counts.
        timezone: In which a day of *date* begins, such as `Europe/Lisbon`.

    Returns:
        A function from a time in ISO 8601; of an unknown time it returns False.

    Raises:
        EditError: If *date* is not a date; it is a ValueError, too.
    """
    if days := days_of(date):
        first = days.first.isoformat()
        return lambda at: local_date(at, timezone) >= first
    moment = parse_time(date)
    if moment is None:
        raise EditError(f"{date[:40]!r} is not a date: write 2026, 2026-05, 2026-05-03 or 2026-05-03T09:00:00Z")
    start = timestamp(moment)
    return lambda at: at >= start
