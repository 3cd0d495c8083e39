"""Describes every route of the OpenAPI document, and every object in it, on their page."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import griffe
from markdown_table import escape, table
from pydantic import BaseModel

from memgraph import Settings, create_app
from memgraph.api.openapi import COMMON_PROBLEMS, PREFIX

Schema = Mapping[str, Any]


def render_routes() -> Iterator[str]:
    """Yield a section for each route of the OpenAPI document, under its tag, then one for each object."""
    document = json.loads(json.dumps(create_app(Settings()).openapi()).replace(f"/schemas/{PREFIX}", "/schemas/"))
    common = {str(status) for status in COMMON_PROBLEMS}
    routes = [
        (method.upper(), path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    for tag in dict.fromkeys(operation["tags"][0] for _, _, operation in routes):
        yield from (f"## {tag.capitalize()}", "")
        for method, path, operation in routes:
            if operation["tags"][0] == tag:
                yield from (f"### `{method} {path}`", "", *_render_operation(operation, common))
    yield from ("## Objects", "")
    models = {model.__name__: model for model in _subclasses(BaseModel)}
    for full_name, schema in sorted(document["components"]["schemas"].items()):
        name = full_name.removeprefix(PREFIX)
        yield from (f"### `{name}` {{#{_anchor(name)}}}", "", escape(schema.get("description", "")), "")
        yield from _field_table(schema, _field_docstrings(models[name]) if name in models else {})


def _render_operation(operation: Schema, common: Collection[str]) -> Iterator[str]:
    yield from (escape(operation.get("description") or operation["summary"]), "")
    if parameters := operation.get("parameters", ()):
        rows = (
            (f"`{each['name']}`", each["in"], _describe_schema(each["schema"]), escape(each.get("description", "")))
            for each in parameters
        )
        yield from table("parameter | in | type | meaning", rows)
    if body := operation.get("requestBody"):
        kinds = dict.fromkeys(_describe_schema(content["schema"]) for content in body["content"].values())
        yield from (f"**Body:** {' or '.join(kinds)}. {escape(body.get('description', ''))}".strip(), "")
    responses = operation["responses"].items()
    yield from (
        ", ".join(_describe_response(*each) for each in responses if each[0] not in common).join(
            ["**Returns:** ", "."]
        ),
        "",
    )


def _describe_response(status: str, response: Schema) -> str:
    kinds = [
        _describe_schema(content["schema"]) for content in response.get("content", {}).values() if "schema" in content
    ]
    is_success = status.startswith("2")
    return (
        f"{status} {' or '.join(dict.fromkeys(kinds))}".strip()
        if is_success
        else f"{status} ({response['description'].rstrip('.')})"
    )


def _field_table(schema: Schema, docstrings: Mapping[str, str]) -> Iterator[str]:
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", _describe_schema(field), f"{'Required. ' if name in required else ''}{escape(meaning)}")
        for name, field in schema.get("properties", {}).items()
        for meaning in [field.get("description") or docstrings.get(name, "")]
    )
    yield from table("field | type | meaning", rows)


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models of the package; no two have the same name."""
    for each in model.__subclasses__():
        if each.__module__.startswith("memgraph."):
            yield each
        yield from _subclasses(each)


def _field_docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring below each field, by its name in JSON."""
    try:
        members = _package()[f"{model.__module__}.{model.__qualname__}".removeprefix("memgraph.")].all_members
    except KeyError:  # it is made at run time, and its schema has the descriptions
        return {}
    found = {name: members[name].docstring for name in model.model_fields if name in members}
    names = {name: field.serialization_alias or name for name, field in model.model_fields.items()}
    return {names[name]: " ".join(docstring.value.split()) for name, docstring in found.items() if docstring}


@cache
def _package() -> griffe.Object | griffe.Alias:
    return griffe.load("memgraph")


def _describe_schema(schema: Schema) -> str:
    """Describe a JSON schema in a few words, with links to the objects in it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{_anchor(name)})"
    if members := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(filter(None, map(_describe_schema, members))))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_describe_schema(schema.get('items', {})) or 'any'}"
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = f" from {_number(low)} to {_number(high)}" if low is not None and high is not None else ""
    return "" if kind == "null" else f"{kind}{limits}"


def _number(value: float) -> str:
    return f"{int(value) if value == int(value) else value:,}"


def _anchor(name: str) -> str:
    return f"object-{name.lower()}"
