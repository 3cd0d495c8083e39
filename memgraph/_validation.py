"""Validation messages: what is wrong with a value, where, and what is allowed, in one sentence.

Pydantic's own messages may quote a secret and address programmers, so every module turns them into its own errors
with what is here: `field_errors` lists them by path, and `validate_config` raises a ConfigError such as
`memories[1].config.top_k is 0, but must be a whole number from 1 to 100`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from memgraph.errors import ConfigError

PREVIEW_CHARS = 80
TYPE_NAMES: Mapping[object, str] = {bool: "true or false", int: "a whole number", float: "a number"}

_PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*@")
_SECRET_KEY = re.compile(r"^(?!max_).*(?:key|token|secret|password|credential)", re.IGNORECASE)
_TYPE_OR_RANGE = re.compile(r"(?:bool|int|float|string|finite)_|(?:greater|less)_than")
"""Errors that the field's type and range explain completely."""
_EXPECTED: Mapping[str, str] = {
    "model_type": "keys and their values",
    "model_attributes_type": "keys and their values",
    "dict_type": "keys and their values",
    "mapping_type": "keys and their values",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "a list with at least one entry",
}

ModelT = TypeVar("ModelT", bound=BaseModel)


# -- errors of pydantic ----------------------------------------------------------------------------


class FailedValidation(Protocol):
    """The error that pydantic, pydantic.v1 or FastAPI raises."""

    def errors(self) -> Sequence[Any]:
        """Return a mapping for each error, with `loc`, `msg` and `type`."""
        ...


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of a failed validation. Only *input* may hold a secret."""

    path: str
    """The path of the invalid value, such as `params.batch_size`."""
    message: str
    """What is wrong, in pydantic's words."""
    type: str
    """Pydantic's name of the error, such as `extra_forbidden`."""
    loc: tuple[int | str, ...]
    input: object
    context: Mapping[str, Any]

    @property
    def reason(self) -> str:
        """The message as the validator raised it, without pydantic's prefix."""
        return self.message.removeprefix("Value error, ")

    def __str__(self) -> str:
        return f"{self.path}: {self.message}".removeprefix(": ")


def field_errors(error: FailedValidation, *, root: str = "", empty_path: str = "") -> list[FieldError]:
    """Return the errors of a failed validation.

    Args:
        error: What pydantic raised.
        root: What every path starts with; empty starts it at the validated value.
        empty_path: The path of an error about the validated value itself.
    """
    return [
        FieldError(
            path=".".join(map(str, (root, *item["loc"]) if root else item["loc"])) or empty_path,
            message=item["msg"],
            type=item["type"],
            loc=tuple(item["loc"]),
            input=item.get("input"),
            context=item.get("ctx", {}),
        )
        for item in error.errors()
    ]


def validate_config(model: type[ModelT], value: object, location: str) -> ModelT:
    """Return *value*, which is configured at *location*, as a *model*.

    Raises:
        ConfigError: If it is invalid: what is wrong, where, and what is allowed.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _config_error(error, model, location) from None  # pydantic's message may quote a secret


def _config_error(error: ValidationError, model: type[BaseModel], location: str) -> ConfigError:
    # every member of a union reports an error; the one that got furthest into the value is the intended one
    deepest = max(field_errors(error), key=lambda found: len(found.loc))
    return describe_field_error(deepest, model, location)


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    ConfigMeta = ModelMetaclass
else:

    class ConfigMeta(type(BaseModel)):
        """The metaclass of settings: a call of the class raises a ConfigError instead of pydantic's error."""

        def __call__(cls, *args: Any, **values: Any) -> Any:  # noqa: ANN401 - of the class
            try:
                return super().__call__(*args, **values)
            except ValidationError as error:
                raise _config_error(error, cls, cls.__name__) from None


def describe_field_error(error: FieldError, model: type[BaseModel], location: str) -> ConfigError:
    """Return the error about a value of *model*, which is configured at *location*."""
    path, parent, field = _resolve_path(error.loc, model, location)
    key = str(error.loc[-1]) if error.loc else ""
    if error.type == "extra_forbidden":
        return unknown_key(key, f"{path}.{key}", parent.model_fields)
    if error.type == "missing":
        return ConfigError(f"{path} is missing{_first_description_line(field)}")
    value = "***" if is_secret_key(key) else error.input
    if error.type == "literal_error":
        return invalid_value(path, value, error.context["expected"].replace("'", ""))
    if field and _TYPE_OR_RANGE.match(error.type):
        return invalid_value(path, value, describe_constraint(field))
    if error.type == "value_error":
        return ConfigError(f"{path}: {error.reason}")
    return invalid_value(path, value, _EXPECTED.get(error.type, error.message))


