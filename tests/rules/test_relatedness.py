"""What two facts have in common, so that one may replace the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact

from memgraph.models import Evidence
from memgraph.rules.relatedness import is_related, restates, topic_terms
from memgraph.text.slots import packaged_slots

SLOTS = packaged_slots()


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Prefers tea to coffee.", "Drinks coffee every morning."),
        ("Goes hiking on Sundays.", "Likes to hike."),
        ("Moved to Rome.", "Lives in Oslo."),
        ("不喝咖啡了。", "每天早上喝咖啡。"),
    ],
)
def test_a_word_or_a_slot_in_common_relates_them(new: str, known: str) -> None:
    assert is_related(addition(new), fact(known), SLOTS)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Likes hiking.", "Likes chess."),
        ("Wants to learn 3 songs.", "Has 3 cats."),
        ("Plans to visit museums again.", "Learned to cook sea bass."),
        ("喜欢爬山。", "养了一只猫。"),
    ],
)
def test_light_words_and_numbers_relate_nothing(new: str, known: str) -> None:
    assert not is_related(addition(new), fact(known), SLOTS)


def test_the_words_of_the_user_count() -> None:
    new = addition("Has a new hobby.", evidence=(Evidence(quote="I bought a violin"),))

    assert is_related(new, fact("Plays the violin."), SLOTS)
    assert is_related(addition("Plays the violin."), fact("Has a hobby.", evidence=new.evidence), SLOTS)


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_restated_is_related(new: str, known: str) -> None:
    if restates(addition(new), fact(known), SLOTS):
        assert is_related(addition(new), fact(known), SLOTS)


@given(st.text(max_size=60))
def test_every_text_with_a_topic_is_related_to_itself(text: str) -> None:
    if topic_terms(text):
        assert is_related(addition(text), fact(text), SLOTS)


@pytest.mark.parametrize(
    ("known", "new", "restated"),
    [
        ("Has two cats.", "Has two cats and a dog.", True),
        ("Is planning a trip to Japan in May.", "The trip to Japan is in June.", True),
        ("Is thinking about the meaning of life.", "Reads a book about the meaning of life.", True),
        ("Is thinking about what is missing in life.", "Reads a book about life.", False),
        ("喜欢爬山和钓鱼。", "喜欢爬山、钓鱼和跑步。", True),
        ("喜欢在周末去爬山。", "喜欢周末。", False),
        ("Likes it.", "Likes it.", False),
    ],
)
def test_what_names_most_of_a_fact_restates_it(known: str, new: str, restated: bool) -> None:  # noqa: FBT001
    assert restates(addition(new), fact(known), SLOTS) is restated


def test_what_fills_its_slot_restates_a_fact() -> None:
    assert restates(addition("Settled down in Rome.", slot="home"), fact("Lives in Oslo."), SLOTS)


def test_what_the_user_said_counts_too() -> None:
    new = addition("Goes there daily.", evidence=(Evidence(quote="I go to the climbing hall each day"),))

    assert restates(new, fact("Likes climbing in a hall."), SLOTS)
