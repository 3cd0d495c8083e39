"""What a configuration class tells of its fields, so that a form, or a template, can be made of it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

TYPES: Mapping[object, str] = {bool: "boolean", int: "integer", float: "number", tuple: "array", list: "array"}
"""As JSON Schema calls them; what is not here, and no model or mapping, is a string."""


class ChoiceLabels:
    """What each choice of a field means: `Annotated[Literal["a", "b"], Summaries(a="...", b="...")]`."""

    def __init__(self, **of: str) -> None:
        self.of: Mapping[str, str] = of


class Choice(BaseModel):
    """A value that a field may have."""

    model_config = ConfigDict(frozen=True)

    value: str
    summary: str = ""


class FieldSpec(BaseModel):
    """A field of a configuration."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    """`boolean`, `integer`, `number`, `string`, `array` or `object`, or several with ` or ` between them."""
    default: JsonValue = None
    required: bool = False
    choices: tuple[Choice, ...] = ()
    help: str = ""
    minimum: int | float | None = None
    maximum: int | float | None = None
    is_secret: bool = False
    """Whether a form hides what is typed."""
    fields: tuple[FieldSpec, ...] = ()
    """Of the object, or of each object in the array."""


class FieldSpecMixin:
    """A configuration class that tells its fields."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """Return what there is to say, in the order of the fields."""
        return specs_of(cast("type[BaseModel]", cls))


def specs_of(model: type[BaseModel]) -> tuple[FieldSpec, ...]:
    """Return the fields of *model*: types and ranges as it checks them, the help as its docstrings say it."""
    helps = _docstrings(model)
    return tuple(_spec(name, field, helps.get(name, "")) for name, field in model.model_fields.items())


def _spec(name: str, field: FieldInfo, help_text: str) -> FieldSpec:
    parts = list(_parts(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation))
    values = [value for part in parts if get_origin(part) is Literal for value in get_args(part)]
    summaries = next((part for part in parts if isinstance(part, ChoiceLabels)), ChoiceLabels())
    nested = next((part for part in parts if inspect.isclass(part) and issubclass(part, BaseModel)), None)
    kinds = dict.fromkeys(kind for part in _members(field.annotation) if (kind := _kind(part)))
    return FieldSpec(
        name=name,
        type=" or ".join(kinds) or "object",
        default=_default(field),
        required=field.is_required(),
        choices=tuple(Choice(value=str(value), summary=summaries.of.get(str(value), "")) for value in values),
        help=help_text or field.description or "",
        minimum=next((_number(part, "ge", "gt") for part in parts if isinstance(part, Ge | Gt)), None),
        maximum=next((_number(part, "le", "lt") for part in parts if isinstance(part, Le | Lt)), None),
        is_secret=SecretStr in parts,
        fields=specs_of(nested) if nested else (),
    )


def _parts(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type form
    """Every part of a type, and what it is annotated with."""
    yield annotation
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield from part.metadata if isinstance(part, FieldInfo) else _parts(part)


def _members(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type form
    """The members of a union, each without its annotations; itself where it is none."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for part in get_args(annotation):
            yield from _members(part)
    else:
        yield annotation


def _kind(part: Any) -> str:  # noqa: ANN401 - a type form
    """The type as JSON calls it; "" for what JSON has no word for, such as a function."""
    origin = get_origin(part) or part
    if origin is Literal:
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


def _number(bound: object, *names: str) -> int | float | None:
    return next((getattr(bound, name) for name in names if hasattr(bound, name)), None)


@cache
def _docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """The text below each field in the source, those of base classes included; none where there is no source."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= dict(_documented(base))
    return found


def _documented(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    except (OSError, TypeError, SyntaxError):
        return
    body = cast("ast.ClassDef", tree.body[0]).body
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(said))):
                    yield field.target.id, " ".join(said.split())
                case _:
                    pass
