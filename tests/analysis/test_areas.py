"""The areas of life that a text is about."""

from __future__ import annotations

import pytest

from memgraph._yaml import read_packaged
from memgraph.analysis.areas import AREAS, areas_of
from memgraph.analysis.terms import extract_terms


def areas_in(text: str) -> dict[str, float]:
    return {area: share for area, share in zip(AREAS, areas_of(extract_terms(text)), strict=True) if share}


@pytest.mark.parametrize(
    ("text", "areas"),
    [
        ("A goulash with dumplings and a stew", {"food"}),
        ("My dentist", {"health"}),
        ("我想种花", {"home"}),
        ("陪奶奶去看病", {"people", "health"}),
        ("How many moons does Jupiter have?", set()),
        ("", set()),
    ],
)
def test_a_text_is_about_the_areas_of_its_words(text: str, areas: set[str]) -> None:
    assert set(areas_in(text)) == areas


def test_the_shares_of_a_text_are_together_one() -> None:
    assert sum(areas_in("Two train tickets for my sister, who is a nurse and plays the cello").values()) == 1


def test_a_word_of_several_areas_is_of_each_in_part() -> None:
    assert areas_in("allergic") == {"food": 0.5, "health": 0.5}


def test_every_area_has_words_of_both_languages() -> None:
    listed = read_packaged("memgraph.analysis", "areas.yaml")

    assert tuple(listed) == AREAS
    assert all(words.isascii() is False and any(word.isascii() for word in words.split()) for words in listed.values())
