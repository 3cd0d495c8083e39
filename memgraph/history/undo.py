"""Undo one revision, also if later ones exist, and find the earlier states and the revisions of a fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from memgraph.analysis.normalize import fact_key
from memgraph.errors import EditError, NotInHistoryError
from memgraph.history.diff import EntryConflict, reverse
from memgraph.models import AsSaid, EntryChange, Fact, MemoryDocument, PastFact, Revision

UndoOutcome = Literal["undone", "partly_undone", "conflicts", "nothing"]
"""How an undo ended.

- undone: all of the revision was reversed.
- partly_undone: all but the conflicts.
- conflicts: nothing was changed, since not all of it can be reversed.
- nothing: it was reversed already, or changed only watermarks.
"""


class Undo(NamedTuple):
    """What the undo of a revision changes."""

    outcome: UndoOutcome
    revision: Revision
    """The one that is undone."""
    memory: MemoryDocument
    """The memory after it."""
    conflicts: tuple[EntryConflict, ...] = ()
    """What stays as it is."""


class FactHistory(NamedTuple):
    """Why a fact is known: the fact with its evidence, and how it came about."""

    fact: Fact
    """As it is now; as it was last, if it was removed."""
    state: Literal["current", "as said", "past", "removed"]
    superseded: tuple[PastFact, ...]
    """The past facts that it followed."""
    revisions: tuple[Revision, ...]
    """Those that changed it, the newest first."""


def undo(memory: MemoryDocument, revision: Revision, *, at: str, relearn: bool = False, partial: bool = False) -> Undo:
    """Return *memory* without what *revision* changed.

    What was changed again since stays, and is a conflict. So does a fact that would return although another one states
    the same, or the attribute of which a person has one at a time; and one that *revision* added and that is past now.

    Args:
        memory: The current memory.
        revision: One of its revisions.
        at: The time of the undo.
        relearn: Whether the watermarks move back too, so that the next update learns the turns again.
        partial: Whether to undo the rest if there are conflicts.
    """
    reversal = reverse(memory, revision.changes, with_threads=relearn)
    undone, returned = without_repeated(memory, reversal.memory)
    conflicts = (*reversal.conflicts, *_ended_since(memory, undone, revision), *returned)
    if undone == memory and not conflicts:
        return Undo("nothing", revision, memory)
    if undone == memory or (conflicts and not partial):
        return Undo("conflicts", revision, memory, conflicts)
    undone = undone.model_copy(update={"last_updated": at})
    return Undo("partly_undone" if conflicts else "undone", revision, undone, conflicts)


def without_repeated(memory: MemoryDocument, undone: MemoryDocument) -> tuple[MemoryDocument, list[EntryConflict]]:
    """Return *undone* without facts that return although another states the same now, and these conflicts."""
    known_ids = {fact.id for fact in memory.facts}
    returning = [fact for fact in undone.facts if fact.id not in known_ids]
    if not returning:
        return undone, []
    staying = [fact for fact in undone.facts if fact.id in known_ids]
    by_key = {fact_key(fact.content): fact for fact in staying}
    by_slot = {fact.slot: fact for fact in staying if fact.slot}
    conflicts: list[EntryConflict] = []
    for fact in returning:
        if other := by_key.get(fact_key(fact.content)):
            conflicts.append(EntryConflict("fact", fact.id, f"{other.id} states the same"))
        elif fact.slot and (other := by_slot.get(fact.slot)):
            conflicts.append(EntryConflict("fact", fact.id, f"{other.id} states this attribute now"))
    dropped = {conflict.key for conflict in conflicts}
    if not dropped:
        return undone, []
    still_past = [fact for fact in memory.past if fact.id in dropped and not undone.past_fact(fact.id)]
    facts = tuple(fact for fact in undone.facts if fact.id not in dropped)
    return undone.model_copy(update={"facts": facts, "past": (*undone.past, *still_past)}), conflicts


def _ended_since(memory: MemoryDocument, undone: MemoryDocument, revision: Revision) -> list[EntryConflict]:
    added = [change.key for change in revision.changes.facts if change.before is None]
    ended = [key for key in added if not memory.fact(key) and undone.past_fact(key)]
    return [EntryConflict("past", key, "it became past since") for key in ended]


def find_undoable(revisions: Iterable[Revision]) -> Revision:
    """Return the latest revision with content that is neither undone nor an undo.

    Args:
        revisions: The history, the newest first.

    Raises:
        EditError: If there is none.
    """
    undone: set[int] = set()
    for entry in revisions:
        if entry.by == "delete":
            break
        if entry.revision in undone:
            continue
        if entry.by == "undo":
            undone.add(entry.undoes)
        elif entry.changes.has_content:
            return entry
    raise EditError("there is nothing to undo in the history of this memory")


def memory_at(memory: MemoryDocument, revisions: Iterable[Revision], number: int) -> MemoryDocument:
    """Return *memory* as it was at revision *number*.

    Args:
        memory: The current memory.
        revisions: Its history, the newest first.
        number: The revision.

    Raises:
        EditError: If the history does not go back to it.
    """
    earlier = memory
    for entry in revisions:
        if earlier.revision <= number or entry.revision != earlier.revision:  # it is later, or one is missing
            break
        if entry.by == "delete":
            break
        earlier = reverse(earlier, entry.changes).memory.model_copy(update={"revision": entry.revision - 1})
    if earlier.revision != number:
        is_later = number > memory.revision
        known = f"the newest is {memory.revision}" if is_later else f"it goes back to {earlier.revision}"
        raise NotInHistoryError(f"the history has no revision {number}; {known}")
    return earlier


def trace_fact(memory: MemoryDocument, revisions: Sequence[Revision], fact_id: str) -> FactHistory | None:
    """Return why the fact *fact_id* is known, or was; None if neither *memory* nor its history has it."""
    changes = {entry.revision: _changes_of(entry, fact_id) for entry in revisions}
    touching = tuple(entry for entry in revisions if changes[entry.revision])
    removed = (change.before for entry in touching for change in changes[entry.revision] if change.before)
    current, said, past = memory.fact(fact_id), memory.said_claim(fact_id), memory.past_fact(fact_id)
    fact = current or said or past or next(removed, None)
    if fact is None:
        return None
    superseded = tuple(item for item in memory.past if item.ended_by == fact_id or item.id in fact.replaces)
    state = "current" if current else "as said" if said else "past" if past else "removed"
    return FactHistory(fact, state, superseded, touching)


def _changes_of(entry: Revision, fact_id: str) -> list[EntryChange[Fact] | EntryChange[PastFact] | EntryChange[AsSaid]]:
    changes = (*entry.changes.facts, *entry.changes.past, *entry.changes.as_said)
    return [change for change in changes if change.key == fact_id]
