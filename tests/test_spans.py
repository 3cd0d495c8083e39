"""Which parts of a turn are its author's own words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Span, Turn
from memgraph.models.conversation import TurnPiece, merge_spans

TEXT = 'I moved. She wrote: "Buy now." I like it.'
QUOTE = Span(start=20, end=30, origin="quoted")
ENDS = st.integers(min_value=0, max_value=20)


def turn(text: str, *spans: Span) -> Turn:
    return Turn(id="m1", role="human", text=text, spans=spans)


def test_a_turn_of_an_older_state_has_no_spans() -> None:
    old = Turn.model_validate_json('{"id": "m1", "role": "human", "text": "Hi.", "at": "", "speaker": ""}')

    assert old.spans == ()


def test_spans_outlive_serialization() -> None:
    one = turn(TEXT, QUOTE)

    assert Turn.model_validate_json(one.model_dump_json()) == one


def test_a_turn_without_spans_is_its_authors() -> None:
    assert turn(" as it is ").own_words == " as it is "


def test_own_words_around_a_quotation_stay_apart() -> None:
    """Joined, they would be a sentence that was never said."""
    assert turn(TEXT, QUOTE).own_words == "I moved. She wrote:\n\nI like it."


def test_a_turn_of_others_words_has_no_own_ones() -> None:
    assert turn("> Buy now.\n", Span(start=0, end=10, origin="quoted")).own_words == ""


def test_punctuation_left_between_spans_is_nothing() -> None:
    assert turn("ab, cd", Span(start=0, end=2, origin="quoted"), Span(start=4, end=6, origin="quoted")).own_words == ""


def test_pieces_name_their_origin() -> None:
    assert turn("I: x", Span(start=3, end=4, origin="relayed")).pieces == [
        TurnPiece("I: ", "user"),
        TurnPiece("x", "relayed"),
    ]


def test_a_part_of_a_turn_keeps_its_spans() -> None:
    part = turn(TEXT, QUOTE).slice(9, 25, prefix="[...] ")

    assert [piece for piece in part.pieces if piece.origin == "quoted"] == [TurnPiece(TEXT[20:25], "quoted")]


# -- what is derived -------------------------------------------------------------------------------


def asked(one: Turn) -> Turn:
    """*one*, which then keeps what is derived from its fields."""
    assert one.is_users
    assert one.own_words
    return one


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_with_another_text_has_other_own_words(*, deep: bool) -> None:
    changed = asked(turn("I like tea.")).model_copy(update={"text": "I like coffee.", "speaker": "Bob"}, deep=deep)

    assert (changed.own_words, changed.is_users) == ("I like coffee.", False)


@pytest.mark.parametrize(
    "same",
    [copy.copy, copy.deepcopy, Turn.model_copy, Turn.model_validate, lambda one: pickle.loads(pickle.dumps(one))],  # noqa: S301
)
def test_what_is_derived_is_no_part_of_the_value(same: Callable[[Turn], Turn]) -> None:
    fresh, used = turn(TEXT, QUOTE), asked(turn(TEXT, QUOTE))

    assert same(used) == used == fresh
    assert hash(used) == hash(fresh)
    assert repr(used) == repr(fresh)
    assert used.model_dump() == fresh.model_dump()
    assert used.model_dump_json() == fresh.model_dump_json()
    assert used.__getstate__() == fresh.__getstate__()


# -- merging ---------------------------------------------------------------------------------------


@given(st.lists(st.tuples(ENDS, ENDS)))
def test_merged_spans_are_sorted_apart_and_cover_what_was_covered(ends: list[tuple[int, int]]) -> None:
    spans = [Span(start=start, end=end, origin="quoted") for start, end in ends]

    merged = merge_spans(spans)

    assert all(span.start < span.end for span in merged)
    assert all(one.end <= other.start for one, other in pairwise(merged))
    covered = {position for span in spans for position in range(span.start, span.end)}
    assert {position for span in merged for position in range(span.start, span.end)} == covered
