"""The values of settings as the file, the environment and the caller give them, each with its source."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from memgraph._validation import invalid_value, suggest, unknown_key
from memgraph.errors import ConfigError

PREFIX = "MEMGRAPH_"
ROOT_KEYS = ("memory", "memories", "attachments")
SERVER_VARIABLE = "LANGSERVE_GRAPHS"
"""Set in every process of a LangGraph Server, and in its image."""
DATABASE_VARIABLES = ("POSTGRES_URI", "DATABASE_URI")
"""The PostgreSQL database of a LangGraph Server; the first one that names one counts."""
_SCHEMES = ("postgres:", "postgresql:")  # `langgraph dev` sets `:memory:`
MAX_DEPTH = 50
"""Levels of nesting; a YAML alias can make a value contain itself."""

REMOVED = MappingProxyType({"episode_share": "facts and the user's words compete by their scores; remove the line"})
"""Settings of earlier releases, and what there is instead."""

_log = logging.getLogger("memgraph.config")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting, and its source."""

    value: object
    raw: object
    """The value before `${VAR}` was expanded, which may have inserted a secret: only this is quoted in errors."""
    source: str
    """The key in the file, the environment variable, or the argument."""


def from_call(overrides: Mapping[str, object], known: Iterable[str]) -> dict[str, SettingValue]:
    """Return the settings passed as arguments."""
    known = tuple(known)
    for name in overrides:
        if name not in known:
            raise unknown_key(name, name, known)
    return {name: SettingValue(value, value, name) for name, value in overrides.items()}


def from_environment(known: Iterable[str]) -> dict[str, SettingValue]:
    """Return the settings in MEMGRAPH_* variables; empty ones are ignored.

    A variable that is unknown and like a known one is logged; others may be those of the Memgraph database.
    """
    known = tuple(known)
    for variable in os.environ:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in (*known, "config", "user", *ROOT_KEYS):
            hint = suggest(name, known)
            if hint.startswith("did you mean"):
                _log.warning("%s is unknown; %s", variable, hint)
    variables = ((name, f"{PREFIX}{name.upper()}") for name in known)
    return {
        name: SettingValue(value, value, variable)
        for name, variable in variables
        if (value := os.environ.get(variable))
    }


def server_database() -> SettingValue | None:
    """Return where a LangGraph Server keeps memories unless a storage is named: the disk of its container goes with it.

    None outside a server, and for one without PostgreSQL.
    """
    variable = next((name for name in DATABASE_VARIABLES if os.environ.get(name, "").startswith(_SCHEMES)), "")
    if not (variable and os.environ.get(SERVER_VARIABLE)):
        return None
    return SettingValue(os.environ[variable], f"${{{variable}}}", variable)


def from_server() -> dict[str, SettingValue]:
    """Return the storage of a LangGraph Server, for settings that name none; a warning names files that were it."""
    if (database := server_database()) is None:
        return {}
    warn_of_files()
    return {"storage_path": database}


@cache
def warn_of_files() -> None:
    """Log once a process where the memories are that were files by default, if there are any."""
    from memgraph.storage.paths import Layout, default_folder

    if next(Layout(folder := default_folder()).scopes(), None):
        _log.warning(
            "memories are kept in the database of this LangGraph Server from now on; those in %s are not read: "
            "set storage_path to file: to use them, or copy them by `memgraph export` and `memgraph import --trusted`",
            folder,
        )


def from_file(path: Path, known: Iterable[str]) -> dict[str, SettingValue]:
    """Return the settings in the YAML file at *path*.

    Raises:
        ConfigError: If it cannot be read, contains an unknown key, or names a variable that is not set.
    """
    known = tuple(known)
    settings: dict[str, SettingValue] = {}
    for key, value in _mapping(_read(path), str(path)).items():
        source = f"{path}: {key}"
        if key not in ROOT_KEYS:
            raise unknown_key(key, source, [*ROOT_KEYS, *(f"memory.{name}" for name in known)], listed=ROOT_KEYS)
        if key == "memory" and not isinstance(value, list):
            settings |= _section(_mapping(value, source), source, known)
            continue
        name = "memories" if key == "memory" else key  # a list under `memory:` is one of memories
        if name in settings:
            raise ConfigError(f"{source}: memories are listed twice, under memory and under memories; keep one list")
        settings[name] = _setting(cast("object", value), source)
    return settings


def _section(section: Mapping[str, object], source: str, known: tuple[str, ...]) -> dict[str, SettingValue]:
    for key in section:
        if key in REMOVED:
            _log.warning("%s.%s is ignored: %s", source, key, REMOVED[key])
        elif key not in known:
            raise unknown_key(key, f"{source}.{key}", known)
    return {key: _setting(value, f"{source}.{key}") for key, value in section.items() if key not in REMOVED}


def _setting(raw: object, source: str) -> SettingValue:
    return SettingValue(expand_env(raw, source), raw, source)


def _mapping(value: object, source: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_value(source, value, "keys and their values")
    return {str(key): item for key, item in cast("dict[object, object]", value).items()}


def _read(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        position = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = getattr(error, "problem", None) or error
        raise ConfigError(f"{path} is not valid YAML{position}: {reason}") from error
    except (RecursionError, ValueError) as error:  # too deeply nested, or an impossible date
        raise ConfigError(f"{path} is not valid YAML: {error}") from error


def expand_env(value: object, source: str, depth: int = 0) -> object:
    """Replace `${VAR}` in every string of *value* by the environment variable.

    Raises:
        ConfigError: If a variable is not set; it names *source*, the path of the value.
    """
    if depth > MAX_DEPTH:
        raise ConfigError(f"{source} is nested too deep")
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match[1], source), value)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [expand_env(item, f"{source}[{number}]", depth + 1) for number, item in enumerate(items)]
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {str(key): expand_env(item, f"{source}.{key}", depth + 1) for key, item in pairs}
    return value


def _variable(name: str, source: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise ConfigError(f"{source} needs the environment variable {name}, which is not set") from None
