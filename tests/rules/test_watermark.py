"""How far a conversation was learned from."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from update_values import AT, draft, turn

from memgraph.analysis.turns import HASHED, turns_of
from memgraph.models import MemoryDocument, Turn, Watermark
from memgraph.policy import Policy
from memgraph.rules.watermark import (
    advance,
    advance_watermark,
    first_batch,
    new_turns,
    progress_of,
    unlearned_turns,
    with_watermark,
    without_progress,
)

NOW = "2026-06-11T16:47:59Z"


def conversation(ids: Iterable[str]) -> list[Turn]:
    return [Turn(id=one, role="human", text=one) for one in ids]


def learned(ids: str, mark: Watermark | None = None, keep: int = 8) -> Watermark:
    return advance(mark, list(ids), NOW, keep)


def test_all_is_new_to_a_mark_that_is_not_there() -> None:
    """The first run of a thread learns from its beginning."""
    assert len(new_turns(conversation("abc"), None)) == 3


@pytest.mark.parametrize(
    ("ids", "new"),
    [("abc", 0), ("abcd", 1), ("abx", 1), ("ab", 0), ("xyz", 3), ("cd", 1), ("ax", 1), ("", 0)],
    ids=["same", "longer", "regenerated", "last deleted", "another", "head cut off", "two deleted", "empty"],
)
def test_new_is_what_follows_the_last_known_turn(ids: str, new: int) -> None:
    """A deleted or regenerated message does not make all of it new."""
    assert len(new_turns(conversation(ids), learned("abc"))) == new


def test_a_mark_of_an_older_document_is_read() -> None:
    """It holds the last id and no others."""
    assert len(new_turns(conversation("abcd"), Watermark(last_message_id="c", message_ids=()))) == 1


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

    assert len(new_turns(conversation("abcdefghijklmnopqrst"), mark)) == 0


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
            new = new_turns(turns, mark)
            batch = new if deed == "learn" else new[: data.draw(st.integers(0, len(new)))]
            mark = advance(mark, [turn.id for turn in batch], NOW, 8)
            seen.update(turn.id for turn in batch)
            assert deed != "learn" or len(new_turns(turns, mark)) == 0

        new_ids = {turn.id for turn in new_turns(turns, mark)}

        assert all(turn.id in seen for turn in turns if turn.id not in new_ids)


TALK = st.lists(st.sampled_from(["yes", "Continue", "no", "I use Vim"]), max_size=14)


@settings(deadline=None)
@given(TALK, st.integers(1, 8), st.integers(3, 8))
def test_after_learning_in_batches_nothing_is_new(words: list[str], size: int, keep: int) -> None:
    """Also where messages have no ids and repeat each other, batch after batch moves on to the end."""
    turns = turns_of([HumanMessage(word) if at % 2 else AIMessage(word) for at, word in enumerate(words)])
    mark = None
    for _ in range(len(turns)):
        new = new_turns(turns, mark)
        mark = advance(mark, [turn.id for turn in new[:size]], NOW, keep)

    assert len(new_turns(turns, mark)) == 0


def test_a_yes_said_again_is_new() -> None:
    """A hash alone is no proof: the turn before must be known too."""
    asked, yes = AIMessage("Shall I go on?"), HumanMessage("yes")
    mark = advance(None, [turn.id for turn in turns_of([HumanMessage("Tell me of bees"), asked, yes])], NOW, 8)

    cut = turns_of([HumanMessage("Now of wasps"), asked, yes])

    assert len(new_turns(cut, mark)) == 3


@pytest.mark.parametrize(
    ("keep", "kept"),
    [(1, "c"), (2, "bc"), (3, "zbc"), (4, "zabc"), (5, "yzabc"), (6, "xyzabc"), (9, "xyzabc")],
)
def test_a_watermark_of_three_ids_or_more_keeps_where_it_moved_from(keep: int, kept: str) -> None:
    """A smaller one has no room for it."""
    before = Watermark(last_message_id="z", message_ids=tuple("xyz"))

    watermark = advance(before, list("abc"), NOW, keep)

    assert (watermark.message_ids, watermark.last_message_id, watermark.at) == (tuple(kept), "c", NOW)


def test_ids_learned_again_are_moved_to_the_end() -> None:
    """Each is kept once."""
    watermark = advance(Watermark(last_message_id="c", message_ids=tuple("abc")), list("bd"), NOW, 8)

    assert watermark.message_ids == tuple("acbd")


def test_the_last_id_of_an_older_document_is_kept_in_order() -> None:
    """It may be among the ids already, at another position, or be missing there."""
    assert advance(Watermark(last_message_id="b", message_ids=tuple("abc")), ["d"], NOW, 8).message_ids == tuple("acbd")
    assert advance(Watermark(last_message_id="x"), ["d"], NOW, 8).message_ids == tuple("xd")
    assert advance(Watermark(message_ids=("", "a")), ["d"], NOW, 8).message_ids == tuple("ad")


def test_unknown_keys_of_a_watermark_survive() -> None:
    """As everywhere in the document."""
    before = Watermark.model_validate({"last_message_id": "a", "note": "mine"})

    assert advance(before, ["b"], NOW, 8).model_extra == {"note": "mine"}


def hashed(ids: str) -> list[Turn]:
    return [turn(f"sha256:{one}") for one in ids]


def known_hashes(ids: str) -> Watermark:
    return Watermark(message_ids=tuple(f"sha256:{one}" for one in ids))


def test_a_hash_counts_only_after_a_known_turn() -> None:
    """Unless it is the first turn, or the only id that the watermark has."""
    assert len(new_turns(hashed("xbc"), known_hashes("ab"))) == 3
    assert len(new_turns(hashed("abc"), known_hashes("ab"))) == 1
    assert len(new_turns(hashed("bc"), known_hashes("ab"))) == 1
    assert len(new_turns(hashed("xbc"), known_hashes("b"))) == 1


def test_new_turns_of_the_assistant_alone_are_not_counted() -> None:
    """There is nothing to learn about the user; the count starts with the first new turn."""
    turns = [turn("a"), turn("b", role="ai"), turn("c"), turn("d", role="ai")]

    assert len(unlearned_turns(turns, Watermark(last_message_id="c"))) == 0
    assert len(unlearned_turns(turns, Watermark(last_message_id="b"))) == 2
    assert len(unlearned_turns(turns, Watermark(last_message_id="d"))) == 0
    assert len(unlearned_turns(turns, None)) == 4
    assert len(unlearned_turns([turn("b", role="ai")], None)) == 0
    assert len(unlearned_turns([], None)) == 0


@pytest.mark.parametrize(
    ("roles", "costs", "size"),
    [
        ("h", [900], 1),  # at least one, whatever it costs
        ("hh", [500, 500], 2),  # the limit is inclusive
        ("hh", [500, 501], 1),
        ("hhh", [500, 500, 1], 2),
        ("haha", [400, 400, 400, 1], 2),  # before the user turn that does not fit
        ("haha", [400, 100, 400, 400], 2),  # a question and its answer stay together
        ("haaa", [400, 400, 400, 400], 2),  # within an answer, if there is no other user turn
        ("aaha", [400, 400, 100, 400], 2),
        ("aa", [2_000, 1], 1),
        ("aaa", [400, 400, 400], 2),  # without a user turn at all
        ("", [], 0),
    ],
)
def test_a_batch_takes_what_fits_and_ends_before_a_user_turn(roles: str, costs: list[int], size: int) -> None:
    """The model should see a question together with its answer."""
    turns = [turn(str(index), role="human" if role == "h" else "ai") for index, role in enumerate(roles)]

    batch = first_batch(turns, 1_000, lambda each: costs[int(each.id)])

    assert list(batch) == turns[:size]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("ha"), st.integers(0, 900), st.integers(0, 300)), max_size=6))
def test_what_turns_cost_at_most_changes_no_batch(drawn: list[tuple[str, int, int]]) -> None:
    """It only saves counting the tokens of turns that certainly fit."""
    turns = [turn(str(index), role="human" if role == "h" else "ai") for index, (role, _, _) in enumerate(drawn)]
    costs = [cost for _, cost, _ in drawn]

    batch = first_batch(
        turns, 1_000, lambda each: costs[int(each.id)], lambda each: costs[int(each.id)] + drawn[int(each.id)][2]
    )

    assert batch == first_batch(turns, 1_000, lambda each: costs[int(each.id)])


def threads(*times: str) -> MemoryDocument:
    """A memory with threads t0, t1... that were learned at these times."""
    marks = {f"t{index}": Watermark(last_message_id="m", at=time) for index, time in enumerate(times)}
    return MemoryDocument(threads=marks)


@pytest.mark.parametrize(("limit", "kept"), [(1, []), (2, ["t1"]), (3, ["t1", "t2"]), (4, ["t0", "t1", "t2"])])
def test_the_oldest_threads_are_evicted(limit: int, kept: list[str]) -> None:
    """The limit includes the thread of the update; the others keep their order."""
    memory = with_watermark(threads("2024", "2026", "2025"), "new", ("m1",), NOW, Policy(max_threads=limit))

    assert list(memory.threads) == [*kept, "new"]


def test_the_thread_of_the_update_does_not_count_twice() -> None:
    """It moves to the end, and no other has to go for it."""
    memory = with_watermark(threads("2024", "2025"), "t0", ("m1",), NOW, Policy(max_threads=2))

    assert list(memory.threads) == ["t1", "t0"]
    assert memory.threads["t0"].message_ids == ("m", "m1")


def test_the_rule_learns_the_messages_of_the_update() -> None:
    """With the update's time, and as many ids as the policy keeps."""
    memory = MemoryDocument(threads={"t1": Watermark(last_message_id="m0")})

    after = advance_watermark(draft(memory, Policy(thread_mark_ids=2))).memory

    assert after.threads == {"t1": Watermark(last_message_id="m2", at=AT, message_ids=("m1", "m2"), gaps=("m1",))}


