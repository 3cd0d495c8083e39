"""Merging submissions, and ordering them for the watermark."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.background.planning import merge_all, merge_messages, order_for_watermark


def parse(text: str) -> list[dict[str, Any]]:
    """One message per word: `a1` is text a with id 1, `a` has no id, `b1` is another version of `a1`."""
    return [{"id": word[1:] or None, "content": word[0]} for word in text.split()]


def show(messages: list[dict[str, Any]]) -> str:
    return " ".join(f"{message['content']}{message['id'] or ''}" for message in messages)


@pytest.mark.parametrize(
    ("pending", "new", "expected"),
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
def test_messages_are_merged_by_id(pending: str, new: str, expected: str) -> None:
    """The later version counts, at the position of the earlier one; a history keeps its order."""
    assert show(merge_messages(parse(pending), parse(new))) == expected


@pytest.mark.parametrize(
    ("pending", "new", "expected"),
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
def test_messages_without_ids_are_merged_by_overlap(pending: str, new: str, expected: str) -> None:
    assert show(merge_messages(parse(pending), parse(new))) == expected


@pytest.mark.parametrize(
    ("pending", "new", "expected"),
    [
        ("a b2 c", "a b2 c d4", "a b2 c d4"),
        ("a b2 c d4", "c d4 e", "a b2 c d4 e"),
        ("a b2", "x y2 c", "a x y2 c"),
        ("b2 c d4", "a1 b2 c d4 e", "a1 b2 c d4 e"),
    ],
)
def test_messages_without_ids_are_merged_next_to_a_match(pending: str, new: str, expected: str) -> None:
    assert show(merge_messages(parse(pending), parse(new))) == expected


ids = st.lists(st.integers(1, 12), max_size=8, unique=True)


@given(st.lists(ids, max_size=5))
def test_merge_loses_and_repeats_no_message(submissions: list[list[int]]) -> None:
    views = [[{"id": str(number), "version": version} for number in view] for version, view in enumerate(submissions)]

    merged = merge_all(views)

    latest = {message["id"]: message["version"] for view in views for message in view}
    assert {message["id"]: message["version"] for message in merged} == latest
    assert len(merged) == len(latest)


@given(st.integers(0, 10), st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=6))
def test_windows_of_a_conversation_keep_its_order(length: int, windows: list[tuple[int, int]]) -> None:
    conversation = [{"id": str(number)} for number in range(length)]
    windows = sorted((min(pair), max(pair)) for pair in windows)

    merged = merge_all([conversation[start:end] for start, end in windows])

    assert merged == [message for message in conversation if message in merged]


def test_late_submission_of_an_old_part_hides_no_new_message() -> None:
    """A memory takes everything before the last message it knows as learned."""
    views = [parse("d4"), parse("a1 b2 c3")]

    ordered = order_for_watermark(merge_all(views), views, {"b2"[1:], "c3"[1:]})

    assert show(ordered) == "a1 b2 c3 d4"


def test_messages_before_a_known_one_count_as_learned() -> None:
    """A watermark contains the last few ids only."""
    views = [parse("d4"), parse("a1 b2 c3 e5")]

    assert show(order_for_watermark(merge_all(views), views, {"3"})) == "a1 b2 c3 d4 e5"


def test_overlapping_windows_count_as_learned() -> None:
    """The first windows end before the messages that the watermark contains."""
    views = [parse("a1 b2 c3"), parse("c3 d4 e5"), parse("e5 f6 g7")]

    assert show(order_for_watermark(merge_all(views), views, {"6"})) == "a1 b2 c3 d4 e5 f6 g7"


def test_harmless_order_is_kept() -> None:
    views = [parse("a1 b2"), parse("c3 d4")]

    assert order_for_watermark(merge_all(views), views, set()) == merge_all(views)
    assert order_for_watermark(merge_all(views), views, {"2"}) == merge_all(views)


# -- times of submission --------------------------------------------------------------------------


def dated(text: str, at: str) -> list[dict[str, Any]]:
    """Messages as `parse` makes them, submitted at a time."""
    return [{**message, "additional_kwargs": {"submitted_at": at}} for message in parse(text)]


def submitted(messages: Any) -> list[str]:
    return [f"{show([message])} {message['additional_kwargs'].get('submitted_at', '')}".strip() for message in messages]


@pytest.mark.parametrize("words", ["a1 b2", "a b"])
def test_message_has_the_time_of_its_first_submission(words: str) -> None:
    """Agents submit the whole conversation after each turn, with ids or without."""
    last = words.replace("a", "c").split()[0].replace("1", "3")
    merged = merge_messages(dated(words, "2026-05-01T10:00:00Z"), dated(f"{words} {last}", "2026-05-01T11:00:00Z"))

    first, second = words.split()
    assert submitted(merged) == [
        f"{first} 2026-05-01T10:00:00Z",
        f"{second} 2026-05-01T10:00:00Z",
        f"{last} 2026-05-01T11:00:00Z",
    ]


def test_earlier_of_two_times_of_submission_counts() -> None:
    """A later submission may name the time of the conversation."""
    merged = merge_messages(dated("a1", "2026-05-01T10:00:00Z"), dated("a1", "2023-05-08T13:56:00Z"))

    assert submitted(merged) == ["a1 2023-05-08T13:56:00Z"]


def test_time_of_the_message_itself_is_kept() -> None:
    """It came with the first version only."""
    own = [{**parse("a1")[0], "additional_kwargs": {"timestamp": "2023-05-08T13:56:00Z"}}]

    (merged,) = merge_messages(own, dated("x1", "2026-05-01T10:00:00Z"))

    assert (merged["content"], merged["additional_kwargs"]["submitted_at"]) == ("x", "2023-05-08T13:56:00Z")
