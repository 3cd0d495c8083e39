"""One revision is undone, also if later ones exist; what cannot be reversed is reported."""

from __future__ import annotations

import pytest

from memgraph.errors import EditError
from memgraph.history.diff import EntryConflict, changes_between
from memgraph.history.undo import find_undoable, memory_at, trace_fact, undo
from memgraph.models import Fact, MemoryChanges, MemoryDocument, Revision, Section, Watermark

AT = "2026-11-01T00:00:00Z"
TEA = Fact(id="tea", content="Likes tea.")
LISBON = Fact(id="lisbon", content="Lives in Lisbon.", slot="home")
PORTO = Fact(id="porto", content="Lives in Porto.", slot="home", replaces=("lisbon",))


def revision(
    before: MemoryDocument, after: MemoryDocument, number: int = 1, by: str = "update", undoes: int = 0
) -> Revision:
    return Revision(revision=number, by=by, undoes=undoes, changes=changes_between(before, after))


def ids(memory: MemoryDocument) -> list[str]:
    return [fact.id for fact in memory.facts]


def superseded(memory: MemoryDocument, by: Fact) -> MemoryDocument:
    moved = memory.end_facts(by.replaces, "superseded", at=AT, by=by.id, limit=10)
    return moved.with_facts((*moved.facts, by))


def test_an_earlier_revision_is_undone_and_later_ones_stay() -> None:
    first = MemoryDocument(facts=(TEA,))
    now = first.with_facts((*first.facts, LISBON))

    undone = undo(now, revision(MemoryDocument(), first), at=AT)

    assert (undone.outcome, ids(undone.memory), undone.memory.last_updated) == ("undone", ["lisbon"], AT)


def test_an_undone_supersession_brings_the_fact_back_from_the_past() -> None:
    before = MemoryDocument(facts=(LISBON,))
    after = superseded(before, PORTO)

    undone = undo(after, revision(before, after), at=AT)

    assert (ids(undone.memory), undone.memory.past) == (["lisbon"], ())


def test_nothing_is_changed_if_there_are_conflicts() -> None:
    """A person decides whether the rest is undone."""
    after = MemoryDocument(facts=(TEA, LISBON))
    now = after.with_facts((TEA.model_copy(update={"content": "Likes green tea."}), LISBON))

    undone = undo(now, revision(MemoryDocument(), after), at=AT)

    assert (undone.outcome, undone.memory) == ("conflicts", now)
    assert undone.conflicts == (EntryConflict("fact", "tea", "it was changed since"),)


def test_the_rest_can_be_undone_despite_conflicts() -> None:
    after = MemoryDocument(facts=(TEA, LISBON))
    now = after.with_facts((TEA.model_copy(update={"content": "Likes green tea."}), LISBON))

    undone = undo(now, revision(MemoryDocument(), after), at=AT, partial=True)

    assert (undone.outcome, ids(undone.memory)) == ("partly_undone", ["tea"])


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Fact(id="b", content="lives in  Lisbon."), "b states the same"),
        (Fact(id="b", content="Lives in Faro.", slot="home"), "b states this attribute now"),
    ],
)
def test_a_fact_does_not_return_beside_one_that_took_its_place(other: Fact, reason: str) -> None:
    """Otherwise two current facts would contradict or repeat each other."""
    before = MemoryDocument(facts=(LISBON,))
    after = before.end_facts(["lisbon"], "removed", at=AT, limit=10)
    now = after.with_facts((other,))

    undone = undo(now, revision(before, after), at=AT, partial=True)

    assert (ids(undone.memory), [fact.id for fact in undone.memory.past]) == (["b"], ["lisbon"])
    assert undone.conflicts == (EntryConflict("fact", "lisbon", reason),)


def test_a_fact_that_became_past_since_is_reported() -> None:
    """It is not current any more, but the memory still answers questions about the past with it."""
    after = MemoryDocument(facts=(LISBON,))
    now = superseded(after, PORTO)

    undone = undo(now, revision(MemoryDocument(), after), at=AT)

    assert undone.outcome == "conflicts"
    assert undone.conflicts == (EntryConflict("past", "lisbon", "it became past since"),)


def test_an_undo_twice_does_nothing() -> None:
    after = MemoryDocument(facts=(TEA,))
    entry = revision(MemoryDocument(), after)

    assert undo(undo(after, entry, at=AT).memory, entry, at=AT).outcome == "nothing"


def test_the_turns_stay_learned_unless_they_are_to_be_learned_again() -> None:
    after = MemoryDocument(facts=(TEA,), threads={"t": Watermark(last_message_id="m1")})
    entry = revision(MemoryDocument(), after)

    assert undo(after, entry, at=AT).memory.threads == after.threads
    assert undo(after, entry, at=AT, relearn=True).memory.threads == {}


