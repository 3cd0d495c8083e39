"""The documents of an export, the items in them, and the result of an import."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel, ConfigDict

from memgraph.errors import EditError
from memgraph.models import MemoryDocument, learned_source

Item = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """One file of an export."""

    name: str
    """The path in the export, with `/`. Some systems encode the user in it."""
    data: bytes

    def text(self) -> str:
        """Return the text, with Unix line ends.

        Raises:
            EditError: If it is not UTF-8.
        """
        try:
            return self.data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise EditError(f"{self.name} is not UTF-8: invalid byte at position {error.start:,}") from error

    def json(self) -> object:
        """Return the JSON value: of the whole text, or a list with one value per line.

        Raises:
            EditError: If it is neither.
        """
        text = self.text()
        try:
            return _load_json(text)
        except ValueError as error:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2:  # noqa: PLR2004 - JSON Lines need at least two lines
                raise EditError(f"{self.name} is not JSON: {error}") from None
        try:
            return [_load_json(line) for line in lines]
        except ValueError as error:
            raise EditError(f"{self.name} is neither JSON nor JSON Lines: {error}") from None


def _load_json(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def as_item(value: object) -> Item | None:
    """Return *value* if it is a mapping, else None."""
    return cast("Item", value) if isinstance(value, Mapping) else None


def thread_source(thread_id: object) -> str | None:
    """Return the source of facts of a thread or run, or None if it has no id."""
    return learned_source(str(thread_id)) if thread_id not in (None, "") else None


def exported_items(documents: Sequence[ExportDocument], keys: Iterable[str], system: str) -> list[object]:
    """Return the items of an export that is a list, or contains a list under one of *keys*.

    Raises:
        EditError: If a document is neither.
    """
    items = list[object]()
    for document in documents:
        value = document.json()
        if mapping := as_item(value):
            value = next((mapping[key] for key in keys if isinstance(mapping.get(key), list)), None)
        if not isinstance(value, list):
            raise EditError(f"{document.name} is not an export of {system}: it contains no list of memories")
        items += cast("list[object]", value)
    return items


def select_owner(owners: Iterable[str], selected: str | None, system: str) -> str | None:
    """Return the owner whose items to import; None for all, if all items have the same owner.

    Args:
        owners: The owner of each item; empty if unknown.
        selected: The owner to import; None if there should be only one.
        system: The name of the system in errors.

    Raises:
        EditError: If there are several owners and none is selected, or the selected one does not exist.
    """
    known = sorted({*owners} - {""})
    if selected is not None:
        if selected not in known:
            raise EditError(f"this export of {system} has no memories of {selected!r}, only of {_join_names(known)}")
        return selected
    if len(known) > 1:
        raise EditError(f"this export of {system} has memories of {_join_names(known)}: select one of them with --of")
    return None


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:20])
    return f"{shown} and {len(names) - 20:,} more" if len(names) > 20 else shown or "unknown owners"  # noqa: PLR2004


# -- the result -----------------------------------------------------------------------------------


class Note(BaseModel):
    """A remark about an item of an export."""

    model_config = ConfigDict(frozen=True)

    what: str
    why: str


class ImportReport(BaseModel):
    """What was imported, changed and skipped."""

    model_config = ConfigDict(frozen=True)

    facts: int = 0
    """Number of imported facts."""
    summaries: int = 0
    """Number of imported summaries."""
    changed: tuple[Note, ...] = ()
    """Items that were imported with changes."""
    left: tuple[Note, ...] = ()
    """Items that were skipped, and why."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The memory that an export contains."""

    memory: MemoryDocument
    report: ImportReport
