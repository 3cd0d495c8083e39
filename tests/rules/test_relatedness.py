"""What two facts have in common, so that one may replace the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_values import addition, fact

from memgraph.analysis.slots import packaged_slots
from memgraph.models import Evidence
from memgraph.rules.end import is_related, topic_terms

SLOTS = packaged_slots()


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Prefers tea to coffee.", "Drinks coffee every morning."),
        ("Goes hiking on Sundays.", "Likes to hike."),
        ("不喝咖啡了。", "每天早上喝咖啡。"),
    ],
)
def test_a_word_in_common_relates_them(new: str, known: str) -> None:
    assert is_related(addition(new), fact(known), SLOTS)


@pytest.mark.parametrize(
    ("new", "known", "slot"),
    [("Moved to Rome.", "Lives in Oslo.", "home"), ("Takes an antihistamine.", "Pollen makes one sneeze.", "allergy")],
)
def test_a_slot_in_common_relates_them(new: str, known: str, slot: str) -> None:
    assert is_related(addition(new, slot=slot), fact(known, slot=slot), SLOTS)
    assert not is_related(addition(new, slot=slot), fact(known), SLOTS)


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


@given(st.text(max_size=60))
def test_every_text_with_a_topic_is_related_to_itself(text: str) -> None:
    if topic_terms(text):
        assert is_related(addition(text), fact(text), SLOTS)
