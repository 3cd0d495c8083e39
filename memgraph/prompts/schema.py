"""The JSON schema of an answer, for models with structured output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from memgraph.policy import Policy

StructuredOutput = Literal["auto", "none", "json_schema", "function_calling"]
"""How the format of the answer is enforced: `auto` is a JSON schema unless the model refuses it, `none` the prompt
alone, `function_calling` a tool call."""

JsonSchema = dict[str, Any]
SchemaFactory = Callable[[bool], JsonSchema]
"""Makes the schema of an answer, whether or not it has to be strict."""

_TEXT: JsonSchema = {"type": "string"}
_TEXTS: JsonSchema = {"type": "array", "items": _TEXT}
# the quote first: a small model that has copied the user's words invents less
_REQUIRED: JsonSchema = {"turn": {"type": "integer"}, "quote": _TEXT, "content": _TEXT}
_VALUE: JsonSchema = {"anyOf": [*({"type": name} for name in ("string", "number", "boolean", "null")), _TEXTS]}
"""A value of a profile; one of another shape is written as the text of its JSON."""
_OPTIONAL: JsonSchema = {
    "date": _TEXT,
    "until": _TEXT,
    "slot": _TEXT,
    "replaces": _TEXTS,
    "sourceError": _TEXT,
    "confidence": {"type": "number"},
}


def answer_schema(policy: Policy, strict: bool) -> JsonSchema:  # noqa: FBT001 - a SchemaFactory
    """Return the schema of an answer with what *policy* asks for.

    *strict* is as OpenAI's strict mode requires: every property is required, and null stands for none. Otherwise a
    property without a value is left out, which saves a local model a quarter of the tokens.
    """
    required = {**_REQUIRED, "category": {"type": "string", "enum": list(policy.category_names)}}
    optional = {"summaries": _summaries(policy, strict=strict)} if policy.summaries == "update" else {}
    if policy.profile:
        names = list(policy.profile.model_fields)
        field: JsonSchema = {"field": {"type": "string", "enum": names}, "value": _VALUE, "quote": _TEXT}
        optional["profile"] = _array(field, {}, strict=strict)
    return {
        "title": "memory_update",
        "description": "What is new about the user.",
        **json_object({"newFacts": _array(required, _OPTIONAL, strict=strict)}, optional, strict=strict),
    }


def upkeep_schema(policy: Policy, strict: bool) -> JsonSchema:  # noqa: FBT001 - a SchemaFactory
    """Return the schema of an answer to the upkeep."""
    merges = _array({"ids": _TEXTS, "content": _TEXT}, {}, strict=strict)
    summaries = {"summaries": _summaries(policy, strict=strict)}
    return {
        "title": "memory_upkeep",
        "description": "Which facts are one, which no longer hold, and the summaries that change.",
        **json_object({"merge": merges, "end": _TEXTS}, summaries, strict=strict),
    }


def _summaries(policy: Policy, *, strict: bool) -> JsonSchema:
    names = [section.name for section in policy.sections]
    return _array({"section": {"type": "string", "enum": names}, "text": _TEXT}, {}, strict=strict)


def _array(required: JsonSchema, optional: JsonSchema, *, strict: bool) -> JsonSchema:
    return {"type": "array", "items": json_object(required, optional, strict=strict)}


def json_object(required: JsonSchema, optional: JsonSchema, *, strict: bool) -> JsonSchema:
    """Return the schema of an object with these properties and no others."""
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