def _resolve_path(
    loc: tuple[int | str, ...], model: type[BaseModel], path: str
) -> tuple[str, type[BaseModel], FieldInfo | None]:
    """Follow pydantic's location to the path, the model and the field; names of union members are left out."""
    field: FieldInfo | None = None
    for step in loc:
        if isinstance(step, int):
            path = f"{path}[{step}]"
        elif step in model.model_fields:
            field, path = model.model_fields[step], f"{path}.{step}"
            model = next(_models_in(field.annotation), model)
        elif field is not None and not _is_union_member(step, field.annotation):
            path = f"{path}.{step}" if step != loc[-1] else path
    return path, model, field


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - a type form
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _is_union_member(step: str, annotation: Any) -> bool:  # noqa: ANN401 - a type form
    return any(model.__name__ == step for model in _models_in(annotation)) or "[" in step or step in {"str", "int"}


def _first_description_line(field: FieldInfo | None) -> str:
    return f": {field.description.splitlines()[0]}" if field and field.description else ""


# -- lists -----------------------------------------------------------------------------------------

SingleLine = AfterValidator(lambda text: " ".join(text.split()))
"""Joins the lines of a text that is part of a prompt."""


def check_names(names: Sequence[str], what: str, *, limit: int, always: Collection[str] = ()) -> None:
    """Check the names of a list that replaces the built-in one.

    Args:
        names: The names as they are listed.
        what: What is listed, in the plural.
        limit: The maximum number of them.
        always: Names that are added if they are missing, and count, too.

    Raises:
        ValueError: If there are none, too many, or two that are the same.
    """
    if not names:
        raise ValueError(f"the list is empty; leave it out for the built-in {what}")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} is listed twice")
    if (count := len({*names, *always})) > limit:
        raise ValueError(f"there are at most {limit} {what}, not {count}")


# -- sentences -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AllowedValues:
    """The values that a field may have, in words: `Annotated[SecretStr, AllowedValues("a text of 16 characters")]`."""

    description: str


def unknown_key(key: str, location: str, known: Iterable[str], *, listed: Iterable[str] = ()) -> ConfigError:
    """Return the error for a key that does not exist; it suggests the nearest one, or lists them."""
    return ConfigError(f"{location} is unknown; {suggest(key, known, listed=listed)}")


def suggest(key: str, known: Iterable[str], *, listed: Iterable[str] = ()) -> str:
    """Return a hint: the nearest of the *known* keys, else those in *listed* (default: all known ones)."""
    known = list(known)
    by_last_part = {name.rpartition(".")[2]: name for name in reversed(known)}
    near = difflib.get_close_matches(key.lower(), by_last_part, n=1)
    if near:
        return f"did you mean {by_last_part[near[0]]}?"
    return f"there are: {', '.join(listed or known) or 'none'}"


def invalid_value(location: str, value: object, allowed: str) -> ConfigError:
    """Return the error for a value of the wrong type, or out of range."""
    return ConfigError(f"{location} is {preview_value(value)}, but must be {allowed}")


def describe_constraint(field: FieldInfo) -> str:
    """Describe the values that a setting may have: as it is annotated, else by its type and range."""
    if allowed := next((item for item in field.metadata if isinstance(item, AllowedValues)), None):
        return allowed.description
    low = next((item.ge for item in field.metadata if isinstance(item, Ge)), None)
    high = next((item.le for item in field.metadata if isinstance(item, Le)), None)
    return f"{describe_type(field.annotation)}{'' if low is None else f' from {low} to {high}'}"


def describe_type(annotation: Any) -> str:  # noqa: ANN401 - a type form
    """Describe the values of a type."""
    members = [member for member in union_members(annotation) if member is not NoneType]
    if members != [annotation]:
        return " or ".join(map(describe_type, members))
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(repr(choice) for choice in get_args(annotation)).replace("'", "")
    if origin is tuple:
        return "a list of texts" if get_args(annotation)[0] is str else "a list of name, type and config"
    return TYPE_NAMES.get(annotation, "keys and their values" if origin else "a text")


def union_members(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type form
    """Iterate over the members of a union without their metadata; any other type is its only member."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from union_members(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for part in get_args(annotation):
            yield from union_members(part)
    else:
        yield annotation


# -- secrets ---------------------------------------------------------------------------------------


def preview_value(value: object) -> str:
    """Return *value* short enough for a sentence, without passwords and control characters."""
    text = repr(redact_passwords(value))
    return text if len(text) <= PREVIEW_CHARS else f"{text[:PREVIEW_CHARS]}..."


def is_secret(field: FieldInfo) -> bool:
    """Whether messages must not quote the setting."""
    return SecretStr.__name__ in str(field.annotation)


def is_secret_key(key: object) -> bool:
    """Whether the name of a key suggests that its value is a secret."""
    return _SECRET_KEY.search(str(key)) is not None


def redact_passwords(value: object) -> Any:  # noqa: ANN401 - the shape of *value*
    """Return *value* without the passwords in URLs and the values of secret keys."""
    if isinstance(value, str):
        return _PASSWORD.sub(r"\1:***@", value)
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {key: "***" if is_secret_key(key) else redact_passwords(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [redact_passwords(item) for item in cast("Iterable[object]", value)]
    return value