@pytest.mark.parametrize(
    ("learned_first", "learned_later", "new"),
    [("cd", "a", "b"), ("ef", "ab", "cd"), ("ab", "de", "c"), ("a", "c", "bde"), ("f", "", "")],
)
def test_turns_between_known_ones_are_new(learned_first: str, learned_later: str, new: str) -> None:
    """Several writers of one thread learn their own turns in any order; before the first known turn nothing is new."""
    mark = learned(learned_later, learned(learned_first))
    turns = conversation(sorted({*learned_first, *learned_later, *new}))

    assert "".join(turn.id for turn in new_turns(turns, mark)) == new


def test_turns_whose_ids_were_evicted_are_not_new() -> None:
    """A batch may be longer than the watermark, which then keeps the position before it as well."""
    mark = learned("bcdefghijklmn", learned("a"))

    assert (mark.message_ids, mark.gaps) == (tuple("ahijklmn"), ("h",))
    assert [turn.id for turn in new_turns(conversation("abcdefghijklmnop"), mark)] == ["o", "p"]


def test_the_marker_of_a_gap_moves_on_with_eviction() -> None:
    """It stays with the first id that is left of those learned together."""
    mark = learned("k", learned("bcdefghij", learned("a")))

    assert (mark.message_ids, mark.gaps) == (tuple("defghijk"), ("d",))


