"""Neighbours in a conversation support each other, and those of the dates in a question are found."""

from __future__ import annotations

import numpy as np
import pytest

from memgraph.retrieval.lexical import boost_neighbours, match_dates, number_threads, spans_of

# -- neighbours -----------------------------------------------------------------------------------


def boost(sources: str, scores: list[float], length: int = 1) -> list[float]:
    """What is added to *scores* of documents whose threads are one letter each; a space is no thread."""
    before = np.array(scores, dtype=np.float64)
    threads = number_threads([letter.strip() for letter in sources])
    return (boost_neighbours(before, threads, np.full(len(scores), float(length))) - before).round(9).tolist()


@pytest.mark.parametrize(
    ("sources", "scores", "added"),
    [
        ("aaaaaaa", [0, 0, 0, 12, 0, 0, 0], [0, 4.5, 9, 0, 9, 4.5, 0]),
        ("aaaaa", [12, 1, 0, 8, 0], [0.75, 9, 6, 0.375, 6]),  # of several, on both sides, the one that supports most
    ],
)
def test_a_document_takes_from_the_neighbour_that_supports_it_most(
    sources: str, scores: list[float], added: list[float]
) -> None:
    """Three quarters of its score; of that of the next but one half of it."""
    assert boost(sources, scores) == added


@pytest.mark.parametrize(("length", "added"), [(0, 9), (1, 9), (12, 9), (24, 4.5), (108, 1)])
def test_a_long_document_takes_less(length: int, added: float) -> None:
    """A short one leans on what was said before it; a long one says by itself what it is about."""
    assert boost("aa", [0, 12], length) == [added, 0]


@pytest.mark.parametrize(
    ("sources", "scores", "added"),
    [
        ("aba", [0, 12, 0], [0, 0, 0]),
        ("aba", [12, 0, 0], [0, 0, 4.5]),  # facts of two conversations may be learned alternately
        ("  a", [8, 0, 0], [0, 0, 0]),
        ("a a", [12, 6, 0], [0, 0, 4.5]),
    ],
)
def test_only_neighbours_of_the_same_thread_are_supported(
    sources: str, scores: list[float], added: list[float]
) -> None:
    """Of documents without a thread it is not known where they come from."""
    assert boost(sources, scores) == added


@pytest.mark.parametrize("scores", [[], [0.0], [0.0, 0.0]])
def test_without_matches_nothing_is_added(scores: list[float]) -> None:
    assert boost("a" * len(scores), scores) == scores


# -- dates ----------------------------------------------------------------------------------------


def find(asked: str, *dates: str) -> list[bool]:
    """Which of the documents, each of one date, are of the date *asked*."""
    return match_dates(spans_of([(date,) if date else () for date in dates]), [asked]).tolist()


def test_a_document_is_of_its_day_its_month_and_its_year() -> None:
    dates = ("2023-05-03T23:59:59Z", "2023-05-04", "2023-06-01", "2022-05-03")

    assert find("2023-05-03", *dates) == [True, False, False, False]
    assert find("2023-05", *dates) == [True, True, False, False]
    assert find("2023", *dates) == [True, True, True, False]


def test_a_partial_date_is_of_all_its_days() -> None:
    assert find("2023-05-03", "2023-05", "2023", "2023-06") == [True, True, False]


def test_several_dates_are_the_time_between_them() -> None:
    """In any order: a fact may be said before it begins."""
    assert match_dates(spans_of([("2023-08-01T00:00:00Z", "2023-05")]), ["2023-07"]).tolist() == [True]


def test_any_of_the_dates_asked_for_counts() -> None:
    assert match_dates(spans_of([("2023",), ("2024",), ("2025",)]), ["2023-01", "2025"]).tolist() == [True, False, True]
    assert match_dates(spans_of([("2023",)]), []).tolist() == [False]


@pytest.mark.parametrize("stored", ["", "someday", "2023-13-01", "12 May", "2023-02-30"])
def test_what_has_no_date_is_never_found(stored: str) -> None:
    """A stored text of another form is kept, but means nothing here."""
    assert find("2023", stored, "2023-05-01") == [False, True]


def test_without_documents_nothing_is_found() -> None:
    assert find("2023-05") == []
