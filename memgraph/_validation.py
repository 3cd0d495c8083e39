"""What is wrong with a setting, in one sentence: the key, the value, what is allowed, and the nearest known key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from memgraph.errors import ConfigError

SHOWN_CHARS = 80
KINDS: Mapping[object, str] = {bool: "true or false", int: "a whole number", float: "a number"}

_PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*@")
_SECRET_KEY = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


def unknown_key(key: str, place: str, known: Iterable[str], *, shown: Iterable[str] = ()) -> ConfigError:
    """There is no such key; the nearest that there is, or all."""
    return ConfigError(f"{place} is unknown; {suggest(key, known, shown=shown)}")


def suggest(key: str, known: Iterable[str], *, shown: Iterable[str] = ()) -> str:
    """What to write in place of *key*: the nearest that there is, or all."""
    known = list(known)
    short = {name.rpartition(".")[2]: name for name in reversed(known)}
    near = difflib.get_close_matches(key.lower(), short, n=1)
    return f"did you mean {short[near[0]]}?" if near else f"there are: {', '.join(shown or known) or 'none'}"


def invalid_value(place: str, value: object, allowed: str) -> ConfigError:
    """The value is of the wrong type, or out of range."""
    return ConfigError(f"{place} is {preview(value)}, but must be {allowed}")


def describe_constraint(field: FieldInfo) -> str:
    """What a setting may be, in words: its own, where it is a secret."""
    if field.description and is_secret(field):
        return field.description
    low = next((item.ge for item in field.metadata if isinstance(item, Ge)), None)
    high = next((item.le for item in field.metadata if isinstance(item, Le)), None)
    return f"{_kind(field.annotation)}{'' if low is None else f' from {low} to {high}'}"


def is_secret(field: FieldInfo) -> bool:
    """Whether no message may quote a setting."""
    return SecretStr.__name__ in str(field.annotation)


def _kind(annotation: Any) -> str:  # noqa: ANN401 - a type form
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(repr(choice) for choice in get_args(annotation)).replace("'", "")
    if origin is Annotated:
        return _kind(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return " or ".join(_kind(part) for part in get_args(annotation) if part is not type(None))
    if origin is tuple:
        return "a list of name, type and config"
    return KINDS.get(annotation, "keys and their values" if origin else "a text")


def preview(value: object) -> str:
    """A value short enough for a sentence, without passwords and control characters."""
    text = repr(redact(value))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def is_secret_key(key: object) -> bool:
    """Tell whether what is kept under *key* sounds like a secret."""
    return _SECRET_KEY.search(str(key)) is not None


def redact(value: object) -> Any:  # noqa: ANN401 - of the shape it was
    """*value* less the passwords in URLs and what is kept under keys that sound like a secret."""
    if isinstance(value, str):
        return _PASSWORD.sub(r"\1:***@", value)
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {key: "***" if is_secret_key(key) else redact(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [redact(item) for item in cast("Iterable[object]", value)]
    return value
