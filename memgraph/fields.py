"""Field descriptions of configuration classes, from which forms and templates are generated."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from annotated_types import Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, SecretStr, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, PydanticUseDefault, to_jsonable_python

from memgraph._validation import least_of, parts_of, union_members

TYPES: Mapping[object, str] = {bool: "boolean", int: "integer", float: "number", tuple: "array", list: "array"}
"""The names of types in JSON Schema."""


class ChoiceLabels:
    """The meaning of each choice of a field: `Annotated[Literal["a", "b"], ChoiceLabels(a="...", b="...")]`."""

    def __init__(self, **labels: str) -> None:
        self.labels: Mapping[str, str] = labels


class Choice(BaseModel):
    """One of the values that a field may have."""

    model_config = ConfigDict(frozen=True)

    value: str
    summary: str = ""


class FieldSpec(BaseModel):
    """The description of one field."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    """`boolean`, `integer`, `number`, `string`, `array` or `object`, or several of them joined by ` or `."""
    default: JsonValue = None
    required: bool = False
    choices: tuple[Choice, ...] = ()
    help: str = ""
    minimum: int | float | None = None
    maximum: int | float | None = None
    is_secret: bool = False
    """Whether a form must hide the value."""
    fields: tuple[FieldSpec, ...] = ()
    """The fields of the object, or of each object in the array."""


class FieldSpecMixin:
    """Mixin for configuration classes that describe their fields."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """Describe every field, in the order of definition."""
        return describe_fields(cast("type[BaseModel]", cls))


def _read_none_as_default(value: object) -> object:
    if value is None:
        raise PydanticUseDefault
    return value


NONE_IS_DEFAULT = BeforeValidator(_read_none_as_default)
"""Reads a key without a value, which is None in YAML, as the default of the field."""


class NoBooleanNumbers(BaseModel):
    """A base class of configurations in which True is not a number, although Python reads it as 1."""

    @field_validator("*", mode="before")
    @classmethod
    def _reject_booleans(cls, value: object, info: ValidationInfo) -> object:
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and bool not in (kind, *get_args(kind)):
            raise ValueError("a boolean is neither a number nor a text")
        return value


def describe_fields(model: type[BaseModel]) -> tuple[FieldSpec, ...]:
    """Describe the fields of *model*: types and ranges come from its annotations, help texts from its descriptions.

    The descriptions are the docstrings below the fields if the model has the setting `use_attribute_docstrings`.
    """
    return tuple(_spec(name, field) for name, field in model.model_fields.items())


def _spec(name: str, field: FieldInfo) -> FieldSpec:
    whole = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    parts = list(parts_of(whole))
    values = [value for part in parts if get_origin(part) is Literal for value in get_args(part)]
    labels = next((part for part in parts if isinstance(part, ChoiceLabels)), ChoiceLabels()).labels
    nested = next((part for part in parts if inspect.isclass(part) and issubclass(part, BaseModel)), None)
    type_names = dict.fromkeys(_type_name(part) for part in union_members(field.annotation))
    return FieldSpec(
        name=name,
        type=" or ".join(filter(None, type_names)) or "object",
        default=_default(field),
        required=field.is_required(),
        choices=tuple(Choice(value=str(value), summary=labels.get(str(value), "")) for value in values),
        help=" ".join((field.description or "").split()),
        minimum=least_of(whole),
        maximum=next((cast("float", part.le) for part in parts if isinstance(part, Le)), None),
        is_secret=SecretStr in parts,
        fields=describe_fields(nested) if nested else (),
    )


def _type_name(part: Any) -> str:  # noqa: ANN401 - a type form
    """Return the name of the type in JSON Schema; "" for types that JSON does not have, such as a function."""
    origin = get_origin(part) or part
    if origin in {Literal, type}:  # a class is configured by its path
        return "string"
    if part is type(None) or not inspect.isclass(origin):
        return ""
    if origin in TYPES:
        return TYPES[origin]
    if issubclass(origin, BaseModel | Mapping):
        return "object"
    return "string" if issubclass(origin, str | SecretStr) or hasattr(origin, "__fspath__") else ""


def _default(field: FieldInfo) -> JsonValue:
    value: object = field.get_default(call_default_factory=True) if not field.is_required() else None
    return None if value is PydanticUndefined else to_jsonable_python(value)
