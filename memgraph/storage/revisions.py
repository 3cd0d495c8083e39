"""Revisions in a storage: who makes the next one, which are evicted, and their JSON, on one line and small."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from memgraph.history.diff import changes_between
from memgraph.models import ChangeOrigin, MemoryDocument, Revision, timestamp
from memgraph.policy import Policy
from memgraph.storage.document import is_tombstone, repair_surrogates

EVICTED_AT_ONCE = 20
"""A file loses one of so many of the allowed revisions more than it must, so that it is rarely rewritten."""


class RevisionOptions(NamedTuple):
    """How saves are recorded."""

    origin: ChangeOrigin
    policy: Policy
    """Its limits of the history."""


_DEFAULT = RevisionOptions(ChangeOrigin(), Policy())
# a context variable, so that `save` needs no argument for it: storages of other packages, and those that wrap one, work
_recording: ContextVar[RevisionOptions | None] = ContextVar("memgraph_recording", default=None)


@contextmanager
def recorded_as(origin: ChangeOrigin, policy: Policy) -> Generator[None]:
    """Record the saves of this block as changes of *origin*. Outside of one, a save counts as a person's."""
    token = _recording.set(RevisionOptions(origin, policy))
    try:
        yield
    finally:
        _recording.reset(token)


def current_recording() -> RevisionOptions:
    """Return how a save is recorded now."""
    return _recording.get() or _DEFAULT


def next_entry(before: MemoryDocument, stored: MemoryDocument, origin: ChangeOrigin | None = None) -> Revision:
    """Return the revision that *stored* is: what it changes of *before*, and who changed it, as it is recorded now.

    The deletion of a memory has no changes: nothing of it may remain.
    """
    at = timestamp(datetime.now(UTC))
    if is_tombstone(stored):
        return Revision(revision=stored.revision, at=at, by="delete")
    author = (origin or current_recording().origin).model_dump()
    return Revision(revision=stored.revision, at=at, **author, changes=changes_between(before, stored))


class Horizon(NamedTuple):
    """The end of the history: what is older is evicted."""

    revision: int
    """The highest revision that is evicted."""
    at: str
    """The earliest time that is kept."""

    def excludes(self, revision: int, at: str) -> bool:
        """Whether the revision of that number and time is evicted."""
        return revision <= self.revision or "" < at < self.at


def horizon(policy: Policy, newest: int, *, evicted_at_once: int = 0) -> Horizon:
    """Return where the history ends that *policy* allows.

    Args:
        policy: Its `max_revisions` and `history_days` count.
        newest: The number of the newest revision.
        evicted_at_once: Evict one of so many more; 0 evicts no more than it must.
    """
    count, days = policy.max_revisions, timedelta(days=policy.history_days)
    if evicted_at_once:
        count -= count // evicted_at_once
        days -= days / evicted_at_once
    return Horizon(newest - count, timestamp(datetime.now(UTC) - days))


# -- the JSON ---------------------------------------------------------------------------------------
# What follows from the rest is left out: the id of an entry, which is its key, and of a changed entry what stayed the
# same. Instead of `after` such a change has `changed`: the keys that differ from `before`; of a fact that became past,
# from the fact.

JsonObject = dict[str, object]

_WITH_ID = ("facts", "past", "asSaid", "quarantine")
_LISTS = (*_WITH_ID, "sections")
_SIDES = ("before", "after")


class _Change(NamedTuple):
    """A change of an entry in the JSON of a revision."""

    list_name: str
    json: JsonObject
    base: object
    """What its `after` is stored as a difference from; None if there is none."""


def encode_revision(revision: Revision) -> str:
    """Return *revision* as JSON on one line, in camelCase, its number and its time first."""
    document: object = revision.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for change in _changes(document):
        _omit_unchanged(change)
    for change in _changes(document):
        _omit_ids(change)
    try:
        return to_json(document).decode()
    except PydanticSerializationError:
        return to_json(repair_surrogates(document)).decode()


def decode_revision(data: bytes | str) -> Revision | None:
    """Parse a revision, also one with nothing left out; None if *data* is not one."""
    try:
        document: object = from_json(data)
        for change in _changes(document):
            _restore_ids(change)
        for change in _changes(document):
            _restore_unchanged(change)
        return Revision.model_validate(document)
    except ValueError:  # which a ValidationError is, too
        return None


def _changes(document: object) -> Iterator[_Change]:
    changes = _object(_object(document).get("changes"))
    facts = {str(change.get("key")): change.get("before") for change in _objects(changes.get("facts"))}
    for name in _LISTS:
        for change in _objects(changes.get(name)):
            became_past = name == "past" and change.get("before") is None
            yield _Change(name, change, facts.get(str(change.get("key"))) if became_past else change.get("before"))


def _omit_unchanged(change: _Change) -> None:
    base, after = change.base, change.json.get("after")
    if isinstance(base, dict) and isinstance(after, dict) and base.keys() <= after.keys():
        del change.json["after"]
        missing = object()
        known, items = cast("JsonObject", base), cast("JsonObject", after).items()
        change.json["changed"] = {key: value for key, value in items if known.get(key, missing) != value}


def _restore_unchanged(change: _Change) -> None:
    changed = change.json.pop("changed", None)
    if isinstance(changed, dict):
        change.json["after"] = _object(change.base) | cast("JsonObject", changed)


def _omit_ids(change: _Change) -> None:
    for entry in _entries(change):
        if entry.get("id") == change.json.get("key"):
            del entry["id"]
        else:
            entry.setdefault("id", "")  # the default is left out, too


def _restore_ids(change: _Change) -> None:
    for entry in _entries(change):
        entry.setdefault("id", change.json.get("key"))


def _entries(change: _Change) -> list[JsonObject]:
    """Return the entry before and after, as far as they have an id."""
    return _objects([change.json.get(side) for side in _SIDES]) if change.list_name in _WITH_ID else []


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[JsonObject]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]
