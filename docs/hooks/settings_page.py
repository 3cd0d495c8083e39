"""Describes every setting on its page."""

from __future__ import annotations

import json
from collections.abc import Iterator

from markdown_table import escape

from memgraph.fields import FieldSpec
from memgraph.policy import Policy
from memgraph.settings import Settings


def render_settings() -> Iterator[str]:
    """Yield one section for each key: its meaning, its type or range, and its default."""
    specs = Settings.field_specs()
    yield from ("## Limits of an update", "", "A run on LangGraph Server may set these, too, by its context.", "")
    yield from (line for spec in specs if spec.name in Policy.model_fields for line in _render_setting(spec))
    yield from ("## Everything else", "")
    yield from (line for spec in specs if spec.name not in Policy.model_fields for line in _render_setting(spec))


def _render_setting(spec: FieldSpec) -> Iterator[str]:
    yield from (
        f"### `{spec.name}`",
        "",
        escape(spec.help),
        "",
        f"{_describe_type(spec)}. {_describe_default(spec)}.",
        "",
    )
    yield from (f"- `{choice.value}`: {escape(choice.summary)}" for choice in spec.choices if choice.summary)
    yield from (f"- `{field.name}` ({_describe_type(field).lower()}): {escape(field.help)}" for field in spec.fields)
    yield ""


def _describe_type(spec: FieldSpec) -> str:
    name = spec.type.capitalize()
    if spec.choices and spec.type != "object":
        return f"{name}, one of {', '.join(f'`{choice.value}`' for choice in spec.choices)}"
    if spec.minimum is not None and spec.maximum is not None and spec.type != "object":
        return f"{name} from {spec.minimum:,} to {spec.maximum:,}"
    return name


def _describe_default(spec: FieldSpec) -> str:
    if spec.default in (None, [], {}):
        return "Default: none"
    if spec.fields and isinstance(spec.default, list):
        names = (f"`{each['name']}`" for each in spec.default if isinstance(each, dict))
        return f"Default: those named {', '.join(names)}"
    return f"Default: `{spec.default if isinstance(spec.default, str) else json.dumps(spec.default)}`"
