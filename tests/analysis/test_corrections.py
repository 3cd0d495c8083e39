"""What the user corrects of a known fact, by naming only the wrong part and the right one."""

from __future__ import annotations

import pytest

from memgraph.analysis.corrections import read_correction


def corrected(known: str, said: str) -> str:
    found = read_correction(said)
    return found.of(known) if found else ""


@pytest.mark.parametrize(
    ("known", "said", "right"),
    [
        ("Lives in Bristol.", "It's Bath, not Bristol.", "Lives in Bath."),
        ("Works at the Anchor in Hull.", "Not Hull, Hessle", "Works at the Anchor in Hessle."),
        ("Is allergic to cashews.", "Sorry, I meant walnuts, not cashews!", "Is allergic to walnuts."),
        ("Name is Chris.", "Correction: it should be Christopher, not Chris", "Name is Christopher."),
        ("Birthday is 5 June.", "no, it's 6 June, not 5 June", "Birthday is 6 June."),
        ("Lives in Bristol.", "Actually it's Bath, not Bristol", "Lives in Bath."),
        ("Lives in Bristol.", "It's actually in Bath, not in Bristol", "Lives in Bath."),
        ("Lives in Bristol.", "oh wait, no it's Bath not Bristol", "Lives in Bath."),
        ("Plays the viola.", "Not the viola but the cello.", "Plays the cello."),
        ("用户住在南京", "不是南京，是南昌", "用户住在南昌"),
        ("用户对虾过敏", "我说错了，是蟹，不是虾。", "用户对蟹过敏"),
    ],
)
def test_the_right_part_takes_the_place_of_the_wrong_one(known: str, said: str, right: str) -> None:
    assert corrected(known, said) == right


@pytest.mark.parametrize(
    "said",
    [
        "My sister is in Lyon, not Nice.",
        "She meant Lyon, not Nice.",
        "Maybe it's Lyon, not Nice.",
        "If it's Lyon, not Nice, tell me.",
        "Lyon, not Nice, is where she lives.",
        "Is it Lyon, not Nice?",
        "It's Lyon, not Paris.",
        "Nice, not bad.",
        "It's today, not tomorrow.",
        "It's Nice, not Nice.",
        "不是北京(，是南京",
    ],
)
def test_words_that_state_or_doubt_anything_else_correct_nothing(said: str) -> None:
    assert corrected("Lives in Nice.", said) == ""


def test_a_part_of_a_word_is_not_corrected() -> None:
    assert corrected("Lives in Niceville.", "It's Lyon, not Nice.") == ""


def test_a_text_that_is_longer_than_a_correction_corrects_nothing() -> None:
    """Each word of it may be an opening, and would be taken off by itself."""
    assert corrected("Lives in Nice.", f"{'well ' * 50}it's Lyon, not Nice.") == ""
