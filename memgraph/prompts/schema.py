"""The shape of an answer, for models that can be held to one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, cast

from memgraph.models import CATEGORIES

JsonObject = dict[str, Any]

MAX_READ = 256_000
"""Characters of an answer that are read."""
MAX_OPENINGS = 100
"""Opening braces that are tried."""
MAX_REPAIRED = 32_000
"""Characters of a candidate that is repaired."""
MAX_REPAIR_DEPTH = 12
"""Nesting of a candidate that is repaired; an update has 3."""
MAX_REPAIRS = 3
"""Candidates that are repaired."""
MAX_REPAIR_COST = 2_000_000
"""Characters of a candidate times its misplaced quotes, which is how the time of a repair grows: about 0.2 s."""

_DECODER = json.JSONDecoder(strict=False)
_BRACE_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# a quote that neither opens a string, after one of {[,: nor closes one, before one of ]},:
_MISPLACED = {quotes: re.compile(rf"(?<![{{\[,:])(?<![{{\[,:]\s){quotes}(?!\s*[\]}},:])") for quotes in ('"', "[\"']")}
_OPENING = re.compile(r"\{(?=\s*[\"'A-Za-z_/])")


def find_object(text: str, wanted: Callable[[JsonObject], bool], hint: str) -> JsonObject | None:
    """Return the first JSON object in *text* that is *wanted*, repaired if need be.

    Args:
        text: Anything: prose, code fences, several objects, a truncated tail.
        wanted: Tells whether an object is the one.
        hint: A word the text of a wanted object holds; no opening after its last place is tried.

    Returns:
        The object, or None. Hostile text costs well under a second.
    """
    text = text[:MAX_READ]
    end = text.rfind(hint)
    openings = [match.start() for match in _OPENING.finditer(text, 0, max(end, 0))][:MAX_OPENINGS]
    for candidates in (_valid(text, openings), _repaired(text, openings)):
        for candidate in candidates:
            if wanted(candidate):
                return candidate
    return None


def _valid(text: str, openings: list[int]) -> Iterator[JsonObject]:
    """Objects that are valid JSON. What lies within one that was read is not tried again."""
    read_to = 0
    for opening in openings:
        if opening < read_to:
            continue
        try:
            found, read_to = _DECODER.raw_decode(text, opening)
        except (ValueError, RecursionError):
            continue
        yield cast("JsonObject", found)


def _repaired(text: str, openings: list[int]) -> Iterator[JsonObject]:
    """Objects that became valid by repair: trailing commas, single quotes, comments, a truncated tail."""
    import json_repair

    candidates = filter(_is_cheap, (_candidate(text, opening) for opening in openings))
    for candidate in islice(candidates, MAX_REPAIRS):
        try:
            found = json_repair.loads(candidate)
        except (ValueError, RecursionError):
            continue
        for item in cast("list[object]", found) if isinstance(found, list) else [found]:
            if isinstance(item, dict):
                yield cast("JsonObject", item)


def _is_cheap(candidate: str) -> bool:
    """Whether the library repairs *candidate* in fair time: it looks far ahead at every quote out of place."""
    single = candidate.find("'", 0, 100)
    quotes = "[\"']" if single >= 0 and '"' not in candidate[:single] else '"'
    misplaced = sum(1 for _ in _MISPLACED[quotes].finditer(candidate)) + candidate.count('\\"') // 8
    return bool(candidate) and misplaced * len(candidate) <= MAX_REPAIR_COST


def _candidate(text: str, opening: int) -> str:
    """The text from *opening* to where its braces close, or to the end; empty if it is too long or too deep."""
    depth = 0
    for token in _BRACE_OR_STRING.finditer(text, opening):
        brace = token.group()
        if token.start() - opening > MAX_REPAIRED or depth > MAX_REPAIR_DEPTH:
            return ""
        depth += 1 if brace in "{[" else -1 if brace in "}]" else 0
        if depth == 0:
            return text[opening : token.end()]
    return text[opening:] if len(text) - opening <= MAX_REPAIRED else ""


StructuredOutput = Literal["none", "json_schema", "function_calling"]
"""How the model is held to the answer's shape: by the prompt alone, a JSON schema, or a tool call."""


def _object(**properties: object) -> dict[str, Any]:
    """Say a strict object: every property is there, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_YES_NO = {"type": "boolean"}
_IDS = {"type": "array", "items": _TEXT}
_SECTION = _object(summary=_TEXT, shouldUpdate=_YES_NO)
_FACT = _object(
    content=_TEXT,
    category={"type": "string", "enum": list(CATEGORIES)},
    confidence={"type": "number"},
    sourceError={"type": ["string", "null"]},
    durable=_YES_NO,
    aboutUser=_YES_NO,
    replaces=_IDS,
)

ANSWER_SCHEMA: dict[str, Any] = {
    "title": "memory_update",
    "description": "What is new about the user.",
    **_object(
        user=_object(workContext=_SECTION, personalContext=_SECTION, topOfMind=_SECTION),
        history=_object(recentMonths=_SECTION, earlierContext=_SECTION, longTermBackground=_SECTION),
        newFacts={"type": "array", "items": _FACT},
        factsToRemove={"type": "array", "items": _object(id=_TEXT, reason=_TEXT)},
    ),
}
"""A JSON schema, strict enough for providers that ask for it."""
