"""A profile: a pydantic model that updates fill, field by field, with what the user said about themselves.

Its values are stored as plain JSON, so that a document does not depend on the model: a version without it, or with
other fields, keeps them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, PlainSerializer, ValidationError, WithJsonSchema
from pydantic.errors import PydanticInvalidForJsonSchema

MAX_FIELDS = 40
"""Maximum fields of a profile: each costs tokens in every update."""
MAX_DESCRIPTION_CHARS = 200
"""Characters of a description that the model reads."""

_FIELD = re.compile("[A-Za-z][A-Za-z0-9_]{0,39}")
Schema = TypeVar("Schema", bound=BaseModel)


def check_profile(schema: type[BaseModel] | None) -> type[BaseModel] | None:
    """Return *schema* if a profile can have it.

    Raises:
        ValueError: If it has no fields or too many, or cannot be filled from JSON.
    """
    if schema is None:
        return None
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"the schema of a profile is a pydantic model, not {schema!r:.80}")  # noqa: TRY004 - as below
    fields = schema.model_fields
    if not 1 <= len(fields) <= MAX_FIELDS:
        raise ValueError(f"{schema.__name__} has {len(fields)} fields; a profile has 1 to {MAX_FIELDS}")
    if wrong := next((name for name in fields if not _FIELD.fullmatch(name)), None):
        raise ValueError(f"{schema.__name__}.{wrong}: a name has at most 40 letters, digits and _, a letter first")
    try:
        schema.model_json_schema()
    except PydanticInvalidForJsonSchema as error:
        raise ValueError(f"{schema.__name__} cannot be filled from JSON: {error}") from error
    return schema


def _path_of(schema: type[BaseModel] | None) -> str | None:
    return f"{schema.__module__}:{schema.__qualname__}" if schema else None


ProfileSchema = Annotated[
    type[BaseModel] | None,
    AfterValidator(check_profile),
    PlainSerializer(_path_of, when_used="json"),
    WithJsonSchema({"type": "null"}),
]
"""The pydantic model of a profile; None if there is none."""


def describe_profile(schema: type[BaseModel]) -> tuple[str, ...]:
    """Return a text for each field, for the model: `diet (string; what the user eats)`."""
    document = schema.model_json_schema(by_alias=False)
    properties = cast("dict[str, Mapping[str, Any]]", document.get("properties", {}))
    return tuple(_describe_field(name, properties[name], document) for name in schema.model_fields)


def _describe_field(name: str, field: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    description = " ".join(str(field.get("description", "")).split())[:MAX_DESCRIPTION_CHARS]
    return f"{name} ({'; '.join(filter(None, (_describe_type(field, document), description)))})"


def _describe_type(field: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if reference := field.get("$ref"):
        return _describe_type(document["$defs"][str(reference).rpartition("/")[2]], document)
    if choices := field.get("enum", [field["const"]] if "const" in field else None):
        return " | ".join(map(str, choices))
    if members := field.get("anyOf"):
        return " or ".join(_describe_type(member, document) for member in members if member.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_describe_type(field.get('items', {}), document)}"
    return str(field.get("type", "any"))


def is_choice(schema: type[BaseModel], field: str) -> bool:
    """Return whether *field* has one of some values, which the words of the user only imply."""
    parts = [schema.model_fields[field].annotation]
    for part in parts:
        parts += [] if get_origin(part) is Literal else get_args(part)
    return any(part is bool or get_origin(part) is Literal or hasattr(part, "__members__") for part in parts)


class PatchedProfile(NamedTuple):
    """The values after a patch, and what of it was refused."""

    values: Mapping[str, object]
    refused: Mapping[str, str]
    """The reason by field."""


def patch_profile(schema: type[BaseModel], values: Mapping[str, object], patch: Mapping[str, object]) -> PatchedProfile:
    """Return *values* with those of *patch* that are valid.

    A field that the model refuses is left out. If the whole is invalid because of how fields fit together, nothing
    changes. A field that is required may be missing still, and a stored value that is no longer valid stays.

    Args:
        schema: The model.
        values: What is known, also fields that the model does not have.
        patch: New values by field, as JSON; a text may be the JSON of a value.
    """
    left, refused = dict(patch), dict[str, str]()
    while left:
        errors = _errors(schema, {**values, **left})
        wrong = {field: reason for field, reason in errors.items() if field in left}
        if not wrong:
            if reason := errors.get(""):
                return PatchedProfile(values, refused | dict.fromkeys(left, f"the profile would be invalid: {reason}"))
            break
        for field, reason in wrong.items():
            value = left.pop(field)
            decoded = _decode(value)
            if decoded is not value and not _errors(schema, {field: decoded}).get(field):
                left[field] = decoded
            else:
                refused[field] = reason
    return PatchedProfile({**values, **_normalize(schema, values, left)}, refused)


def read_profile(schema: type[Schema], values: Mapping[str, object]) -> Schema | None:
    """Return *values* as a *schema*; None if there are none, or they are not valid, as without a required field."""
    known = {name: value for name, value in values.items() if name in schema.model_fields}
    try:
        return schema.model_validate(known, by_name=True, by_alias=False) if known else None
    except ValidationError:
        return None


def render_value(value: object) -> str:
    """Return a value as text: a text as it is, several joined by commas, anything else as JSON."""
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return ", ".join(cast("list[str]", value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _errors(schema: type[BaseModel], values: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong by field, "" for the whole; a required field may be missing."""
    known = {name: value for name, value in values.items() if name in schema.model_fields}
    try:
        schema.model_validate(known, by_name=True, by_alias=False)
    except ValidationError as error:
        found = [item for item in error.errors() if item["type"] != "missing" or len(item["loc"]) > 1]
        return {str(item["loc"][0]) if item["loc"] else "": item["msg"] for item in reversed(found)}
    return {}


def _decode(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _normalize(
    schema: type[BaseModel], values: Mapping[str, object], patch: Mapping[str, object]
) -> Mapping[str, object]:
    """Return *patch* as the model writes it, if it is complete."""
    whole = read_profile(schema, {**values, **patch})
    return whole.model_dump(mode="json", include=set(patch)) if whole is not None else patch
