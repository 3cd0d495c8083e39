"""What differs between two memories, and the memory that was there before."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from pydantic_core import to_json

from memgraph.models import (
    SECTIONS,
    AsSaid,
    DocumentModel,
    EntryChange,
    Fact,
    IdsChange,
    KeyChange,
    MemoryChanges,
    MemoryDocument,
    PastFact,
    PendingChange,
    Section,
    StoredItem,
    StoredProfile,
    Upkeep,
    UpkeepChange,
    Watermark,
    WatermarkChange,
)

T = TypeVar("T")
Item = TypeVar("Item", Fact, PastFact, AsSaid, PendingChange, StoredItem)
Model = TypeVar("Model", bound=DocumentModel)

EntryKind = Literal["fact", "past", "as said", "section", "quarantine", "store item", "thread", "upkeep", "key"]

_PARENTS: tuple[Literal["", "user", "history"], ...] = ("", "user", "history")
_DOCUMENT_FIELDS = ("version", "unreadable_facts", "profile")
"""Fields of the document that are compared as a whole. Revision, times and the deletion belong to the storage."""


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
    return MemoryChanges(
        facts=_entry_changes(EntryChange[Fact], _by_id(before.facts), _by_id(after.facts)),
        past=_entry_changes(EntryChange[PastFact], _by_id(before.past), _by_id(after.past)),
        as_said=_entry_changes(EntryChange[AsSaid], _by_id(before.as_said), _by_id(after.as_said)),
        sections=_entry_changes(EntryChange[Section], dict(before.sections()), dict(after.sections())),
        quarantine=_entry_changes(EntryChange[PendingChange], _by_id(before.pending), _by_id(after.pending)),
        store_items=_entry_changes(EntryChange[StoredItem], _by_id(before.store_items), _by_id(after.store_items)),
        threads=tuple(map(_watermark_change, _entry_changes(EntryChange[Watermark], before.threads, after.threads))),
        upkeep=_upkeep_change(before.upkeep, after.upkeep),
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
    facts, fact_conflicts = _reversed("fact", _by_id(memory.facts), changes.facts)
    past, past_conflicts = _reversed("past", _by_id(memory.past), changes.past)
    as_said, said_conflicts = _reversed("as said", _by_id(memory.as_said), changes.as_said)
    quarantine, quarantine_conflicts = _reversed("quarantine", _by_id(memory.pending), changes.quarantine)
    items, item_conflicts = _reversed("store item", _by_id(memory.store_items), changes.store_items)
    sections, section_conflicts = _reversed("section", dict(memory.sections()), changes.sections)
    before = memory.model_copy(
        update={
            "facts": tuple(facts.values()),
            "past": tuple(past.values()),
            "as_said": tuple(as_said.values()),
            "pending": tuple(quarantine.values()),
            "store_items": tuple(items.values()),
            "rejected": tuple(each for each in memory.rejected if each not in quarantine),
        }
    )
    for name in SECTIONS:
        if sections[name] != memory.section(name):
            before = before.with_section(name, sections[name])
    custom = {name: section for name, section in sections.items() if name not in SECTIONS}
    if list(custom.items()) != list(memory.custom_sections.items()):
        before = before.model_copy(update={"custom_sections": custom})
    conflicts = [*fact_conflicts, *past_conflicts, *said_conflicts, *section_conflicts, *quarantine_conflicts]
    conflicts += item_conflicts
    for parent in _PARENTS:
        own = [change for change in changes.keys if change.parent == parent]
        keys, key_conflicts = _reversed("key", _keys(memory, parent), own)
        conflicts += key_conflicts
        if own:
            before = _with_keys(before, parent, keys)
    if with_threads and changes.threads:
        threads, thread_conflicts = _reversed_threads(memory.threads, changes.threads)
        before = before.model_copy(update={"threads": threads})
        conflicts += thread_conflicts
    if with_threads and changes.upkeep:
        if _is_after_upkeep(memory.upkeep, changes.upkeep):
            before = before.model_copy(update={"upkeep": _upkeep_before(memory.upkeep, changes.upkeep)})
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
    """Return the fewest keys without which the others have the same order before and after."""
    old = [key for key in before if key in after]
    new = [key for key in after if key in before]
    if old == new:
        return set()
    positions = {key: position for position, key in enumerate(old)}
    return set(old) - set(_longest_rising(new, positions))


def _longest_rising(keys: Sequence[str], positions: Mapping[str, int]) -> list[str]:
    """Return the longest subsequence of *keys* whose positions rise, by patience sorting."""
    tails: list[int] = []
    ends: list[str] = []
    previous: dict[str, str | None] = {}
    for key in keys:
        place = bisect_left(tails, positions[key])
        tails[place:] = [positions[key], *tails[place + 1 :]]
        ends[place:] = [key, *ends[place + 1 :]]
        previous[key] = ends[place - 1] if place else None
    found: list[str] = []
    key = ends[-1] if ends else None
    while key is not None:
        found.append(key)
        key = previous[key]
    return found


def _reversed(
    kind: EntryKind, current: Mapping[str, T], changes: Sequence[EntryChange[T]]
) -> tuple[dict[str, T], list[EntryConflict]]:
    """Return the entries before *changes*, and those that were changed since."""
    reversible: list[EntryChange[T]] = []
    conflicts: list[EntryConflict] = []
    for change in changes:
        now = current.get(change.key)
        if _is_same(change.after, now):
            reversible.append(change)
        elif not _is_same(change.before, now):
            conflicts.append(EntryConflict(kind, change.key, "it was changed since"))
    gone = {change.key for change in reversible}
    kept = ((key, item) for key, item in current.items() if key not in gone)
    return _with_inserted(kept, reversible), conflicts


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


# -- watermarks -----------------------------------------------------------------------------------


def _watermark_change(change: EntryChange[Watermark]) -> WatermarkChange:
    before, after = change.before or Watermark(), change.after or Watermark()
    return WatermarkChange(
        key=change.key,
        position=change.position,
        before=change.before and _without_ids(change.before),
        after=change.after and _without_ids(change.after),
        message_ids=_ids_change(before.message_ids, after.message_ids),
        gaps=_ids_change(before.gaps, after.gaps),
    )


def _without_ids(watermark: Watermark) -> Watermark:
    return watermark.model_copy(update={"message_ids": (), "gaps": ()})


def _ids_change(before: tuple[str, ...], after: tuple[str, ...]) -> IdsChange:
    for start in range(len(before) + 1):
        kept = before[start:]
        if after[: len(kept)] == kept:
            return IdsChange(removed=before[:start], added=after[len(kept) :])
    return IdsChange(removed=before, added=after)


def _reversed_threads(
    current: Mapping[str, Watermark], changes: Sequence[WatermarkChange]
) -> tuple[dict[str, Watermark], list[EntryConflict]]:
    """Return the watermarks before *changes*, and those that have moved since."""
    reversible: list[EntryChange[Watermark]] = []
    conflicts: list[EntryConflict] = []
    for change in changes:
        now = current.get(change.key)
        is_unchanged = _is_after(now, change) if now and change.after else now is change.after
        if is_unchanged:
            reversible.append(change.model_copy(update={"before": _watermark_before(now, change)}))
        else:
            conflicts.append(EntryConflict("thread", change.key, "its conversation was learned further since"))
    gone = {change.key for change in reversible}
    kept = ((key, item) for key, item in current.items() if key not in gone)
    return _with_inserted(kept, reversible), conflicts


def _is_after(watermark: Watermark, change: WatermarkChange) -> bool:
    return (
        _without_ids(watermark) == change.after
        and _ends_with(watermark.message_ids, change.message_ids.added)
        and _ends_with(watermark.gaps, change.gaps.added)
    )


def _ends_with(ids: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return ids[len(ids) - len(end) :] == end


def _watermark_before(now: Watermark | None, change: WatermarkChange) -> Watermark | None:
    if change.before is None:
        return None
    now = now or Watermark()
    return change.before.model_copy(
        update={
            "message_ids": _ids_before(now.message_ids, change.message_ids),
            "gaps": _ids_before(now.gaps, change.gaps),
        }
    )


def _ids_before(ids: tuple[str, ...], change: IdsChange) -> tuple[str, ...]:
    return (*change.removed, *ids[: len(ids) - len(change.added)])


# -- the mark of the upkeep -----------------------------------------------------------------------


def _upkeep_change(before: Upkeep | None, after: Upkeep | None) -> UpkeepChange | None:
    if before == after:
        return None
    asked = _ids_change((before or Upkeep()).asked, (after or Upkeep()).asked)
    return UpkeepChange(before=before and _without_asked(before), after=after and _without_asked(after), asked=asked)


def _is_after_upkeep(now: Upkeep | None, change: UpkeepChange) -> bool:
    if now is None or change.after is None:
        return now is change.after
    return _without_asked(now) == change.after and _ends_with(now.asked, change.asked.added)


def _upkeep_before(now: Upkeep | None, change: UpkeepChange) -> Upkeep | None:
    asked = _ids_before((now or Upkeep()).asked, change.asked)
    return change.before and change.before.model_copy(update={"asked": asked})


def _without_asked(upkeep: Upkeep) -> Upkeep:
    return upkeep.model_copy(update={"asked": ()})


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
    if "profile" in values:
        values["profile"] = StoredProfile.model_validate(values["profile"])
    changed = part.model_copy()  # which copies the dict of its unknown keys
    if (extra := changed.model_extra) is not None:
        extra.clear()
    return changed.model_copy(update=values)
