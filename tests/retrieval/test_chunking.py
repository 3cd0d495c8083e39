"""A text in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.sentences import split_text
from memgraph.retrieval.chunking import Chunk, split_overlapping

ENGLISH = "The first sentence says this. The second one says that, at some length. A third one ends it."
CHINESE = "第一句话说的是这个。第二句话说的是那个，而且说得很长。第三句话结束了它。"

TEXTS = st.text(st.sampled_from("ab  \n.。?！,，中文x1"), max_size=400)


def test_a_piece_ends_with_a_sentence() -> None:
    """Half a sentence answers nothing."""
    pieces = split_overlapping(ENGLISH, 75, 0)

    assert [piece.text for piece in pieces] == [
        "The first sentence says this. The second one says that, at some length.",
        "A third one ends it.",
    ]


def test_a_chinese_piece_ends_with_a_sentence() -> None:
    """Chinese puts no blank after a full stop."""
    pieces = split_overlapping(CHINESE, 30, 0)

    assert [piece.text for piece in pieces] == [
        "第一句话说的是这个。第二句话说的是那个，而且说得很长。",
        "第三句话结束了它。",
    ]


def test_the_next_piece_repeats_the_end_of_the_one_before() -> None:
    """What stands on both sides of a cut is found from either."""
    first, second = split_overlapping(ENGLISH, 75, 20)

    assert first.text.endswith("at some length.")
    assert second.text == "that, at some length. A third one ends it."[6:]


def test_a_word_without_end_is_cut() -> None:
    """A line of base64 is no reason to fail."""
    pieces = split_overlapping("x" * 250, 100, 10)

    assert [len(piece.text) for piece in pieces] == [100, 100, 50]


def test_a_chunk_has_the_position_of_its_first_character() -> None:
    """White space around a sentence is not a part of its chunk."""
    chunks = split_overlapping("  One two.  Three four.", 12, 0)

    assert chunks == [Chunk(2, "One two."), Chunk(12, "Three four.")]


def test_a_chunk_ends_with_a_sentence_only_if_that_makes_it_more_than_half_full() -> None:
    """With their blanks the first sentences have 7 and 6 characters, of 12."""
    assert split_overlapping("Abcde. fg hi jklm no pq.", 12, 0)[0] == Chunk(0, "Abcde.")
    assert split_overlapping("Abcd. fg hi jklm no pq.", 12, 0)[0] == Chunk(0, "Abcd. fg hi")


def test_half_of_an_odd_size_is_rounded_down() -> None:
    """Of 13 characters 7 are more than half, 6 are not."""
    assert split_overlapping("Abcde. fg hi jklm no pq.", 13, 0)[0] == Chunk(0, "Abcde.")
    assert split_overlapping("Abcd. fg hi jklm no pq.", 13, 0)[0] == Chunk(0, "Abcd. fg hi")


def test_the_length_of_a_later_chunk_is_measured_from_its_start() -> None:
    """The short word after the first chunk would leave the second one almost empty, so the long one is cut."""
    chunks = split_overlapping("aaaaa aa bbbbbbbbbbbb", 8, 0)

    assert chunks == [Chunk(0, "aaaaa"), Chunk(6, "aa bbbbb"), Chunk(14, "bbbbbbb")]


def test_a_chunk_may_be_as_long_as_its_size() -> None:
    """The blank after a word counts."""
    text = "aaaaa bbbbb ccccc ddddd eeeee"

    assert [chunk.text for chunk in split_overlapping(text, 12, 0)] == ["aaaaa bbbbb", "ccccc ddddd", "eeeee"]
    assert [chunk.text for chunk in split_overlapping(text, 11, 0)] == ["aaaaa", "bbbbb", "ccccc", "ddddd eeeee"]


def test_words_that_fit_the_overlap_are_repeated() -> None:
    """A word of five characters and its blank need six."""
    text = "aaaaa bbbbb ccccc ddddd"

    assert split_overlapping(text, 13, 5) == [Chunk(0, "aaaaa bbbbb"), Chunk(12, "ccccc ddddd")]
    assert split_overlapping(text, 13, 6) == [
        Chunk(0, "aaaaa bbbbb"),
        Chunk(6, "bbbbb ccccc"),
        Chunk(12, "ccccc ddddd"),
    ]


@pytest.mark.parametrize(
    ("max_length", "pieces"),
    [
        (100, ["One two. Three four."]),
        (20, ["One two. Three four."]),
        (19, ["One two.", "Three four."]),
        (8, ["One two.", "Three", "four."]),
    ],
)
def test_pieces_have_at_most_the_maximum_length(max_length: int, pieces: list[str]) -> None:
    """They end with a sentence if possible, else with a word."""
    assert list(split_text("  One two. Three four.\n", max_length)) == pieces


def test_a_heading_stays_with_what_it_is_about() -> None:
    """A piece that is a title only would answer many questions badly."""
    pieces = split_overlapping("# Setup\n" + "words and more words " * 10, 120, 0)

    assert pieces[0].text.startswith("# Setup\nwords")


def test_a_text_of_blanks_has_no_piece() -> None:
    """There is nothing to find in it."""
    assert split_overlapping(" \n\n ", 100, 10) == []


@given(TEXTS, st.integers(20, 60), st.integers(0, 9))
def test_pieces_are_short_in_order_and_where_they_say(text: str, size: int, overlap: int) -> None:
    """Every piece can be found again in its file."""
    pieces = split_overlapping(text, size, overlap)

    assert all(0 < len(piece.text) <= size for piece in pieces)
    assert all(text[piece.start : piece.start + len(piece.text)] == piece.text for piece in pieces)
    assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})


@given(TEXTS, st.integers(20, 60), st.integers(0, 9))
def test_nothing_but_blanks_is_left_out(text: str, size: int, overlap: int) -> None:
    """All of a document can be found."""
    pieces = split_overlapping(text, size, overlap)

    covered = {place for piece in pieces for place in range(piece.start, piece.start + len(piece.text))}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
