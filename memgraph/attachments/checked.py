"""Configuration read into its class; what is wrong is named by its path, such as `memories[1].config.top_k`."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from memgraph._validation import describe_constraint, invalid_value, is_secret_key, unknown_key
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

_SIMPLE = re.compile(r"(?:bool|int|float|string|finite)_|(?:greater|less)_than")
"""Mistakes that a field's kind and range say all about."""


def validate_config(model: type[M], value: object, place: str) -> M:
    """Return *value* as a *model*.

    Raises:
        ConfigError: If it is none. It says what is wrong, where, and what is allowed.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        # of a union each part complains; the one that got furthest into the value knows best
        worst = max(error.errors(include_url=False), key=lambda found: len(found["loc"]))
        raise _explained(worst, model, place) from None  # what pydantic says may quote a secret


def _explained(error: ErrorDetails, model: type[BaseModel], place: str) -> ConfigError:
    path, parent, field = _walked(error["loc"], model, place)
    key = str(error["loc"][-1]) if error["loc"] else ""
    if error["type"] == "extra_forbidden":
        return unknown_key(key, f"{path}.{key}", parent.model_fields)
    if error["type"] == "missing":
        return ConfigError(f"{path} is missing{_described(field)}")
    value = "***" if is_secret_key(key) else error["input"]
    if error["type"] == "literal_error":
        return invalid_value(path, value, error.get("ctx", {})["expected"].replace("'", ""))
    if field and _SIMPLE.match(error["type"]):
        return invalid_value(path, value, describe_constraint(_undescribed(field)))
    if error["type"] == "value_error":
        return ConfigError(f"{path}: {error['msg'].removeprefix('Value error, ')}")
    return invalid_value(path, value, _wanted(error))


def _walked(
    loc: tuple[int | str, ...], model: type[BaseModel], place: str
) -> tuple[str, type[BaseModel], FieldInfo | None]:
    """Follow pydantic's path, less the parts that name a member of a union."""
    field: FieldInfo | None = None
    for step in loc:
        if isinstance(step, int):
            place = f"{place}[{step}]"
        elif step in model.model_fields:
            field, place = model.model_fields[step], f"{place}.{step}"
            model = next(_models(field.annotation), model)
        elif field is not None and not _is_member(step, field.annotation):
            place = f"{place}.{step}" if step != loc[-1] else place
    return place, model, field


def _models(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - a type form
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _is_member(step: str, annotation: Any) -> bool:  # noqa: ANN401 - a type form
    return any(model.__name__ == step for model in _models(annotation)) or "[" in step or step in {"str", "int"}


def _undescribed(field: FieldInfo) -> FieldInfo:
    """The field by its kind and range: its description says what it is for."""
    plain = copy.copy(field)
    plain.description = None
    return plain


def _described(field: FieldInfo | None) -> str:
    return f": {field.description.splitlines()[0]}" if field and field.description else ""


def _wanted(error: ErrorDetails) -> str:
    kinds: Mapping[str, str] = {
        "model_type": "keys and their values",
        "model_attributes_type": "keys and their values",
        "dict_type": "keys and their values",
        "mapping_type": "keys and their values",
        "tuple_type": "a list",
        "list_type": "a list",
        "too_short": "a list with at least one entry",
    }
    return kinds.get(error["type"], error["msg"])
