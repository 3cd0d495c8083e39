"""Validation messages: what is wrong with a value, where, and what is allowed, in one sentence.

Pydantic's own messages may quote a secret and address programmers, so every module turns them into its own errors
with what is here: `field_errors` lists them by path, and `validate_config` raises a ConfigError such as
`memories[1].config.top_k is 0, but must be a whole number from 1 to 100`.
"""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from memgraph.errors import ConfigError, IdentityError, MemgraphError

PREVIEW_CHARS = 80
TYPE_NAMES: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    type: "a class",
    Callable: "a function",
    Collection: "a list",
    Sequence: "a list",
    list: "a list",
}

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
    if origin or annotation in TYPE_NAMES:
        return TYPE_NAMES.get(origin or annotation, "keys and their values")
    if not isinstance(annotation, type) or issubclass(annotation, str | Path | SecretStr):
        return "a text"
    return f"{'an' if annotation.__name__[0] in 'AEIOU' else 'a'} {annotation.__name__}"


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


def least_of(annotation: Any) -> float | None:  # noqa: ANN401 - a type form
    """Return the smallest number that a type allows; None without a limit."""
    return next((cast("float", part.ge) for part in parts_of(annotation) if isinstance(part, Ge)), None)


def parts_of(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type form
    """Iterate over a type, its arguments at any depth, and their metadata."""
    yield annotation
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield from part.metadata if isinstance(part, FieldInfo) else parts_of(part)


# -- arguments -------------------------------------------------------------------------------------

C = TypeVar("C", bound=type[Any])
F = TypeVar("F", bound=Callable[..., Any])

_ALLOWED: Mapping[str, str] = {
    "scope": "a Scope, such as Scope('ada')",
    "settings": "Settings, such as Settings(max_facts=100)",
}
"""What arguments may be, by name, if their types do not suggest it."""
_CHECKED_LATER = frozenset({"user_id", "agent_name", "document", "policy", "checkpointer", "storage", "url", "outbox"})
"""Arguments with a check of their own, such as that of a Scope, an import, a Policy, LangGraph or `open_storage`."""


def check_arguments(function: F, error: type[MemgraphError] = ConfigError) -> F:
    """Return *function*, which refuses an argument of a wrong type with *error*: not every caller has a type checker.

    Args:
        function: What is called.
        error: What it raises; for a scope an IdentityError.
    """
    signature = inspect.signature(function)
    known: dict[str, _Parameter] = {}

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - of the function
        try:
            arguments = signature.bind(*args, **options).arguments
        except TypeError as wrong_call:
            called = function.__qualname__ if function.__name__ == "__init__" else function.__name__
            raise TypeError(f"{called}() {wrong_call}") from None
        for name, value in arguments.items():
            if name not in known:
                hint = Any if name in _CHECKED_LATER else _hint_of(function, name)
                known[name] = _Parameter(hint, list(union_members(hint)), least_of(hint))
            hint, kinds, limit = known[name]
            if not any(_fits(value, kind) for kind in kinds):
                wrong = invalid_value(name, value, _ALLOWED.get(name) or describe_type(hint))
                raise (IdentityError if name == "scope" else error)(str(wrong))
            if limit is not None and isinstance(value, int) and value < limit:
                raise error(str(invalid_value(name, value, f"{limit} or more")))  # the largest is one of the doors
        return function(*args, **options)

    return cast("F", call)


def check_calls(cls: C, error: type[MemgraphError] = ConfigError) -> C:
    """Return *cls*, of which the constructor and each public method check their arguments, see `check_arguments`."""
    for name, method in list(vars(cls).items()):
        is_called = not name.startswith("_") or name in {"__init__", "__call__"}
        if is_called and inspect.isfunction(method) and not inspect.iscoroutinefunction(method):
            setattr(cls, name, check_arguments(method, ConfigError if name == "__init__" else error))
    return cls


def hints_of(
    function: Callable[..., Any],
    names: Iterable[str],
    *,
    known: Mapping[str, Any] | None = None,
    include_extras: bool = True,
) -> dict[str, Any]:
    """Return the types of parameters; NameError if one is neither in the module of *function* nor *known*."""
    parameters = inspect.signature(function).parameters
    # the result is left out: its type may need an import that no door waits for
    annotated = type("_", (), {"__annotations__": {name: parameters[name].annotation for name in names}})
    names_of_module = {**(known or {}), **vars(sys.modules[function.__module__])}
    return get_type_hints(annotated, names_of_module, include_extras=include_extras)


def _hint_of(function: Callable[..., Any], name: str) -> Any:  # noqa: ANN401 - a type form
    """Return the type of a parameter; Any if it has none."""
    parameter = inspect.signature(function).parameters[name]
    if parameter.annotation is parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
        return Any
    try:
        return hints_of(function, [name], known=vars(collections.abc))[name]
    except NameError:  # of a type that is imported for type checkers only: its import would take seconds
        return Any


_OWN_TYPES = frozenset({"builtins", "collections", "datetime", "pathlib", "memgraph"})
"""The packages of types of which a value must be an instance."""


class _Parameter(NamedTuple):
    """The type of a parameter, its alternatives, and the smallest number that it allows."""

    hint: Any
    kinds: Sequence[Any]
    least: float | None


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type form
    """Whether a value may be of a type: protocols, and what is in collections other than lists, are not checked."""
    origin, args = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return value in args
    if kind is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False) or is_typeddict(origin):
        return True
    if origin in {int, float}:
        return not isinstance(value, bool) and isinstance(value, Integral if origin is int else Real)
    if not isinstance(value, origin):  # what looks like an instance of another library's class may do as one
        is_foreign = origin.__module__.partition(".")[0] not in _OWN_TYPES
        return is_foreign and type(value).__module__ != "builtins"
    if not isinstance(value, list | tuple) or len(args) != 1:
        # a text is a sequence of texts for Python, and a mistake of a caller
        return not (origin in {Sequence, Collection} and isinstance(value, str | bytes))
    one_of_each = {type(item): item for item in cast("Iterable[object]", value)}  # a list may be a long conversation
    return all(any(_fits(item, each) for each in union_members(args[0])) for item in one_of_each.values())


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
