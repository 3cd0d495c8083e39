"""What somebody said a setting should be, and where: in the file, in the environment, in the call."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from memgraph._validation import invalid_value, unknown_key
from memgraph.errors import ConfigError

PREFIX = "MEMGRAPH_"
ROOT_KEYS = ("memory", "memories", "attachments")

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A value, and where it was said."""

    value: object
    raw: object
    """As it stands there: `${VAR}` in place of what may be a secret."""
    source: str


def from_call(overrides: Mapping[str, object], known: Iterable[str]) -> dict[str, SettingValue]:
    """What the caller says."""
    known = tuple(known)
    for name in overrides:
        if name not in known:
            raise unknown_key(name, name, known)
    return {name: SettingValue(value, value, name) for name, value in overrides.items()}


def from_environment(known: Iterable[str]) -> dict[str, SettingValue]:
    """What MEMGRAPH_* variables say. Others of that name are another product's; an empty one says nothing."""
    found = ((name, f"{PREFIX}{name.upper()}") for name in known)
    return {
        name: SettingValue(value, value, variable) for name, variable in found if (value := os.environ.get(variable))
    }


def from_file(path: Path, known: Iterable[str]) -> dict[str, SettingValue]:
    """What the file at *path* says.

    Raises:
        ConfigError: If it cannot be read, holds an unknown key, or names a variable that is not set.
    """
    known = tuple(known)
    root = _mapping(_read(path), str(path))
    given: dict[str, SettingValue] = {}
    for key, value in root.items():
        place = f"{path}: {key}"
        if key not in ROOT_KEYS:
            raise unknown_key(key, place, [*ROOT_KEYS, *(f"memory.{name}" for name in known)], listed=ROOT_KEYS)
        if key == "memory" and not isinstance(value, list):
            given |= _section(_mapping(value, place), place, known)
            continue
        name = "memories" if key == "memory" else key
        if name in given:
            raise ConfigError(f"{place}: memories are listed twice, under memory and under memories; keep one list")
        said = cast("object", value)
        given[name] = SettingValue(_expand_env(said, place), said, place)
    return given


def _section(section: Mapping[str, object], place: str, known: tuple[str, ...]) -> dict[str, SettingValue]:
    for key in section:
        if key not in known:
            raise unknown_key(key, f"{place}.{key}", known)
    return {
        key: SettingValue(_expand_env(value, f"{place}.{key}"), value, f"{place}.{key}")
        for key, value in section.items()
    }


def _mapping(value: object, place: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_value(place, value, "keys and their values")
    return {str(key): item for key, item in cast("dict[object, object]", value).items()}


def _read(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path} is no YAML{where}: {getattr(error, 'problem', None) or error}") from error
    except (RecursionError, ValueError) as error:  # nested without end; a date that is none
        raise ConfigError(f"{path} is no YAML: {error}") from error


def _expand_env(value: object, place: str, depth: int = 0) -> object:
    """Put the environment's values where a string names them as `${VAR}`."""
    if depth > 50:  # noqa: PLR2004 - an alias may hold itself
        raise ConfigError(f"{place} is nested too deep")
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match[1], place), value)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_expand_env(item, f"{place}[{number}]", depth + 1) for number, item in enumerate(items)]
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {str(key): _expand_env(item, f"{place}.{key}", depth + 1) for key, item in pairs}
    return value


def _variable(name: str, place: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise ConfigError(f"{place} needs the environment variable {name}, which is not set") from None
