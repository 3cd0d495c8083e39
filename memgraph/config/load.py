"""Loading of settings: arguments override the environment, which overrides the file, which overrides the defaults."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_origin

from pydantic import BaseModel, ValidationError

from memgraph._validation import (
    check_arguments,
    describe_constraint,
    describe_field_error,
    field_errors,
    invalid_value,
    is_secret,
    suggest,
    union_members,
    unknown_key,
)
from memgraph.categories import Category
from memgraph.errors import ConfigError
from memgraph.policy import RENAMED
from memgraph.sections import SummarySection
from memgraph.settings import Settings

CONFIG_VARIABLE = "MEMGRAPH_CONFIG"
CONFIG_FILE = "memgraph.yaml"
PREFIX = "MEMGRAPH_"
ROOT_KEYS = ("memory", "memories", "attachments")
SERVER_VARIABLE = "LANGSERVE_GRAPHS"
"""Set in every process of a LangGraph Server, and in its image."""
DATABASE_VARIABLES = ("POSTGRES_URI", "DATABASE_URI")
"""The PostgreSQL database of a LangGraph Server; the first one that names one counts."""
_SCHEMES = ("postgres:", "postgresql:")  # `langgraph dev` sets `:memory:`
MAX_DEPTH = 50
"""Levels of nesting; a YAML alias can make a value contain itself."""

REMOVED: Mapping[str, str] = {"episode_share": "facts and the user's words compete by their scores; remove the line"}
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


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and the source of each."""

    settings: Settings
    sources: Mapping[str, str]
    """The source of each setting that is not a default."""
    file: Path | None
    """The file that was read."""


_LISTED: Mapping[str, type[BaseModel]] = {"categories": Category, "sections": SummarySection}
"""Settings that are lists, and what is in them: an error names the entry."""
_MUST_BE = "must be "
"""What the message of a validator starts with that describes the allowed values."""


@check_arguments
def load_settings(path: str | Path | None = None, **overrides: object) -> Settings:
    """Return the settings in force.

    *overrides* take precedence over `MEMGRAPH_*` environment variables, these over the file, and the file over the
    defaults. On a LangGraph Server with PostgreSQL, memories are in its database by default.

    Args:
        path: The YAML file; default: the file that $MEMGRAPH_CONFIG names, else ./memgraph.yaml if it exists.
        overrides: Settings by name.

    Raises:
        ConfigError: If a key is unknown, a value is of the wrong type or out of range, a `${VAR}`
            is not set, or the file cannot be read.
    """
    return read_settings(path, **overrides).settings


@check_arguments
def given_settings(settings: Settings | None) -> Settings:
    """Return *settings*; without them, those in force.

    Raises:
        ConfigError: If it is something else, or the settings in force are invalid.
    """
    return load_settings() if settings is None else settings


def read_settings(path: str | Path | None = None, **overrides: object) -> LoadedSettings:
    """Load settings as `load_settings` does, and return where each comes from."""
    names = tuple(Settings.model_fields)
    single = (*(name for name in names if name not in ROOT_KEYS), *RENAMED)
    file = _find_file(path)
    values = {
        **(from_file(file, single) if file else {}),
        **from_environment(single),
        **from_call(overrides, (*names, *RENAMED)),
    }
    if {"storage_path", "storage_class"}.isdisjoint(values):
        values |= from_server()
    if (profile := values.get("profile")) and isinstance(profile.value, str):
        values["profile"] = replace(profile, value=_import_class(profile))
    return LoadedSettings(_validate(values), {name: value.source for name, value in values.items()}, file)


def _import_class(path: SettingValue) -> object:
    """Return the class that a setting names, as `module:Name`.

    Raises:
        ConfigError: If there is none.
    """
    module, _, name = str(path.value).partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{path.source} is {path.raw!r}, but must name a pydantic model as module:Name: {error}"
        ) from error


def _find_file(path: str | Path | None) -> Path | None:
    named = path or os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    default = Path(CONFIG_FILE)
    return default if default.is_file() else None


def _validate(values: Mapping[str, SettingValue]) -> Settings:
    try:
        return Settings.model_validate({name: value.value for name, value in values.items()})
    except ValidationError as error:
        raise _to_config_error(error, values) from None  # pydantic's message may quote a secret


def _to_config_error(error: ValidationError, values: Mapping[str, SettingValue]) -> ConfigError:
    first = field_errors(error)[0]
    name = str(first.loc[0])
    old_names = (old for old, new in RENAMED.items() if new == name)
    value = next(values[known] for known in (name, *old_names) if known in values)
    field = Settings.model_fields[name]
    if entry := _LISTED.get(name):
        return describe_field_error(replace(first, loc=first.loc[1:]), entry, value.source)
    allowed = first.reason.removeprefix(_MUST_BE) if first.reason.startswith(_MUST_BE) else describe_constraint(field)
    return invalid_value(value.source, "***" if is_secret(field) else value.raw, allowed)


# -- the values as the file, the environment and the caller give them, each with its source -----------------------


def from_call(overrides: Mapping[str, object], known: Collection[str]) -> dict[str, SettingValue]:
    """Return the settings passed as arguments."""
    for name in overrides:
        if name not in known:
            raise unknown_key(name, name, known)
    return {name: SettingValue(value, value, name) for name, value in overrides.items()}


def from_environment(known: Collection[str]) -> dict[str, SettingValue]:
    """Return the settings in MEMGRAPH_* variables; empty ones are ignored.

    A variable that is unknown and like a known one is logged; others may be those of the Memgraph database.
    """
    for variable in os.environ:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in (*known, "config", "user", *ROOT_KEYS):
            hint = suggest(name, known)
            if hint.startswith("did you mean"):
                _log.warning("%s is unknown; %s", variable, hint)
    variables = ((name, f"{PREFIX}{name.upper()}") for name in known)
    return {
        name: SettingValue(_read_variable(name, value), value, variable)
        for name, variable in variables
        if (value := os.environ.get(variable))
    }


def _read_variable(name: str, text: str) -> object:
    """Return the value of the setting *name* in a variable: a list or a mapping is JSON, anything else the text."""
    field = Settings.model_fields.get(name)
    kinds = map(get_origin, union_members(field.annotation) if field else ())
    if text.startswith(("[", "{")) and not {tuple, Mapping}.isdisjoint(kinds):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


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


def from_file(path: Path, known: Collection[str]) -> dict[str, SettingValue]:
    """Return the settings in the YAML file at *path*.

    Raises:
        ConfigError: If it cannot be read, contains an unknown key, or names a variable that is not set.
    """
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


def _section(section: Mapping[str, object], source: str, known: Collection[str]) -> dict[str, SettingValue]:
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
