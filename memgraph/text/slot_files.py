"""Slot files: the slots of one language as data, those of the package and a user's own.

`patterns/slots/en.yaml` explains the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memgraph.errors import ConfigError
from memgraph.text.pattern_files import PATTERNS, read_pattern_files

_SLOT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LINE_BREAK = re.compile(r"\| (?=\w)")
"""A bar at the end of a line of a folded YAML text."""
_GROUP = re.compile(r"\(\?P<([xk])>")
_FRAGMENT_DEPTH = 3
"""Fragments may contain fragments, which may contain fragments."""


class SlotPart(BaseModel):
    """One slot in one file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    replace: bool = False
    aliases: str = ""
    ranks: str = ""
    several: bool = False
    in_prompt: bool = False
    refused: str = Field(default="", alias="not")
    patterns: str = ""

    def merge(self, packaged: SlotPart | None) -> Self:
        """Return this on top of *packaged*."""
        if packaged is None or self.replace:
            return self
        joined = {
            "aliases": ", ".join(filter(None, (packaged.aliases, self.aliases))),
            "ranks": f"{packaged.ranks} {self.ranks}",
            "refused": f"{packaged.refused} {self.refused}",
            "patterns": f"{packaged.patterns}\n{self.patterns}",
        }
        return self.model_copy(update=joined)


class SlotFile(BaseModel):
    """One file: the slots of one language, and how its sentences begin and go on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    subjects: str = ""
    adverbs: str = ""
    opening: str = ""
    follows: str = ""
    ended: str = ""
    others: str = ""
    unless: str = ""
    fragments: dict[str, str] = {}
    slots: dict[str, SlotPart] = {}

    @field_validator("slots")
    @classmethod
    def _check_names(cls, slots: dict[str, SlotPart]) -> dict[str, SlotPart]:
        if bad := [name for name in slots if not _SLOT_NAME.fullmatch(name)]:
            raise ValueError(f"{bad[0]!r} is not a name of a slot: small letters, digits and _, at most 40")
        return slots

    def merge(self, packaged: SlotFile | None) -> SlotFile:
        """Return this on top of *packaged*."""
        if packaged is None:
            return self
        own = {name: text for name, text in self if isinstance(text, str) and text}
        slots = {name: part.merge(packaged.slots.get(name)) for name, part in self.slots.items()}
        merged = {"fragments": packaged.fragments | self.fragments, "slots": packaged.slots | slots}
        return packaged.model_copy(update=own | merged)

    def compile(self, pattern: str) -> re.Pattern[str]:
        """Compile *pattern*, which may name fragments.

        Raises:
            ConfigError: If it does not compile.
        """
        try:
            return re.compile(_LINE_BREAK.sub("|", self._filled(pattern)), re.IGNORECASE | re.DOTALL)
        except re.error as error:
            raise ConfigError(f"slots: {pattern[:200]!r} is not a regular expression: {error}") from error

    def compile_slot(self, name: str) -> re.Pattern[str] | None:
        """Compile the patterns of the slot *name* as one, with what may follow the value; None if it has none.

        The groups of the first are x0 and k0, those of the second x1 and k1, and so on.
        """
        lines = self._lines(name)
        if not lines:
            return None
        numbered = (_GROUP.sub(rf"(?P<\g<1>{number}>", self._filled(line)) for number, line in enumerate(lines))
        return self.compile(rf"(?:{'|'.join(numbered)})(?:{self.follows})?")

    def _lines(self, name: str) -> list[str]:
        return [line.strip() for line in self.slots[name].patterns.splitlines() if line.strip()]

    def _filled(self, pattern: str) -> str:
        for _ in range(_FRAGMENT_DEPTH):
            for name, fragment in self.fragments.items():
                pattern = pattern.replace(f"<{name}>", fragment)
        return pattern


@cache
def packaged_files() -> Mapping[str, SlotFile]:
    """Return the packaged files by language."""
    return read_pattern_files(PATTERNS / "slots", SlotFile)


def slot_files(folder: Path | None = None) -> Mapping[str, SlotFile]:
    """Return the packaged files with those of *folder* on top, by language.

    Raises:
        ConfigError: If the folder does not exist, or a file in it is invalid.
    """
    packaged = packaged_files()
    if folder is None:
        return packaged
    if not folder.is_dir():
        raise ConfigError(f"slots folder {folder} does not exist")
    files = read_pattern_files(folder, SlotFile)
    own = {language: file.merge(packaged.get(language)) for language, file in files.items()}
    for file in own.values():
        for name in file.slots:
            file.compile_slot(name)
    return {**packaged, **own}
