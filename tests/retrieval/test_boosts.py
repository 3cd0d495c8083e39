"""Documents of one conversation support each other, and those of the dates in a question are found."""

from __future__ import annotations

import numpy as np
import pytest

from memgraph.retrieval.boosts import NEIGHBOUR_WEIGHT, THREAD_WEIGHT, TOP_N, DateIndex, ThreadBoost

# -- threads --------------------------------------------------------------------------------------


def boost(sources: str, scores: list[float]) -> list[float]:
    """What is added to *scores* of documents whose threads are one letter each; a space is no thread."""
    added = ThreadBoost([letter.strip() for letter in sources]).apply(np.array(scores)) - np.array(scores)
    return added.round(9).tolist()


def test_the_weights_are_those_that_were_measured() -> None:
    assert (THREAD_WEIGHT, TOP_N, NEIGHBOUR_WEIGHT) == (0.25, 3, 0.25)


def test_a_match_supports_its_neighbours_by_their_distance() -> None:
    """At distance 1 by its score, at distance 2 by half of it, further away only through the thread's mean."""
    mean = 0.25 * 12 / 3

    assert boost("aaaaaaa", [0, 0, 0, 12, 0, 0, 0]) == [
        mean,
        mean + 0.25 * 6,
        mean + 0.25 * 12,
        mean,
        mean + 0.25 * 12,
        mean + 0.25 * 6,
        mean,
    ]


def test_all_neighbours_count() -> None:
    """On both sides, and at both distances."""
    mean = 0.25 * (12 + 8 + 1) / 3

    assert boost("aaaa", [12, 1, 0, 8]) == [
        mean + 0.25 * 1,
        mean + 0.25 * (12 + 8 / 2),
        mean + 0.25 * (8 + 1 + 12 / 2),
        mean + 0.25 * (1 / 2),
    ]


def test_the_mean_is_over_the_three_best_of_the_thread() -> None:
    """Far from each other, so that no neighbour counts."""
    sources = "axxaxxaxxa"
    scores = [1.0, 0, 0, 9, 0, 0, 6, 0, 0, 3]

    added = boost(sources, scores)

    assert added == [0.25 * (9 + 6 + 3) / 3 if letter == "a" else 0 for letter in sources]


@pytest.mark.parametrize("scores", [[6, 6, 6, 6], [9, 6, 6, 6], [9, 9, 6, 3], [9, 9, 9, 9]])
def test_equal_scores_count_until_there_are_three(scores: list[float]) -> None:
    """Far from each other, so that no neighbour counts."""
    spread = [value for score in scores for value in (score, 0, 0)]

    assert boost("axx" * 4, spread)[0] == 0.25 * sum(scores[:3]) / 3


def test_missing_matches_count_zero_in_the_mean() -> None:
    assert boost("axxa", [9, 0, 0, 0]) == [0.25 * 9 / 3, 0, 0, 0.25 * 9 / 3]


def test_each_thread_has_a_mean_of_its_own() -> None:
    assert boost("bzzazzbzza", [3, 0, 0, 6, 0, 0, 9, 0, 0, 0]) == [
        *(0.25 * 12 / 3, 0, 0),
        *(0.25 * 6 / 3, 0, 0),
        *(0.25 * 12 / 3, 0, 0),
        0.25 * 6 / 3,
    ]


def test_neighbours_of_other_threads_are_not_supported() -> None:
    """Neither between two threads, nor across one."""
    assert boost("aba", [0, 12, 0]) == [0, 0.25 * 12 / 3, 0]


def test_a_neighbour_at_distance_two_counts_across_another_thread() -> None:
    """Facts of two conversations may be learned alternately."""
    mean = 0.25 * 12 / 3

    assert boost("aba", [12, 0, 0]) == [mean, 0, mean + 0.25 * 6]


def test_documents_without_a_thread_support_nothing() -> None:
    """Nothing is known of where they come from."""
    assert boost("  a", [8, 0, 0]) == [0, 0, 0]


def test_documents_without_a_thread_are_not_supported_by_others() -> None:
    """Also if they stand between documents of a thread."""
    assert boost("a a", [12, 6, 0]) == [0.25 * 12 / 3, 0, 0.25 * 12 / 3 + 0.25 * 6]


@pytest.mark.parametrize("scores", [[], [0.0], [0.0, 0.0]])
def test_without_matches_nothing_is_added(scores: list[float]) -> None:
    assert boost("a" * len(scores), scores) == scores


# -- dates ----------------------------------------------------------------------------------------


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