@given(st.data())
def test_whatever_the_order_of_the_writers_every_turn_is_learned_once(data: st.DataObject) -> None:
    """Each writer of a thread knows its own turns only; the watermark has room for all of them."""
    owners = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=24))
    turns = conversation(f"m{number:02}" for number in range(len(owners)))
    mark: Watermark | None = None
    seen: list[str] = []
    for writer in data.draw(st.permutations(range(4))):
        own = [turn for turn, owner in zip(turns, owners, strict=True) if owner == writer]
        while new := new_turns(own, mark):
            batch = [turn.id for turn in new[: data.draw(st.integers(1, 8))]]
            mark = advance(mark, batch, NOW, Policy().thread_mark_ids)
            seen += batch

    assert sorted(seen) == [turn.id for turn in turns]
    assert new_turns(turns, mark) == ()


def test_a_turn_in_progress_is_new_until_all_of_it_is_learned() -> None:
    """Also as the first turn that the watermark knows anything of; its progress is kept once, and not after its end."""
    turns = conversation(["m1", "m2", "m3"])
    first = advance(advance(learned(""), ["m1#chars=300"], NOW, 8), ["m3"], NOW, 8)
    further = advance(first, ["m1#chars=600"], NOW, 8)

    assert [turn.id for turn in new_turns(turns, further)] == ["m1", "m2"]
    assert (progress_of("m1", first), progress_of("m1", further), progress_of("m2", further)) == (300, 600, 0)
    assert further.message_ids == ("m3", "m1#chars=600")
    assert advance(further, ["m1"], NOW, 8).message_ids == ("m3", "m1")


@pytest.mark.parametrize(
    ("gaps", "after", "new"),
    [
        (("b",), "bc", ""),  # evicted before b, and c confirms it
        ((), "bc", "xb"),  # b is a short text that was said again
        (("b",), "b", "xb"),  # nothing confirms that it is the same b
    ],
)
def test_a_hash_after_evicted_turns_needs_a_known_turn_after_it(gaps: tuple[str, ...], after: str, new: str) -> None:
    """The turn before it cannot be known any more, so the turn after it has to be."""
    mark = Watermark(
        last_message_id=HASHED + "c",
        message_ids=("a", HASHED + "b", HASHED + "c"),
        gaps=tuple(HASHED + name for name in gaps),
    )
    turns = [turn("a"), *(turn(HASHED + name) for name in ("x", *after))]

    assert "".join(found.id.removeprefix(HASHED) for found in new_turns(turns, mark)) == new


@pytest.mark.parametrize(
    ("message_id", "turn_id"),
    [
        ("m1#chars=20", "m1"),
        ("m1", "m1"),
        ("123", "123"),
        ("m1#chars=x", "m1#chars=x"),
        ("a#chars=1#chars=2", "a#chars=1"),
    ],
)
def test_a_part_has_the_id_of_its_turn(message_id: str, turn_id: str) -> None:
    """The id of a whole turn is its own, whatever it looks like."""
    assert without_progress(message_id) == turn_id
