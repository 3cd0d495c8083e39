"""Cues: patterns that show that words of a message are from another source, by language.

They are data: `patterns/provenance/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from memgraph.text.words import groups_of

Origin = Literal["quoted", "relayed", "recalled"]


@cache
def cues(origin: Origin, kind: str) -> re.Pattern[str]:
    """Return the cues of one kind in all languages as one pattern."""
    patterns = [
        _with_fragments(line.strip(), file["fragments"])
        for file in groups_of("provenance")
        for line in file[origin].get(kind, "").splitlines()
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
    return frozenset(word for file in groups_of("provenance") for word in file["quoted"].get("assistants", "").split())


@cache
def not_names() -> frozenset[str]:
    """Return what precedes a colon in lists of the user's own, such as "diet"."""
    return frozenset(word for file in groups_of("provenance") for word in file["quoted"].get("not_names", "").split())
