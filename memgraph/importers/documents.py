"""What an export is made of: files, and what is in them."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memgraph.errors import EditError

Item = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """A file of an export."""

    name: str
    """Where it was, with `/`; for the reader, and since some systems keep the user in it."""
    data: bytes

    def text(self) -> str:
        """Its text.

        Raises:
            EditError: If it is not UTF-8.
        """
        try:
            return self.data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise EditError(f"{self.name} is not UTF-8: byte {error.start:,}") from error

    def json(self) -> object:
        """What it holds: one JSON document, or a list of one a line.

        Raises:
            EditError: If it is neither.
        """
        text = self.text()
        try:
            return _loaded(text)
        except ValueError as error:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2:  # noqa: PLR2004 - one line is no list
                raise EditError(f"{self.name} is no JSON: {error}") from None
        try:
            return [_loaded(line) for line in lines]
        except ValueError as error:
            raise EditError(f"{self.name} is no JSON, nor JSON a line: {error}") from None


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def as_item(value: object) -> Item | None:
    """*value* as keys and values, if it is that."""
    return cast("Item", value) if isinstance(value, Mapping) else None


def items_of(documents: Sequence[ExportDocument], keys: Iterable[str], system: str) -> list[object]:
    """Return the items of an export that is a list, or has its list under one of *keys*.

    Raises:
        EditError: If a document is neither.
    """
    found = list[object]()
    for document in documents:
        value = document.json()
        if held := as_item(value):
            value = next((held[key] for key in keys if isinstance(held.get(key), list)), None)
        if not isinstance(value, list):
            raise EditError(f"{document.name} is no export of {system}: there is no list of memories in it")
        found += cast("list[object]", value)
    return found


def select_owner(owners: Iterable[str], of: str | None, system: str) -> str | None:
    """Return whose items are wanted, of all the *owners* there are; None is everybody's, where that is one.

    Raises:
        EditError: If there are several and none is named, or the one named is not among them.
    """
    there = sorted({*owners} - {""})
    if of is not None:
        if of not in there:
            raise EditError(f"there is nothing of {of!r} in this export of {system}; there is of {_listed(there)}")
        return of
    if len(there) > 1:
        raise EditError(f"this export of {system} holds memories of {_listed(there)}: say whose are wanted, by --of")
    return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:20])
    return f"{shown} and {len(names) - 20:,} more" if len(names) > 20 else shown or "nobody"  # noqa: PLR2004
