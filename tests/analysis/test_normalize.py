"""Normalisation takes linear time, and changes nothing but what has to be equal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from functools import partial

import pytest
from cpu_time import growth

from memgraph.analysis.normalize import MAX_MARKS, clean_json, fact_key, find_whole, fold, places_of, unescape

ACUTE, TILDE = "\u0301", "\u0334"
"""Marks of different classes, which normalisation sorts."""


@pytest.mark.parametrize("normalize", [fact_key, fold])
@pytest.mark.parametrize("unit", [ACUTE + TILDE, "\uff9e\u0334"])
def test_a_long_run_of_combining_marks_takes_linear_time(normalize: Callable[[str], str], unit: str) -> None:
    """Python sorts the marks of one letter in quadratic time: 200,000 of them took half a minute."""
    assert growth(lambda length: partial(normalize, unit * (length // len(unit))), 200_000) is None


def test_as_many_marks_as_a_language_may_need_are_normalised_as_ever() -> None:
    text = "e" + (ACUTE + TILDE) * (MAX_MARKS // 2)

    assert fact_key(text) == unicodedata.normalize("NFKC", text)


def test_one_mark_more_is_separated_by_a_joiner() -> None:
    assert "\u034f" not in fold("e" + ACUTE * MAX_MARKS)
    assert fold("e" + ACUTE * (MAX_MARKS + 1)).count("\u034f") == 1


def test_punctuation_in_a_row_is_no_run_of_marks() -> None:
    assert fold("-" * 100) == "-" * 100


def test_a_reference_to_a_huge_character_number_is_left_alone() -> None:
    """`html.unescape` raises ValueError for a number of more than 4,300 digits."""
    text = "&#" + "1" * 5_000 + ";"

    assert unescape(text) == text


def test_every_text_and_key_of_a_json_value_is_clean() -> None:
    """An escape brings in what the source of the value cannot contain."""
    value = json.loads(r'{"a\u0000": ["x\ud800", {"b": "\ud83d\ude00"}], "n": 1.5, "none": null}')

    assert clean_json(value) == {"a": ["x\ufffd", {"b": "\U0001f600"}], "n": 1.5, "none": None}


@pytest.mark.parametrize(
    ("part", "text", "place"),
    [
        ("nice", "lives in nice.", 9),
        ("nice", "niceville, nice", 11),
        ("a+b", "it is a+b!", 6),
        ("南京", "住在南京市", 2),
        ("nice", "niceville", -1),
        ("", "nice", -1),
    ],
)
def test_a_part_is_found_as_whole_words(part: str, text: str, place: int) -> None:
    assert find_whole(part, text) == place


def test_places_may_overlap() -> None:
    assert list(places_of("aa", "aaaa")) == [0, 1, 2]
