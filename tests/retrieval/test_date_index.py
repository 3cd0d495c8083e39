"""The documents that are of the dates in a question."""

from __future__ import annotations

import pytest

from memgraph.retrieval.date_index import DateIndex


def find(asked: str, *dates: str) -> list[bool]:
    """Which of the documents, each of one date, are of the date *asked*."""
    return DateIndex([(date,) if date else () for date in dates]).find([asked]).tolist()


def test_a_document_is_of_its_day_its_month_and_its_year() -> None:
    dates = ("2023-05-03T23:59:59Z", "2023-05-04", "2023-06-01", "2022-05-03")

    assert find("2023-05-03", *dates) == [True, False, False, False]
    assert find("2023-05", *dates) == [True, True, False, False]
    assert find("2023", *dates) == [True, True, True, False]


def test_a_partial_date_is_of_all_its_days() -> None:
    assert find("2023-05-03", "2023-05", "2023", "2023-06") == [True, True, False]


def test_several_dates_are_the_time_between_them() -> None:
    """In any order: a fact may be said before it begins."""
    assert DateIndex([("2023-08-01T00:00:00Z", "2023-05")]).find(["2023-07"]).tolist() == [True]


def test_any_of_the_dates_asked_for_counts() -> None:
    assert DateIndex([("2023",), ("2024",), ("2025",)]).find(["2023-01", "2025"]).tolist() == [True, False, True]
    assert DateIndex([("2023",)]).find([]).tolist() == [False]


@pytest.mark.parametrize("stored", ["", "someday", "2023-13-01", "12 May", "2023-02-30"])
def test_what_has_no_date_is_never_found(stored: str) -> None:
    """A stored text of another form is kept, but means nothing here."""
    assert find("2023", stored, "2023-05-01") == [False, True]


def test_without_documents_nothing_is_found() -> None:
    assert find("2023-05") == []
