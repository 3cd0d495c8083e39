"""Names and numbers are recognised in any spelling; other words are not names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.names import KnownNames, names_of, numbers_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Lives in Oslo.", ["oslo"]),
        ("Hana is her sister.", ["hana"]),
        ("Hana's sister has a dog.", ["hana"]),
        ("Sister Rita is tall. Dog Max is not.", ["rita", "max"]),
        ("Prefers Python to Go. Uses GitHub.", ["python", "go", "github"]),
        ("Has an iPhone and a q3 report.", ["iphone", "q3"]),
        ("Writes to ada@acme.example.", ["ada@acme.example"]),
        ("Works in May, on Mondays I rest.", ["mondays"]),
        ("Likes green tea. Is allergic to nuts.", []),
        ("The user said that I may.", []),
        ("住在杭州，使用Python。", ["python"]),
    ],
)
def test_names_are_capitalised_words_and_addresses(text: str, names: list[str]) -> None:
    """A capital at the start of a sentence is none, unless the word is a subject."""
    assert list(names_of(text)) == names


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("twenty-five", "25"),
        ("two hundred and five people", "205"),
        ("one and a half thousand", "1"),
        ("1,200 euros", "1200"),
        ("at 5pm", "17"),
        ("at 5:00", "5"),
        ("2.5k lines", "2500"),
        ("25 thousand euros", "25000"),
        ("twice a week", "2"),
        ("二十五岁", "25"),
        ("一万二", "12000"),
        ("三千零五", "3005"),
        ("下午3点", "15"),
        ("十", "10"),
        ("３ cats", "3"),
        ("007", "7"),
    ],
)
def test_numbers_count_in_digits_and_in_words(said: str, written: str) -> None:
    """The user says them, the model writes digits."""
    assert written in numbers_of(said, in_words=True)


def test_words_are_no_numbers_unless_asked_for() -> None:
    """In a fact, "one" is an article as often as a number."""
    assert numbers_of("One of 3 cats, 一些") == {"3"}


@pytest.mark.parametrize(
    ("said", "content", "missing"),
    [
        ("i'm german and use github", "Comes from Germany and uses GitHub.", None),
        ("I live with Petersen.", "Lives in Petersburg.", "petersburg"),
        ("I live in Oslo", "Lives in Oslo, in Norway.", "norway"),
        ("I have a boat", "Has 2 boats.", "2"),
        ("my mail is ada@acme.example", "Writes from ada@acme.example.", None),
        ("I drove a car to the market", "Likes the Carpathians.", "carpathians"),
    ],
)
def test_the_first_name_or_number_that_was_not_said_is_named(said: str, content: str, missing: str | None) -> None:
    """Other forms of a name count."""
    assert KnownNames([said]).missing_from(content) == missing


@given(st.text(max_size=60))
def test_a_text_misses_nothing_of_itself(text: str) -> None:
    """Whatever it contains."""
    assert KnownNames([text]).missing_from(text) is None
