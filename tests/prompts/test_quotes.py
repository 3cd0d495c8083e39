"""Quotes are found in what the user wrote, whatever the model did to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Turn
from memgraph.policy import Policy
from memgraph.prompts.quotes import MAX_QUOTE_CHARS, find_quote, locate_quote
from memgraph.text.episodes import find_episode
from memgraph.text.provenance import with_provenance

SAID = "Well, I’ve moved to “Oslo” … in  May!\n我在杭州 工作，喜欢喝茶。"


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ('I\'ve moved to "Oslo"', "I’ve moved to “Oslo"),
        ("i’VE moved", "I’ve moved"),
        ("moved to Oslo in May.", None),
        ("'moved to 'Oslo'... in May.'", "moved to “Oslo” … in  May"),
        ("Well ... in May", "Well, I’ve moved to “Oslo” … in  May"),
        ("in May ... Well", None),
        ("我在杭州工作", "我在杭州 工作"),
        ("Ｏｓｌｏ", "Oslo"),
        ("喜欢喝茶!", "喜欢喝茶"),
        ("ove", None),
        ("May", "May"),
        ("a", None),
        ("...", None),
        ("", None),
    ],
)
def test_marks_case_width_and_spacing_do_not_matter(quote: str, words: str | None) -> None:
    """Words do, whole and in their order."""
    assert find_quote(quote, SAID) == words


@given(st.text(), st.text(alphabet="abc xyz", min_size=3), st.text())
def test_what_was_copied_exactly_is_found(before: str, quote: str, after: str) -> None:
    """As words of the text."""
    found = find_quote(quote, f"{before} {quote} {after}")

    assert found is not None or len("".join(quote.split())) < 2


@given(st.text(), st.text())
def test_what_is_found_stands_in_the_text(quote: str, text: str) -> None:
    """It is never the model's wording."""
    found = find_quote(quote, text)

    assert found is None or (found in text and len(found) <= MAX_QUOTE_CHARS)


def test_a_long_quote_is_cut() -> None:
    """Evidence is a pointer, not a copy."""
    assert len(find_quote("word " * 200, "word " * 200) or "") == MAX_QUOTE_CHARS - 1


def test_the_named_turn_is_searched_first_then_the_latest() -> None:
    """The same words may occur twice."""
    turns = {n: Turn(id=f"m{n}", role="human", text="I like tea.") for n in (1, 2, 3)}

    assert [found.turn.id for n in (2, None, 9) if (found := locate_quote("I like tea", n, turns))] == [
        "m2",
        "m3",
        "m3",
    ]


def test_words_that_the_user_quotes_are_not_theirs() -> None:
    turns = {1: with_provenance(Turn(id="m1", role="human", text='Bob wrote: "I like tea." I like rain.'))}

    assert locate_quote("I like tea", 1, turns) is None


def test_a_quote_around_words_of_others_leaves_them_out() -> None:
    """So the episode, which leaves them out, too, has the quote."""
    turn = with_provenance(Turn(id="m1", role="human", text="I like tea.\n> I like cake.\nI like rain."))

    found = locate_quote("I like tea ... I like rain", 1, {1: turn})

    assert found
    assert found.words == "I like tea.\n\nI like rain"
    assert find_episode(turn, found.words, thread="t1", policy=Policy())
