"""The stored JSON of a revision, on one line and small.

What follows from the rest is left out: the id of an entry, which is its key, and of a changed entry what stayed the
same. Instead of `after` such a change has `changed`: the keys that differ from `before`; of a fact that became past,
from the fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from memgraph.models import Revision
from memgraph.storage.document import repair_surrogates

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
