"""Cues: patterns that show that words of a message are from another source, by language.

They are data: `patterns/provenance/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.text.words import PATTERNS, read_pattern_files


class CueGroup(BaseModel):
    """The cues of one origin in one language, as `en.yaml` explains them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    headers: str = ""
    greetings: str = ""
    signoffs: str = ""
    introductions: str = ""
    endings: str = ""
    lines: str = ""
    messages: str = ""
    not_names: str = ""
    assistants: str = ""
    before: str = ""
    after: str = ""
    colon: str = ""
    own: str = ""
    page: str = ""
    references: str = ""
    questions: str = ""
    third_person: str = ""


class CueFile(BaseModel):
    """The cues of one language."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    fragments: dict[str, str]
    quoted: CueGroup
    relayed: CueGroup
    recalled: CueGroup


@cache
def _files() -> tuple[CueFile, ...]:
    return tuple(read_pattern_files(PATTERNS / "provenance", CueFile).values())


@cache
def cues(origin: Literal["quoted", "relayed", "recalled"], kind: str) -> re.Pattern[str]:
    """Return the cues of one kind in all languages as one pattern."""
    patterns = [
        _with_fragments(line.strip(), file.fragments)
        for file in _files()
        for line in str(getattr(getattr(file, origin), kind)).splitlines()
        if line.strip()
    ]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.MULTILINE)


def _with_fragments(pattern: str, fragments: Mapping[str, str]) -> str:
    """Replace the names of fragments, also within fragments, by what they stand for."""
    for _ in range(2):
        for name, fragment in fragments.items():
            pattern = pattern.replace(f"{{{name}}}", fragment.replace(" |", "|").replace("\n", ""))
    return pattern


@cache
def assistants() -> frozenset[str]:
    """Return the names of assistants in chat logs."""
    return frozenset(word for file in _files() for word in file.quoted.assistants.split())


@cache
def not_names() -> frozenset[str]:
    """Return what precedes a colon in lists of the user's own, such as "diet"."""
    return frozenset(word for file in _files() for word in file.quoted.not_names.split())