def test_a_summary_returns() -> None:
    before = MemoryDocument().with_section(
        "work_context", Section(summary="Builds engines.", updated_at="2026-01-01T00:00:00Z")
    )
    after = before.with_section("work_context", Section(summary="Nothing.", updated_at=AT))

    undone = undo(after, revision(before, after), at=AT)

    assert undone.memory.section("work_context") == before.section("work_context")


# -- what to undo ---------------------------------------------------------------------------------

CHANGED = (MemoryDocument(), MemoryDocument(facts=(TEA,)))
LEARNED_NOTHING = (MemoryDocument(), MemoryDocument(threads={"t": Watermark(last_message_id="m1")}))


def test_the_latest_change_of_content_is_undone_first() -> None:
    history = [revision(*LEARNED_NOTHING, number=3), revision(*CHANGED, number=2), revision(*CHANGED, number=1)]

    assert find_undoable(history).revision == 2


def test_a_second_undo_goes_further_back() -> None:
    undo_of_2 = revision(*CHANGED, number=3, by="undo", undoes=2)

    assert find_undoable([undo_of_2, revision(*CHANGED, number=2), revision(*CHANGED, number=1)]).revision == 1


def test_what_was_restored_by_undoing_an_undo_can_be_undone_again() -> None:
    history = [
        revision(*CHANGED, number=3, by="undo", undoes=2),
        revision(*CHANGED, number=2, by="undo", undoes=1),
        revision(*CHANGED, number=1),
    ]

    assert find_undoable(history).revision == 1


@pytest.mark.parametrize("history", [[], [Revision(revision=2, by="delete"), revision(*CHANGED)]])
def test_an_empty_history_and_a_deletion_have_nothing_to_undo(history: list[Revision]) -> None:
    with pytest.raises(EditError, match="nothing to undo"):
        find_undoable(history)


# -- earlier states and facts ---------------------------------------------------------------------


def states() -> tuple[list[MemoryDocument], list[Revision]]:
    """Four states, and the history that leads to them, the newest first."""
    memories = [
        MemoryDocument(),
        MemoryDocument(facts=(LISBON,)),
        superseded(MemoryDocument(facts=(LISBON,)), PORTO),
        MemoryDocument(),
    ]
    memories = [memory.model_copy(update={"revision": number}) for number, memory in enumerate(memories)]
    history = [revision(memories[number - 1], memories[number], number) for number in (3, 2, 1)]
    return memories, history


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_memory_is_shown_as_it_was_at_a_revision(number: int) -> None:
    memories, history = states()

    assert memory_at(memories[3], history, number) == memories[number]


@pytest.mark.parametrize("number", [-1, 0, 4])
def test_a_revision_that_the_history_does_not_have_is_an_error(number: int) -> None:
    memories, history = states()

    with pytest.raises(EditError, match="goes back to 1" if number < 1 else "the newest is 3"):
        memory_at(memories[3], history[:2], number)


def test_nothing_before_a_deletion_can_be_shown() -> None:
    with pytest.raises(EditError, match="goes back to 2"):
        memory_at(MemoryDocument(revision=2), [Revision(revision=2, by="delete")], 1)


def test_a_fact_is_explained_by_what_it_superseded_and_its_revisions() -> None:
    memories, history = states()

    found = trace_fact(memories[2], history[1:], "porto")

    assert found
    assert (found.fact, found.state) == (PORTO, "current")
    assert [fact.id for fact in found.superseded] == ["lisbon"]
    assert [entry.revision for entry in found.revisions] == [2]


@pytest.mark.parametrize(("number", "state"), [(1, "current"), (2, "past"), (3, "removed")])
def test_a_fact_is_found_wherever_it_went(number: int, state: str) -> None:
    memories, history = states()

    found = trace_fact(memories[number], history[3 - number :], "lisbon")

    assert found
    assert (found.fact.content, found.state) == ("Lives in Lisbon.", state)
    assert trace_fact(memories[number], [Revision(revision=9, changes=MemoryChanges())], "unknown") is None


def test_a_past_fact_with_the_id_of_an_undone_one_is_no_conflict() -> None:
    """An import may bring a fact under the id of a past one."""
    before = MemoryDocument(facts=(LISBON,)).end_facts(["lisbon"], "removed", at=AT, limit=10)
    after = before.with_facts((Fact(id="lisbon", content="Imported."),))

    undone = undo(after, revision(before, after), at=AT)

    assert (undone.outcome, undone.memory.facts, undone.memory.past) == ("undone", (), before.past)


def test_a_document_before_a_gap_in_the_history_is_refused() -> None:
    """A line of the history that cannot be read is a gap: nothing before it can be reconstructed."""
    states = [MemoryDocument(revision=number, facts=(TEA, LISBON, PORTO)[:number]) for number in range(4)]
    third, _, first = (revision(states[number - 1], states[number], number) for number in (3, 2, 1))

    assert ids(memory_at(states[3], [third, first], 2)) == ["tea", "lisbon"]
    for number in (0, 1):
        with pytest.raises(EditError, match=f"no revision {number}; it goes back to 2"):
            memory_at(states[3], [third, first], number)
