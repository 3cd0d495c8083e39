"""What differs between two memories, and the memory that was there before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic_core import to_json

from memgraph.models import (
    SECTIONS,
    AcceptedKind,
    AsSaid,
    DocumentModel,
    Fact,
    MemoryDocument,
    PastFact,
    PendingChange,
    Section,
    StoredItem,
    StoredProfile,
    Upkeep,
    Watermark,
)
from memgraph.models.history import EntryChange, IdsChange, KeyChange, MemoryChanges, UpkeepChange, WatermarkChange

T = TypeVar("T")
Item = TypeVar("Item", Fact, PastFact, AsSaid, PendingChange, StoredItem)
Model = TypeVar("Model", bound=DocumentModel)
Mark = TypeVar("Mark", Watermark, Upkeep)
MarkChange = WatermarkChange | UpkeepChange

EntryKind = Literal["fact", "past", "as said", "section", "quarantine", "store item", "thread", "upkeep", "key"]

_LISTS: tuple[tuple[EntryKind, str, str, type[EntryChange[Any]]], ...] = (
    ("fact", "facts", "facts", EntryChange[Fact]),
    ("past", "past", "past", EntryChange[PastFact]),
    ("as said", "as_said", "as_said", EntryChange[AsSaid]),
    ("quarantine", "quarantine", "pending", EntryChange[PendingChange]),
    ("store item", "store_items", "store_items", EntryChange[StoredItem]),
)
"""The lists of entries with ids: their kind, their names in the changes and in the document, and their changes."""
_PARENTS: tuple[Literal["", "user", "history"], ...] = ("", "user", "history")
_DOCUMENT_FIELDS = ("version", "unreadable_facts", "profile", "accepted_kinds")
"""Fields of the document that are compared as a whole. Revision, times and the deletion belong to the storage."""
_IDS_OF_THREAD = ("message_ids", "gaps")
_IDS_OF_UPKEEP = ("asked",)
"""Lists of ids, of which a change keeps only the difference."""


class EntryConflict(NamedTuple):
    """An entry that cannot be reversed."""

    kind: EntryKind
    key: str
    reason: str


class Reversal(NamedTuple):
    """The memory as it was before, except for the entries in *conflicts*, which are as they were."""

    memory: MemoryDocument
    conflicts: tuple[EntryConflict, ...]


def changes_between(before: MemoryDocument, after: MemoryDocument) -> MemoryChanges:
    """Return the entries that differ. It takes 1 ms for 1,000 facts of which few differ."""
    lists = {
        name: _entry_changes(model, _by_id(getattr(before, field)), _by_id(getattr(after, field)))
        for _, name, field, model in _LISTS
    }
    return MemoryChanges(
        **lists,
        sections=_entry_changes(EntryChange[Section], dict(before.sections()), dict(after.sections())),
        threads=tuple(
            WatermarkChange(key=one.key, position=one.position, **_mark_change(one.before, one.after, _IDS_OF_THREAD))
            for one in _entry_changes(EntryChange[Watermark], before.threads, after.threads)
        ),
        upkeep=UpkeepChange(**_mark_change(before.upkeep, after.upkeep, _IDS_OF_UPKEEP))
        if before.upkeep != after.upkeep
        else None,
        keys=tuple(
            KeyChange(parent=parent, **dict(change))
            for parent in _PARENTS
            for change in _entry_changes(EntryChange[str], _keys(before, parent), _keys(after, parent))
        ),
    )


def reverse(memory: MemoryDocument, changes: MemoryChanges, *, with_threads: bool = True) -> Reversal:
    """Return *memory* before *changes*.

    An entry that is as it was before stays as it is. One that is neither as before nor as after was changed since:
    it stays too, and is a conflict.

    Args:
        memory: The memory after *changes*, or a later one.
        changes: What to reverse.
        with_threads: Whether the watermarks and the mark of the upkeep move back too, so that the turns are learned
            and the questions of the upkeep asked again.
    """
    before, conflicts = memory, list[EntryConflict]()
    for kind, name, field, _ in _LISTS:
        items: dict[str, object] = _by_id(getattr(memory, field))
        entries = _reversed(kind, items, getattr(changes, name), conflicts)
        before = before.model_copy(update={field: tuple(entries.values())})
    pending = {item.id for item in before.pending}
    before = before.model_copy(update={"rejected": tuple(each for each in memory.rejected if each not in pending)})
    sections = _reversed("section", dict(memory.sections()), changes.sections, conflicts)
    for name in SECTIONS:
        before = before.with_section(name, sections[name])
    custom = {name: section for name, section in sections.items() if name not in SECTIONS}
    before = before.model_copy(update={"custom_sections": custom})
    for parent in _PARENTS:
        own = [change for change in changes.keys if change.parent == parent]
        if own:
            before = _with_keys(before, parent, _reversed("key", _keys(memory, parent), own, conflicts))
    if with_threads and changes.threads:
        marks = [_with_ids(change, memory.threads.get(change.key)) for change in changes.threads]
        reason = "its conversation was learned further since"
        threads = _reversed("thread", memory.threads, marks, conflicts, reason)
        before = before.model_copy(update={"threads": threads})
    if with_threads and changes.upkeep:
        if _is_after(memory.upkeep, changes.upkeep, _IDS_OF_UPKEEP):
            mark = _mark_before(memory.upkeep, changes.upkeep.before, changes.upkeep, _IDS_OF_UPKEEP)
            before = before.model_copy(update={"upkeep": mark})
        else:
            conflicts.append(EntryConflict("upkeep", "", "there was another upkeep since"))
    return Reversal(before, tuple(conflicts))


# -- entries --------------------------------------------------------------------------------------


def _entry_changes(
    model: type[EntryChange[T]], before: Mapping[str, T], after: Mapping[str, T]
) -> tuple[EntryChange[T], ...]:
    """Return the entries that were removed, changed or moved, then those that were added."""
    moved = _moved(before, after)
    changed = (
        model(key=key, position=position, before=item, after=after.get(key))
        for position, (key, item) in enumerate(before.items())
        if key in moved or not _is_same(item, after.get(key))
    )
    added = (model(key=key, after=item) for key, item in after.items() if key not in before)
    return (*changed, *added)


def _is_same(one: T, other: T | None) -> bool:
    return one is other or one == other


def _moved(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """Return keys without which the others have the same order before and after."""
    old = [key for key in before if key in after]
    new = [key for key in after if key in before]
    if old == new:
        return set()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return set(old) - {key for block in blocks for key in old[block.a : block.a + block.size]}


def _reversed(
    kind: EntryKind,
    current: Mapping[str, T],
    changes: Sequence[EntryChange[T]],
    conflicts: list[EntryConflict],
    reason: str = "it was changed since",
) -> dict[str, T]:
    """Return the entries before *changes*; those that were changed since stay, and are added to *conflicts*."""
    reversible: list[EntryChange[T]] = []
    for change in changes:
        now = current.get(change.key)
        if _is_same(change.after, now):
            reversible.append(change)
        elif not _is_same(change.before, now):
            conflicts.append(EntryConflict(kind, change.key, reason))
    gone = {change.key for change in reversible}
    kept = ((key, item) for key, item in current.items() if key not in gone)
    return _with_inserted(kept, reversible)


def _with_inserted(kept: Iterable[tuple[str, T]], changes: Iterable[EntryChange[T]]) -> dict[str, T]:
    """Return *kept* with what was removed, each at its position before."""
    entries, rest = dict[str, T](), iter(kept)
    for change in sorted(changes, key=lambda change: change.position):
        if change.before is None:
            continue
        while len(entries) < change.position and (entry := next(rest, None)):
            entries[entry[0]] = entry[1]
        entries[change.key] = change.before
    return entries | dict(rest)


def _by_id(items: Sequence[Item]) -> dict[str, Item]:
    """Return *items* by id. Pending changes may have one id twice in a document that was edited manually."""
    entries = {item.id: item for item in items}
    if len(entries) == len(items):
        return entries
    seen, entries = Counter[str](), dict[str, Item]()
    for item in items:
        seen[item.id] += 1
        entries[item.id if seen[item.id] == 1 else f"{item.id}#{seen[item.id]}"] = item
    return entries


# -- the marks of threads and of the upkeep ---------------------------------------------------------


def _mark_change(before: Mark | None, after: Mark | None, lists: Sequence[str]) -> dict[str, Any]:
    """Return the fields of the change of a mark: it before and after without its *lists* of ids, and their changes."""
    ids = {name: _ids_change(_ids(before, name), _ids(after, name)) for name in lists}
    return {"before": before and _without_ids(before, lists), "after": after and _without_ids(after, lists), **ids}


def _without_ids(mark: Mark, lists: Sequence[str]) -> Mark:
    return mark.model_copy(update=dict.fromkeys(lists, ()))


def _ids(mark: Watermark | Upkeep | None, name: str) -> tuple[str, ...]:
    return getattr(mark, name) if mark else ()


def _ids_change(before: tuple[str, ...], after: tuple[str, ...]) -> IdsChange:
    for start in range(len(before) + 1):
        kept = before[start:]
        if after[: len(kept)] == kept:
            return IdsChange(removed=before[:start], added=after[len(kept) :])
    return IdsChange(removed=before, added=after)


def _with_ids(change: WatermarkChange, now: Watermark | None) -> EntryChange[Watermark]:
    """Return *change* with the ids of *now* if that is the watermark after it; else as it is, which is a conflict."""
    if not _is_after(now, change, _IDS_OF_THREAD):
        return change
    before = _mark_before(now, change.before, change, _IDS_OF_THREAD)
    return EntryChange(key=change.key, position=change.position, before=before, after=now)


def _is_after(mark: Mark | None, change: MarkChange, lists: Sequence[str]) -> bool:
    if mark is None or change.after is None:
        return mark is change.after
    added = {name: getattr(change, name).added for name in lists}
    is_end = all(_ids(mark, name)[len(_ids(mark, name)) - len(end) :] == end for name, end in added.items())
    return is_end and _without_ids(mark, lists) == change.after


def _mark_before(mark: Mark | None, before: Mark | None, change: MarkChange, lists: Sequence[str]) -> Mark | None:
    ids = {name: _ids_before(_ids(mark, name), getattr(change, name)) for name in lists}
    return before and before.model_copy(update=ids)


def _ids_before(ids: tuple[str, ...], change: IdsChange) -> tuple[str, ...]:
    return (*change.removed, *ids[: len(ids) - len(change.added)])


# -- other keys -----------------------------------------------------------------------------------


def _keys(memory: MemoryDocument, parent: Literal["", "user", "history"]) -> dict[str, str]:
    """Return the unknown keys of a part of the document, and for the document its own smaller fields, as JSON."""
    part = getattr(memory, parent) if parent else memory
    own = {name: getattr(memory, name) for name in _DOCUMENT_FIELDS} if not parent else {}
    return {name: to_json(value).decode() for name, value in (own | (part.model_extra or {})).items()}


def _with_keys(
    memory: MemoryDocument, parent: Literal["", "user", "history"], keys: Mapping[str, str]
) -> MemoryDocument:
    if not parent:
        return _with_extra(memory, keys)
    return memory.model_copy(update={parent: _with_extra(getattr(memory, parent), keys)})


def _with_extra(part: Model, keys: Mapping[str, str]) -> Model:
    """Return *part* with exactly these unknown keys, in their order."""
    values = {name: json.loads(value) for name, value in keys.items()}
    if "unreadable_facts" in values:
        values["unreadable_facts"] = tuple(values["unreadable_facts"])
    if "accepted_kinds" in values:
        values["accepted_kinds"] = tuple(map(AcceptedKind.model_validate, values["accepted_kinds"]))
    if "profile" in values:
        values["profile"] = StoredProfile.model_validate(values["profile"])
    changed = part.model_copy()  # which copies the dict of its unknown keys
    if (extra := changed.model_extra) is not None:
        extra.clear()
    return changed.model_copy(update=values)
