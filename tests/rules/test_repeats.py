"""Known facts that additions repeat in other words: those whose words do not decide are compared by their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from update_values import addition as add
from update_values import fact, update

from memgraph import MemoryDocument
from memgraph.models import MANUAL, MemoryUpdate
from memgraph.rules.repeats import ALIKE, is_same, mark_repeats
from memgraph.text.slots import packaged_slots

KNOWN, SAID = "Goes to the sauna on Saturdays.", "Visits the sauna every Saturday."
"""Their words are alike, but not enough."""


class Meaning:
    """Gives every pair one similarity, and notes the pairs."""

    def __init__(self, similarity: float) -> None:
        self.similarity = similarity
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs.extend(pairs)
        return [self.similarity] * len(pairs)


def mark(meaning: Meaning, *additions: Any, known: Any = None, undecided: Sequence[str] = ()) -> MemoryUpdate:
    memory = MemoryDocument(facts=(known or fact(KNOWN, id="f1"),))
    return mark_repeats(update(additions=additions), memory, packaged_slots(), meaning, undecided)


def test_a_fact_of_the_same_meaning_is_repeated() -> None:
    changes = mark(Meaning(0.9), add(SAID))

    assert [addition.repeats for addition in changes.additions] == ["f1"]


def test_a_fact_of_another_meaning_is_not() -> None:
    changes = mark(Meaning(0.6), add(SAID))

    assert [addition.repeats for addition in changes.additions] == [""]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("Keeps bees on the roof.", id="no words in common"),
        pytest.param("The sister visits the sauna every Saturday.", id="another person"),
        pytest.param("Visits the sauna every Sunday.", id="another day"),
    ],
)
def test_the_meaning_does_not_count_if_the_words_contradict(said: str) -> None:
    """An embedding puts a sister's sauna next to one's own."""
    meaning = Meaning(1.0)

    changes = mark(meaning, add(said))

    assert (changes.additions[0].repeats, meaning.pairs) == ("", [])


def test_a_fact_in_the_same_words_is_not_embedded() -> None:
    """A call of a model costs time and money."""
    meaning = Meaning(1.0)

    mark(meaning, add(f"{KNOWN} "))

    assert meaning.pairs == []


def test_what_replaces_a_fact_repeats_none() -> None:
    changes = mark(Meaning(1.0), add(SAID, replaces=("f1",)))

    assert changes.additions[0].repeats == ""


def test_what_the_model_is_asked_about_is_left_to_it() -> None:
    changes = mark(Meaning(1.0), add(SAID, id="new"), undecided=["new"])

    assert changes.additions[0].repeats == ""


def test_what_says_more_than_a_manual_fact_does_not_repeat_it() -> None:
    """It is added, since a manual fact keeps its wording."""
    meaning = Meaning(1.0)

    changes = mark(meaning, add("Visits the old sauna every Saturday."), known=fact(KNOWN, id="f1", source=MANUAL))

    assert (changes.additions[0].repeats, meaning.pairs) == ("", [])


def test_words_or_words_and_meaning_decide() -> None:
    assert is_same(0.7, 0.0)
    assert is_same(ALIKE, 0.7)
    assert not is_same(ALIKE - 0.01, 1.0)
    assert not is_same(0.69, 0.69)
