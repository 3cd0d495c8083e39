"""What several submissions say together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.background.planning import merge, merge_all, order_for_watermark


def talk(text: str) -> list[dict[str, Any]]:
    """One message a word: `a1` is text a with id 1, `a` has none, `b1` is another version of `a1`."""
    return [{"id": word[1:] or None, "content": word[0]} for word in text.split()]


def said(messages: list[dict[str, Any]]) -> str:
    return " ".join(f"{message['content']}{message['id'] or ''}" for message in messages)


@pytest.mark.parametrize(
    ("waiting", "new", "expected"),
    [
        ("", "a1 b2", "a1 b2"),
        ("a1 b2", "", "a1 b2"),
        ("a1", "b2", "a1 b2"),
        ("a1 b2", "a1 b2 c3", "a1 b2 c3"),
        ("a1 b2", "x1 c3", "x1 b2 c3"),
        ("b2 c3", "a1 b2 c3", "a1 b2 c3"),
        ("a1 c3", "a1 b2 c3 d4", "a1 b2 c3 d4"),
        ("a1 b2 c3", "a1 d4", "a1 b2 c3 d4"),
        ("a1 b2 c3", "c3 d4 a1", "a1 b2 c3 d4"),
        ("a1", "b2 x2", "a1 x2"),
    ],
)
def test_messages_are_known_by_their_ids(waiting: str, new: str, expected: str) -> None:
    """The later version counts, at the earlier place; a history keeps its order."""
    assert said(merge(talk(waiting), talk(new))) == expected


@pytest.mark.parametrize(
    ("waiting", "new", "expected"),
    [
        ("a b", "c d", "a b c d"),
        ("a b", "b c", "a b c"),
        ("a b c", "b c d", "a b c d"),
        ("a b", "a b c", "a b c"),
        ("b c", "a b c d", "a b c d"),
        ("a a", "a a a", "a a a"),
        ("a b", "a c", "a b a c"),
    ],
)
def test_messages_without_ids_overlap(waiting: str, new: str, expected: str) -> None:
    assert said(merge(talk(waiting), talk(new))) == expected


@pytest.mark.parametrize(
    ("waiting", "new", "expected"),
    [
        ("a b2 c", "a b2 c d4", "a b2 c d4"),
        ("a b2 c d4", "c d4 e", "a b2 c d4 e"),
        ("a b2", "x y2 c", "a x y2 c"),
        ("b2 c d4", "a1 b2 c d4 e", "a1 b2 c d4 e"),
    ],
)
def test_messages_without_ids_are_known_by_their_neighbours(waiting: str, new: str, expected: str) -> None:
    assert said(merge(talk(waiting), talk(new))) == expected


ids = st.lists(st.integers(1, 12), max_size=8, unique=True)


@given(st.lists(ids, max_size=5))
def test_no_message_is_lost_and_none_is_there_twice(submissions: list[list[int]]) -> None:
    views = [[{"id": str(number), "version": version} for number in view] for version, view in enumerate(submissions)]

    together = merge_all(views)

    latest = {message["id"]: message["version"] for view in views for message in view}
    assert {message["id"]: message["version"] for message in together} == latest
    assert len(together) == len(latest)


@given(st.integers(0, 10), st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=6))
def test_windows_of_one_conversation_keep_its_order(length: int, windows: list[tuple[int, int]]) -> None:
    conversation = [{"id": str(number)} for number in range(length)]
    windows = sorted((min(pair), max(pair)) for pair in windows)

    together = merge_all([conversation[start:end] for start, end in windows])

    assert together == [message for message in conversation if message in together]


def test_an_old_part_handed_over_late_hides_nothing_new() -> None:
    """A memory takes all before the last message it knows for learned."""
    views = [talk("d4"), talk("a1 b2 c3")]

    ordered = order_for_watermark(merge_all(views), views, {"b2"[1:], "c3"[1:]})

    assert said(ordered) == "a1 b2 c3 d4"


def test_what_stands_before_a_known_message_was_learned_too() -> None:
    """A mark knows the last few ids only."""
    views = [talk("d4"), talk("a1 b2 c3 e5")]

    assert said(order_for_watermark(merge_all(views), views, {"3"})) == "a1 b2 c3 d4 e5"


def test_what_overlaps_with_what_was_learned_was_learned_too() -> None:
    """Windows of a conversation: the first ones end before the messages that a mark remembers."""
    views = [talk("a1 b2 c3"), talk("c3 d4 e5"), talk("e5 f6 g7")]

    assert said(order_for_watermark(merge_all(views), views, {"6"})) == "a1 b2 c3 d4 e5 f6 g7"


def test_an_order_that_hides_nothing_stays() -> None:
    views = [talk("a1 b2"), talk("c3 d4")]

    assert order_for_watermark(merge_all(views), views, set()) == merge_all(views)
    assert order_for_watermark(merge_all(views), views, {"2"}) == merge_all(views)
