"""The JSON schema of an answer, for models with structured output."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from memgraph.models import CATEGORIES, SECTIONS

StructuredOutput = Literal["auto", "none", "json_schema", "function_calling"]
"""How the format of the answer is enforced: `auto` is a JSON schema unless the model refuses it, `none` the prompt
alone, `function_calling` a tool call."""

JsonSchema = dict[str, Any]
SchemaFactory = Callable[[bool], JsonSchema]
"""Makes the schema of an answer, whether or not it has to be strict."""

_TEXT: JsonSchema = {"type": "string"}
# the quote first: a small model that has copied the user's words invents less
_REQUIRED: JsonSchema = {"turn": {"type": "integer"}, "quote": _TEXT, "content": _TEXT}
_VALUE: JsonSchema = {
    "anyOf": [
        *({"type": name} for name in ("string", "number", "boolean", "null")),
        {"type": "array", "items": _TEXT},
    ]
}
"""A value of a profile; one of another shape is written as the text of its JSON."""
_OPTIONAL: JsonSchema = {
    "date": _TEXT,
    "until": _TEXT,
    "slot": _TEXT,
    "replaces": {"type": "array", "items": _TEXT},
    "sourceError": _TEXT,
    "confidence": {"type": "number"},
}


@lru_cache(maxsize=64)
def answer_schema(
    *,
    strict: bool,
    summaries: bool,
    categories: tuple[str, ...] = tuple(CATEGORIES),
    sections: tuple[str, ...] = tuple(SECTIONS),
    profile: tuple[str, ...] = (),
) -> JsonSchema:
    """Return the schema of an answer.

    Args:
        strict: As OpenAI's strict mode requires: every property is required, and null stands for none. Otherwise a
            property without a value is left out, which saves a local model a quarter of the tokens.
        summaries: Whether summaries are asked for.
        categories: The names of the categories of facts.
        sections: The names of the summaries.
        profile: The fields of the profile; none if there is no profile.
    """
    required = {**_REQUIRED, "category": {"type": "string", "enum": list(categories)}}
    new_facts = {"type": "array", "items": _object(required, _OPTIONAL, strict=strict)}
    rewritten = {"type": "array", "items": _object(_summary(sections), {}, strict=strict)}
    optional: JsonSchema = {"summaries": rewritten} if summaries else {}
    if profile:
        field: JsonSchema = {"field": {"type": "string", "enum": list(profile)}, "value": _VALUE, "quote": _TEXT}
        optional["profile"] = {"type": "array", "items": _object(field, {}, strict=strict)}
    return {
        "title": "memory_update",
        "description": "What is new about the user.",
        **_object({"newFacts": new_facts}, optional, strict=strict),
    }


def upkeep_schema(
    strict: bool,  # noqa: FBT001 - a SchemaFactory
    sections: tuple[str, ...] = tuple(SECTIONS),
) -> JsonSchema:
    """Return the schema of an answer to the upkeep; *sections* are the names of the summaries."""
    merge: JsonSchema = {"ids": {"type": "array", "items": _TEXT}, "content": _TEXT}
    rewritten = {"type": "array", "items": _object(_summary(sections), {}, strict=strict)}
    merges = {"type": "array", "items": _object(merge, {}, strict=strict)}
    return {
        "title": "memory_upkeep",
        "description": "Which facts are one, which no longer hold, and the summaries that change.",
        **_object({"merge": merges, "end": {"type": "array", "items": _TEXT}}, {"summaries": rewritten}, strict=strict),
    }


def _summary(sections: tuple[str, ...]) -> JsonSchema:
    return {"section": {"type": "string", "enum": [to_camel(name) for name in sections]}, "text": _TEXT}


def _object(required: JsonSchema, optional: JsonSchema, *, strict: bool) -> JsonSchema:
    if strict:
        optional = {name: _nullable(schema) for name, schema in optional.items()}
    return {
        "type": "object",
        "properties": required | optional,
        "required": [*required, *optional] if strict else list(required),
        "additionalProperties": False,
    }


def _nullable(schema: JsonSchema) -> JsonSchema:
    """Return *schema* with null as a further value; an empty array needs none."""
    return schema if schema["type"] == "array" else {**schema, "type": [schema["type"], "null"]}
