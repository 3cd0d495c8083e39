"""A fact has the date of what happened, also if the user and the model used relative words."""

from __future__ import annotations

from datetime import date
from functools import partial

import pytest
from cpu_time import cpu_seconds, takes_less

from memgraph.analysis.date_phrases import date_of_fact, find_dates, name_dates, quoted_date, read_date

SAID = date(2023, 5, 3)  # a Wednesday


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("2023-05-01", "2023-05-01"),
        ("2023-05", "2023-05"),
        (2023, "2023"),
        ("2023-05-01T10:00:00Z", "2023-05-01"),
        ("two days ago", "2023-05-01"),
        ("昨天", "2023-05-02"),
        ("2023-02-30", ""),
        ("soon", ""),
        ("", ""),
        (None, ""),
        (True, ""),
    ],
)
def test_a_date_is_read_in_any_form(value: object, read: str) -> None:
    """Small models copy the user's words."""
    assert read_date(value, SAID) == read


def test_relative_words_of_an_unknown_day_are_not_a_date() -> None:
    """They could be any."""
    assert (read_date("two days ago", None), quoted_date("two days ago", None)) == ("", "")
    assert name_dates("Moved two days ago.", None) == "Moved two days ago."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("My father died two days ago", "2023-05-01"),
        ("我昨天去了西湖", "2023-05-02"),
        ("I am busy until tomorrow", ""),
        ("I saw her yesterday and two days ago", ""),
        ("I like tea", ""),
    ],
)
def test_the_only_date_of_a_quote_is_when_it_happened(words: str, found: str) -> None:
    """Not when something ends, and not one of several."""
    assert quoted_date(words, SAID) == found


@pytest.mark.parametrize(
    ("stated", "words", "date"),
    [
        ("2023-06-12", "I start at the mill on 2 June 2023", "2023-06-02"),
        ("2022", "I left the mill last month", ""),
        ("2023-04-20", "I left the mill last month", "2023-04-20"),
        ("2023-06-12", "I start at the mill soon", "2023-06-12"),
        ("", "I left the mill yesterday", "2023-05-02"),
    ],
)
def test_the_only_date_of_a_quote_corrects_another_that_the_model_stated(stated: str, words: str, date: str) -> None:
    assert date_of_fact(stated, words, SAID) == date


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("The user's father died two days ago.", "The user's father died two days ago (2023-05-01)."),
        ("昨天去了西湖", "昨天（2023-05-02）去了西湖"),
        ("Moved to Oslo in May 2022.", "Moved to Oslo in May 2022."),
        ("Went to the sea on 2023-05-02, yesterday.", "Went to the sea on 2023-05-02, yesterday."),
        ("Likes tea.", "Likes tea."),
    ],
)
def test_a_relative_time_is_followed_by_its_date(content: str, named: str) -> None:
    """A year later it would mean another day."""
    assert name_dates(content, SAID) == named


def test_a_time_of_a_fact_means_what_it_means_in_the_words_of_the_user() -> None:
    """A fact has no subject that shows its tense."""
    november = date(2026, 11, 28)

    assert (
        name_dates("Starts a course in October.", november, "I start a course in October")
        == "Starts a course in October."
    )
    assert name_dates("Left Oslo in October.", november, "I left Oslo in October") == "Left Oslo in October (2026-10)."


def test_naming_many_dates_takes_hardly_longer_than_finding_them() -> None:
    """Each date was looked for in the whole text."""
    content = "last May 2022202220222022-0, " * 6_000

    finding = partial(cpu_seconds, partial(find_dates, content, SAID))

    assert takes_less(partial(name_dates, content, SAID), lambda: 2 * finding())
