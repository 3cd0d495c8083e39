"""The context as a form: its JSON schema, how a submitted form is read, and the errors of an invalid one.

Clients such as Studio draw a form from the JSON schema, field by field, and display nested objects poorly: so the
fields of the policy are at the top level. Defaults are left out: a client would send them back, and so override what
the graph was configured with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from memgraph._validation import FieldError, field_errors, unknown_key
from memgraph.errors import ConfigError
from memgraph.policy import Policy

_SHOWN_CHARS = 40
_HIDDEN = frozenset({"storage"})  # its URL may hold a password


def flatten_schema(schema: dict[str, Any]) -> None:
    """Turn the JSON schema of a Context, in place, into one that a form can be drawn from."""
    fields = {name: field for name, field in schema["properties"].items() if name not in {"policy", "signals"}}
    limits = Policy.model_json_schema()["properties"]
    schema["properties"] = {name: _flatten_field(field) for name, field in {**fields, **limits}.items()}


def fold_policy_fields(form: Mapping[str, Any]) -> dict[str, Any]:
    """Read a submitted form: drop empty fields and collect the policy's fields in `policy`."""
    values = {name: value for name, value in form.items() if value is not None and value != ""}
    policy = values.get("policy", {})
    policy = policy.model_dump(exclude_unset=True) if isinstance(policy, Policy) else policy
    limits = {name: values.pop(name) for name in Policy.model_fields if name in values}
    if limits and isinstance(policy, Mapping):
        values["policy"] = {**policy, **limits}
    return values


def to_config_error(error: ValidationError, known: Iterable[str]) -> ConfigError:
    """Return one error that lists every invalid field; *known* are the valid field names."""
    known = sorted(known)
    problems: dict[str, str] = {}
    for found in field_errors(error):
        # the parts after the field's name are the members of its union
        depth = 2 if found.loc[:1] == ("policy",) else 1
        name = ".".join(map(str, found.loc[:depth])) or "what is given"
        problems.setdefault(name, _describe(name, found, known))
    return ConfigError(f"context: {'; '.join(problems.values())}")


def _describe(name: str, error: FieldError, known: Iterable[str]) -> str:
    if error.type == "extra_forbidden":
        quoted = name if name.isprintable() and len(name) <= _SHOWN_CHARS else repr(name[:_SHOWN_CHARS])
        return str(unknown_key(name.rpartition(".")[2], quoted, known))
    return f"{name} {error.message.replace('Input should', 'must')}{_actual_value(name, error.input)}"


def _actual_value(name: str, value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float) else ""
    return f", not {text}" if text and len(text) <= _SHOWN_CHARS and name not in _HIDDEN else ""


def _flatten_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the union with null by its other type: any field of a form may be left empty."""
    types = [schema for schema in field.get("anyOf", ()) if schema != {"type": "null"}]
    rest = {key: value for key, value in field.items() if key not in {"anyOf", "default"}}
    return {**types[0], **rest} if types else rest
