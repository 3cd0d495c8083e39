"""Slots: what a person has one of at a time, such as a home. A model names the slot of a fact; the names are data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter

from memgraph.analysis.words import PATTERNS, read_pattern_files
from memgraph.errors import ConfigError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Slot(BaseModel):
    """One slot: `patterns/slots/slots.yaml` explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    aliases: list[str] = []
    in_prompt: bool = False
    several: bool = False
    touches: list[str] = []


def _check_names(slots: dict[str, Slot]) -> dict[str, Slot]:
    if bad := next((name for name in slots if not _NAME.fullmatch(name)), ""):
        raise ValueError(f"{bad!r} is not a name of a slot: small letters, digits and _, at most 40")
    return slots


_FILE: TypeAdapter[dict[str, Slot]] = TypeAdapter(Annotated[dict[str, Slot], AfterValidator(_check_names)])
"""The slots of one file by their names."""


class Slots:
    """A table of slots.

    Args:
        slots: The slots by their names.
    """

    def __init__(self, slots: Mapping[str, Slot]) -> None:
        self.single_valued = frozenset(name for name, slot in slots.items() if not slot.several)
        """Names of the slots with one value at a time."""
        self.prompted = tuple(name for name, slot in slots.items() if slot.in_prompt)
        """Names of those that the prompt offers to the model, in the order of the table."""
        aliases = {_spelled(alias): name for name, slot in slots.items() for alias in slot.aliases}
        self._names = aliases | {name: name for name in slots}
        self._touched = {name: frozenset(slot.touches) for name, slot in slots.items()}

    def normalize(self, slot: str | None) -> str | None:
        """Return the name in the table of what a model calls *slot*; None if it has no such slot."""
        return self._names.get(_spelled(slot or ""))

    def touch(self, one: str | None, other: str | None) -> bool:
        """Return whether a change of slot *one* may end what fills *other*: without a role there is no employer."""
        return one is not None and (one == other or other in self._touched[one])


def _spelled(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


@cache
def packaged_slots() -> Slots:
    """Return the table of the package."""
    return Slots(_read(PATTERNS / "slots"))


def load_slots(folder: Path | None = None) -> Slots:
    """Return the packaged table; the slots in the YAML files of *folder* are added, or replace those of their names.

    Raises:
        ConfigError: If the folder or a file cannot be read, or has not the shape of
            `memgraph/analysis/patterns/slots/slots.yaml`.
    """
    if folder is None:
        return packaged_slots()
    if not folder.is_dir():
        raise ConfigError(f"slots folder {folder} does not exist")
    return Slots(_read(PATTERNS / "slots") | _read(folder))


def _read(folder: Path) -> dict[str, Slot]:
    return {name: slot for file in read_pattern_files(folder, _FILE).values() for name, slot in file.items()}
