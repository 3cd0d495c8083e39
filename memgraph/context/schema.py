"""The context as others fill it in: the form that clients draw, and what is said of a form that is filled in wrongly.

Clients such as Studio draw a form from the JSON schema, field by field, and show objects within it poorly: so the
numbers of the policy stand beside the other fields. No default is published: a client would send it back, and so
overrule what the graph was configured with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memgraph._validation import FieldError, field_errors, unknown_key
from memgraph.errors import ConfigError
from memgraph.policy import Policy

_SHOWN_CHARS = 40
_HIDDEN = frozenset({"storage"})  # its URL may hold a password


def flatten_schema(schema: dict[str, Any]) -> None:
    """Make the JSON schema of a Context one that a form can be drawn from."""
    fields = {name: field for name, field in schema["properties"].items() if name not in {"policy", "signals"}}
    limits = Policy.model_json_schema()["properties"]
    schema["properties"] = {name: _plain(field) for name, field in {**fields, **limits}.items()}


def fold_policy_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read a filled-in form: a field that was left empty is not said, and the policy's are put together."""
    said = {name: value for name, value in given.items() if value is not None and value != ""}
    policy = said.get("policy", {})
    policy = policy.model_dump(exclude_unset=True) if isinstance(policy, Policy) else policy
    limits = {name: said.pop(name) for name in Policy.model_fields if name in said}
    if limits and isinstance(policy, Mapping):
        said["policy"] = {**policy, **limits}
    return said


def to_config_error(error: ValidationError, known: frozenset[str]) -> ConfigError:
    """Say what is wrong, a sentence for all of it; *known* are the fields that there are."""
    problems: dict[str, str] = {}
    for found in field_errors(error):
        # the parts after the field's name are the members of its union
        depth = 2 if found.loc[:1] == ("policy",) else 1
        name = ".".join(map(str, found.loc[:depth])) or "what is given"
        problems.setdefault(name, _describe(name, found, known))
    return ConfigError(f"context: {'; '.join(problems.values())}")


def _describe(name: str, error: FieldError, known: frozenset[str]) -> str:
    if error.type == "extra_forbidden":
        quoted = name if name.isprintable() and len(name) <= _SHOWN_CHARS else repr(name[:_SHOWN_CHARS])
        return str(unknown_key(name.rpartition(".")[2], quoted, sorted(known)))
    return f"{name} {error.message.replace('Input should', 'must')}{_actual_value(name, error.input)}"


def _actual_value(name: str, value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float) else ""
    return f", not {text}" if text and len(text) <= _SHOWN_CHARS and name not in _HIDDEN else ""


def _plain(field: Mapping[str, Any]) -> dict[str, Any]:
    """Say a field by its one type, since every field may be left empty."""
    types = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    kept = {key: value for key, value in field.items() if key not in {"anyOf", "default"}}
    return {**types[0], **kept} if types else kept
