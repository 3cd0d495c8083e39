"""Times of messages, time zones and partial dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.dates import check_timezone, local_date, local_day, parse_time
from memgraph.models.dates import Days, covering_date, days_of, is_before

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
EPOCH_SECONDS = 1_683_554_160
DATES = st.dates(date(1970, 1, 1), date(2100, 12, 31))


@pytest.mark.parametrize(
    "value",
    [
        "2023-05-08T13:56:00Z",
        "2023-05-08T15:56:00+02:00",
        "2023-05-08 13:56",
        " 2023-05-08T13:56:00 ",
        EPOCH_SECONDS,
        float(EPOCH_SECONDS),
        EPOCH_SECONDS * 1_000,
        str(EPOCH_SECONDS),
        f"{EPOCH_SECONDS}000",
        datetime(2023, 5, 8, 13, 56),  # noqa: DTZ001 - a time without a zone is UTC
        datetime(2023, 5, 8, 9, 56, tzinfo=timezone(timedelta(hours=-4))),
    ],
)
def test_times_of_any_form_are_read_as_utc(value: object) -> None:
    """Providers and applications write ISO 8601, or seconds or milliseconds since 1970."""
    assert parse_time(value) == MAY_8


@pytest.mark.parametrize("value", ["2023-05-08", date(2023, 5, 8)])
def test_day_is_its_beginning(value: object) -> None:
    assert parse_time(value) == datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -5,
        float("nan"),
        float("inf"),
        1e300,
        10**400,
        "",
        "yesterday",
        "2023-05",
        "2023-13-01",
        "1" * 40,
        "0001-01-01T00:00:00+14:00",
        "1969-12-31T23:59:59Z",
        b"2023-05-08",
        [2023],
        {"year": 2023},
    ],
)
def test_what_states_no_time_is_no_time(value: object) -> None:
    """A message with such a value is read as one without a time; nothing is raised."""
    assert parse_time(value) is None


@given(st.one_of(st.text(), st.integers(), st.floats(), st.datetimes(timezones=st.timezones()), st.binary()))
def test_any_value_is_a_time_since_1970_or_none(value: object) -> None:
    moment = parse_time(value, now=MAY_8)

    assert moment is None or datetime(1970, 1, 1, tzinfo=UTC) <= moment <= MAY_8


@given(st.datetimes(datetime(1974, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - bounds
def test_seconds_and_milliseconds_are_distinguished(moment: datetime) -> None:
    """From 1973 on, a number of milliseconds is too large to be a number of seconds."""
    moment = moment.replace(microsecond=0)

    assert parse_time(moment.timestamp()) == parse_time(moment.timestamp() * 1_000) == moment


def test_a_day_after_the_last_year_is_no_day() -> None:
    assert local_day("9999-12-31T23:30:00Z", "Asia/Tokyo") is None


def test_future_time_is_not_believed() -> None:
    """The clock of a client, or a reading as UTC of a local time, may be hours ahead."""
    assert parse_time(MAY_8 + timedelta(seconds=1), now=MAY_8) is None
    assert parse_time(MAY_8, now=MAY_8) == MAY_8


@pytest.mark.parametrize(
    ("at", "timezone", "day"),
    [
        ("2023-05-08T23:30:00Z", "UTC", "2023-05-08"),
        ("2023-05-08T23:30:00Z", "Asia/Shanghai", "2023-05-09"),
        ("2023-05-08T03:30:00Z", "America/New_York", "2023-05-07"),
        ("", "UTC", ""),
        ("last spring", "UTC", ""),
    ],
)
def test_day_is_shown_in_the_time_zone(at: str, timezone: str, day: str) -> None:
    """What is said in the evening in Lisbon was not said on the day after."""
    assert local_date(at, timezone) == day


@pytest.mark.parametrize(
    "name", ["", "Atlantis/Capital", "../etc/passwd", "/etc/localtime", "Europe", "x" * 5_000, "\0"]
)
def test_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="IANA"):
        check_timezone(name)


@pytest.mark.parametrize(
    ("partial", "first", "last"),
    [
        ("2023", date(2023, 1, 1), date(2023, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2023-05-08", date(2023, 5, 8), date(2023, 5, 8)),
    ],
)
def test_partial_date_stands_for_all_its_days(partial: str, first: date, last: date) -> None:
    assert days_of(partial) == (first, last)


@pytest.mark.parametrize("text", ["", "0000", "2023-02-30", "2023-13", "23-05", "2023-05-08T10:00", "May"])
def test_what_is_not_a_partial_date_has_no_days(text: str) -> None:
    assert days_of(text) is None


@given(DATES, DATES)
def test_covering_date_contains_all_days(one: date, other: date) -> None:
    """And there is none only if no year contains them."""
    days = Days(min(one, other), max(one, other))

    covering = days_of(covering_date(days) or "")

    if one.year != other.year:
        assert covering is None
    else:
        assert covering
        assert covering.first <= days.first <= days.last <= covering.last


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("2022", "2023-01-01", True),
        ("2023-05-07", "2023-05-08", True),
        ("2023", "2023-05", False),
        ("2023-05", "2023", False),
        ("2023-05", "2023-05", False),
        ("", "2023", False),
    ],
)
def test_date_is_before_another_only_if_all_its_days_are(one: str, other: str, *, expected: bool) -> None:
    assert is_before(one, other) is expected
