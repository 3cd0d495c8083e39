"""The classifier is small, deterministic, and sure of what it keeps."""

from __future__ import annotations

from importlib.resources import files

import pytest

from memgraph.analysis.lasting import BUCKETS, KINDS, WEIGHTS, hashed_features, predict
from memgraph.models import CATEGORIES


def test_the_weights_are_shipped_and_take_less_than_100_kilobytes() -> None:
    """The package is installed for its memory, not for its model."""
    assert len(files("memgraph.analysis").joinpath(WEIGHTS).read_bytes()) < 100_000


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I love dark chocolate", "preference"),
        ("I go swimming every tuesday", "behavior"),
        ("I want to run a marathon", "goal"),
        ("I have two sisters", "context"),
        ("I speak Spanish", "knowledge"),
    ],
)
def test_each_category_is_told_apart(text: str, category: str) -> None:
    prediction = predict(text, "en")

    assert (prediction.is_kept, prediction.category) == (True, category)


def test_categories_are_those_of_facts() -> None:
    assert set(KINDS) < set(CATEGORIES)


def test_features_are_the_same_on_every_machine() -> None:
    """The weights belong to buckets, so a hash that differs between processes would make them noise."""
    assert hashed_features("I like tea")[:3] == [326, 964, 2097]
    assert max(hashed_features("我喜欢喝茶 I like tea")) < BUCKETS


def test_case_and_apostrophes_do_not_matter_to_the_words() -> None:
    """People leave them out."""
    typed, proper = predict("im allergic to nuts", "en"), predict("I'm allergic to nuts", "en")

    assert typed == proper


@pytest.mark.parametrize("text", ["", "?", "a" * 10_000, "\ud800", "我" * 5_000])
def test_any_text_has_a_probability(text: str) -> None:
    assert 0 <= predict(text, "en").confidence <= 1
    assert 0 <= predict(text, "zh").confidence <= 1
