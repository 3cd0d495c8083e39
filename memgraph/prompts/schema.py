"""The JSON schema of an answer, for models with structured output."""

from __future__ import annotations

from typing import Any, Literal

from memgraph.models import CATEGORIES

StructuredOutput = Literal["none", "json_schema", "function_calling"]
"""How the format of the answer is enforced: by the prompt alone, a JSON schema, or a tool call."""


def _object(**properties: object) -> dict[str, Any]:
    """Return the schema of a strict object: all properties are required, no others are allowed."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_IDS = {"type": "array", "items": _TEXT}
_SECTION = _object(summary=_TEXT, shouldUpdate=_BOOLEAN)
_FACT = _object(
    content=_TEXT,
    category={"type": "string", "enum": list(CATEGORIES)},
    confidence={"type": "number"},
    sourceError={"type": ["string", "null"]},
    durable=_BOOLEAN,
    aboutUser=_BOOLEAN,
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
"""Strict, as some providers require."""
