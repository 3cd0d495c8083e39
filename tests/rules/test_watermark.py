"""How far a conversation was learned from."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from memgraph.models import Turn, Watermark
from memgraph.rules.watermark import advance, count_new
from memgraph.text.turns import turns_of

NOW = "2026-06-11T16:47:59Z"


def conversation(ids: Iterable[str]) -> list[Turn]:
    return [Turn(id=one, role="human", text=one) for one in ids]


def learned(ids: str, mark: Watermark | None = None, keep: int = 8) -> Watermark:
    return advance(mark, list(ids), NOW, keep)


def test_all_is_new_to_a_mark_that_is_not_there() -> None:
    """The first run of a thread learns from its beginning."""
    assert count_new(conversation("abc"), None) == 3


@pytest.mark.parametrize(
    ("ids", "new"),
    [("abc", 0), ("abcd", 1), ("abx", 1), ("ab", 0), ("xyz", 3), ("cd", 1), ("ax", 1), ("", 0)],
    ids=["same", "longer", "regenerated", "last deleted", "another", "head cut off", "two deleted", "empty"],
)
def test_new_is_what_follows_the_last_known_turn(ids: str, new: int) -> None:
    """A deleted or regenerated message does not make all of it new."""
    assert count_new(conversation(ids), learned("abc")) == new


def test_a_mark_of_an_older_document_is_read() -> None:
    """It holds the last id and no others."""
    assert count_new(conversation("abcd"), Watermark(last_message_id="c", message_ids=())) == 1


def test_the_mark_keeps_the_last_ids() -> None:
    """A long conversation does not make the document grow."""
    mark = learned("abcdefghij")

    assert mark.message_ids == tuple("cdefghij")
    assert mark.last_message_id == "j"
    assert mark.at == NOW


def test_the_mark_does_not_move_back() -> None:
    """A job that waited long brings turns that others have learned since."""
    mark = learned("abcde")

    assert learned("abc", mark) is mark


def test_an_old_part_learned_late_does_not_make_newer_parts_new() -> None:
    """The mark remembers eight ids, and an old part may be longer."""
    mark = learned("abcdefghij", learned("klmnopqrst"))

    assert count_new(conversation("abcdefghijklmnopqrst"), mark) == 0


def test_learning_nothing_leaves_the_mark() -> None:
    """A run may find no turn at all."""
    assert learned("", learned("ab")).message_ids == ("a", "b")


@settings(deadline=None)
@given(st.data())
def test_no_turn_is_taken_for_learned_that_never_was(data: st.DataObject) -> None:
    """Histories grow, lose turns anywhere, and are forked; what was never learned stays new."""
    turns: list[Turn] = []
    mark: Watermark | None = None
    seen: set[str] = set()
    fresh = (f"m{number}" for number in range(1000))
    for _ in range(data.draw(st.integers(1, 12))):
        deed = data.draw(st.sampled_from(["say", "learn", "learn some", "delete", "cut head", "fork"]))
        if deed == "say":
            turns = turns + conversation([next(fresh) for _ in range(data.draw(st.integers(1, 4)))])
        elif deed == "delete" and turns:
            del turns[data.draw(st.integers(0, len(turns) - 1))]
        elif deed == "cut head":
            turns = turns[data.draw(st.integers(0, len(turns))) :]
        elif deed == "fork":
            turns = turns[: data.draw(st.integers(0, len(turns)))]
        elif deed.startswith("learn"):
            new = turns[len(turns) - count_new(turns, mark) :]
            batch = new if deed == "learn" else new[: data.draw(st.integers(0, len(new)))]
            mark = advance(mark, [turn.id for turn in batch], NOW, 8)
            seen.update(turn.id for turn in batch)
            assert deed != "learn" or count_new(turns, mark) == 0

        count = count_new(turns, mark)

        assert all(turn.id in seen for turn in turns[: len(turns) - count])


TALK = st.lists(st.sampled_from(["yes", "Continue", "no", "I use Vim"]), max_size=14)


@settings(deadline=None)
@given(TALK, st.integers(1, 8), st.integers(3, 8))
def test_after_learning_in_batches_nothing_is_new(words: list[str], size: int, keep: int) -> None:
    """Also where messages have no ids and repeat each other, batch after batch moves on to the end."""
    turns = turns_of([HumanMessage(word) if at % 2 else AIMessage(word) for at, word in enumerate(words)])
    mark = None
    for _ in range(len(turns)):
        new = turns[len(turns) - count_new(turns, mark) :]
        mark = advance(mark, [turn.id for turn in new[:size]], NOW, keep)

    assert count_new(turns, mark) == 0


def test_a_yes_said_again_is_new() -> None:
    """A hash alone is no proof: the turn before must be known too."""
    asked, yes = AIMessage("Shall I go on?"), HumanMessage("yes")
    mark = advance(None, [turn.id for turn in turns_of([HumanMessage("Tell me of bees"), asked, yes])], NOW, 8)

    cut = turns_of([HumanMessage("Now of wasps"), asked, yes])

    assert count_new(cut, mark) == 3
