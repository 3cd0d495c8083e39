"""Words that announce a change in the life of the user. They are data: `patterns/changes/en.yaml`."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.text.normalize import fold
from memgraph.text.pattern_files import PATTERNS, read_pattern_files

READ_CHARS = 2_000
"""Characters of a text that are searched."""

ChangeKind = Literal["ends", "begins"]
"""The meaning of a change word: something has ended, or something holds since lately."""


class ChangeWords(BaseModel):
    """The change words of one language: patterns, one a line."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    ends: str
    begins: str
    light: str


def find_change(text: str) -> ChangeKind | None:
    """Return the kind of the change words in *text*; None without one. `ends` is the stronger kind."""
    folded = fold(text[:READ_CHARS])
    kinds: tuple[ChangeKind, ...] = ("ends", "begins")
    return next((kind for kind in kinds if _pattern(kind).search(folded)), None)


@cache
def light_words() -> frozenset[str]:
    """Return the words that do not name what a sentence is about."""
    return frozenset(term for file in _files() for term in file.light.split())


@cache
def _files() -> tuple[ChangeWords, ...]:
    return tuple(read_pattern_files(PATTERNS / "changes", ChangeWords).values())


@cache
def _pattern(kind: ChangeKind) -> re.Pattern[str]:
    """Return the words of one kind in all languages as one pattern."""
    lines = [line.strip() for file in _files() for line in str(getattr(file, kind)).splitlines() if line.strip()]
    return re.compile("|".join(f"(?:{line})" for line in lines))
