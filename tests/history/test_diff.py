"""Every change of a memory can be reversed exactly, and what was changed since is reported."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.history.diff import EntryConflict, changes_between, reverse
from memgraph.models import (
    AsSaid,
    Fact,
    MemoryChanges,
    MemoryDocument,
    PastFact,
    PendingChange,
    Revision,
    Section,
    Upkeep,
    Watermark,
)
from memgraph.storage.document import encode
from memgraph.storage.revisions import decode_revision, encode_revision

IDS = st.sampled_from("abcdef")
WORDS = st.sampled_from(["", "one", "two", "三"])
JSON = st.one_of(st.none(), st.integers(0, 3), WORDS, st.lists(WORDS, max_size=2))


def listed(model: type[Fact | PendingChange], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(st.builds(model, id=IDS, **fields), max_size=6, unique_by=lambda item: item.id).map(tuple)


SECTION = st.builds(Section, summary=WORDS, note=JSON)
WATERMARK = st.builds(
    Watermark,
    last_message_id=WORDS,
    message_ids=st.lists(IDS, max_size=5).map(tuple),
    gaps=st.lists(IDS, max_size=2).map(tuple),
)


@st.composite
def memories(draw: st.DrawFn) -> MemoryDocument:
    extra = draw(st.dictionaries(st.sampled_from(["color", "shape", "size"]), JSON, max_size=3))
    memory = MemoryDocument(
        version=draw(st.sampled_from(["1.0", "2.0"])),
        facts=draw(listed(Fact, content=WORDS, confidence=st.sampled_from([0.5, 0.9]), mood=JSON)),
        past=draw(listed(PastFact, content=WORDS, reason=WORDS)),
        as_said=draw(listed(AsSaid, content=WORDS, reason=WORDS)),
        pending=draw(st.lists(st.builds(PendingChange, id=IDS, reason=WORDS), max_size=4).map(tuple)),
        threads=draw(st.dictionaries(IDS, WATERMARK, max_size=5)),
        unreadable_facts=draw(st.lists(JSON, max_size=2).map(tuple)),
        upkeep=draw(st.none() | st.builds(Upkeep, revision=st.integers(1, 9), asked=st.lists(IDS, max_size=4))),
        **extra,
    )
    return memory.with_section("work_context", draw(SECTION)).with_section("recent_months", draw(SECTION))


@settings(max_examples=15, deadline=None)
@given(before=memories(), after=memories())
def test_the_document_before_a_change_is_restored_byte_for_byte(before: MemoryDocument, after: MemoryDocument) -> None:
    """Also after the changes were stored and read."""
    changes = changes_between(before, after)
    stored = decode_revision(encode_revision(Revision(revision=1, changes=changes)))

    assert stored
    assert stored.changes == changes
    memory, conflicts = reverse(after, stored.changes)

    assert not conflicts
    assert encode(memory) == encode(before)
    assert memory == before


@settings(max_examples=10, deadline=None)
@given(memory=memories())
def test_equal_memories_have_no_changes(memory: MemoryDocument) -> None:
    changes = changes_between(memory, memory.model_copy(deep=True))

    assert changes == MemoryChanges()
    assert not changes.has_content


def test_only_what_differs_is_in_the_changes() -> None:
    before = MemoryDocument(facts=tuple(Fact(id=f"f{number}", content=str(number)) for number in range(100)))
    after = before.with_facts((*before.facts[:-1], Fact(id="new", content="new")))

    changes = changes_between(before, after)

    assert [(change.key, change.position) for change in changes.facts] == [("f99", 99), ("new", 0)]


def test_an_entry_that_moved_is_the_only_change() -> None:
    """The watermark of a thread moves to the end whenever the thread is learned from."""
    before = MemoryDocument(facts=tuple(Fact(id=key, content=key) for key in "abcde"))
    after = before.with_facts((*before.facts[:1], *before.facts[2:], before.facts[1]))

    changes = changes_between(before, after)

    assert [change.key for change in changes.facts] == ["b"]


def test_a_watermark_stores_only_the_ids_that_differ() -> None:
    """It may have a hundred, and each save would have all of them twice."""
    ids = tuple(f"m{number}" for number in range(32))
    before = MemoryDocument(threads={"t": Watermark(message_ids=ids)})
    after = MemoryDocument(threads={"t": Watermark(message_ids=(*ids[2:], "m32", "m33"))})

    (change,) = changes_between(before, after).threads

    assert (change.message_ids.removed, change.message_ids.added) == (("m0", "m1"), ("m32", "m33"))
    assert change.before == change.after == Watermark()


def test_the_mark_of_an_upkeep_moves_back_only_with_the_watermarks() -> None:
    """What was undone must not be done again by the next upkeep."""
    before = MemoryDocument(upkeep=Upkeep(revision=1, asked=("a", "b")))
    after = MemoryDocument(upkeep=Upkeep(revision=2, asked=("b", "c")))
    changes = changes_between(before, after)

    assert changes.upkeep
    assert (changes.upkeep.asked.removed, changes.upkeep.asked.added) == (("a",), ("c",))
    assert reverse(after, changes).memory == before
    assert reverse(after, changes, with_threads=False) == (after, ())


def test_an_upkeep_since_is_a_conflict() -> None:
    changes = changes_between(MemoryDocument(), MemoryDocument(upkeep=Upkeep(revision=2)))

    memory, conflicts = reverse(MemoryDocument(upkeep=Upkeep(revision=5)), changes)

    assert (memory.upkeep, [conflict.kind for conflict in conflicts]) == (Upkeep(revision=5), ["upkeep"])


def test_a_fact_that_was_changed_since_stays_and_is_reported() -> None:
    known = Fact(id="a", content="one")
    changes = changes_between(MemoryDocument(), MemoryDocument(facts=(known, Fact(id="b", content="two"))))
    later = MemoryDocument(facts=(known.model_copy(update={"content": "three"}), Fact(id="b", content="two")))

    memory, conflicts = reverse(later, changes)

    assert [fact.content for fact in memory.facts] == ["three"]
    assert conflicts == (EntryConflict("fact", "a", "it was changed since"),)


def test_what_is_as_it_was_before_is_no_conflict() -> None:
    """A person may have removed the fact already."""
    changes = changes_between(MemoryDocument(), MemoryDocument(facts=(Fact(id="a", content="one"),)))

    assert reverse(MemoryDocument(), changes) == (MemoryDocument(), ())


def test_watermarks_stay_unless_they_are_reversed_too() -> None:
    """What was undone must not be learned again from the same turns."""
    after = MemoryDocument(threads={"t": Watermark(last_message_id="m1")})
    changes = changes_between(MemoryDocument(), after)

    assert reverse(after, changes, with_threads=False).memory == after
    assert reverse(after, changes).memory == MemoryDocument()


@pytest.mark.parametrize("later", [Watermark(last_message_id="m2"), Watermark(message_ids=("m1", "m2"))])
def test_a_watermark_that_moved_since_is_a_conflict(later: Watermark) -> None:
    changes = changes_between(MemoryDocument(), MemoryDocument(threads={"t": Watermark(message_ids=("m1",))}))

    _, conflicts = reverse(MemoryDocument(threads={"t": later}), changes)

    assert [(conflict.kind, conflict.key) for conflict in conflicts] == [("thread", "t")]
