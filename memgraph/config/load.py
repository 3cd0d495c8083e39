"""Loading of settings: arguments override the environment, which overrides the file, which overrides the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ValidationError

from memgraph._validation import describe_constraint, describe_field_error, field_errors, invalid_value, is_secret
from memgraph.categories import Category
from memgraph.config.sources import ROOT_KEYS, SettingValue, from_call, from_environment, from_file, from_server
from memgraph.errors import ConfigError
from memgraph.policy import RENAMED
from memgraph.sections import SummarySection
from memgraph.settings import Settings

CONFIG_VARIABLE = "MEMGRAPH_CONFIG"
CONFIG_FILE = "memgraph.yaml"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and the source of each."""

    settings: Settings
    sources: Mapping[str, str]
    """The source of each setting that is not a default."""
    file: Path | None
    """The file that was read."""


_LISTED: Mapping[str, type[BaseModel]] = MappingProxyType({"categories": Category, "sections": SummarySection})
"""Settings that are lists, and what is in them: an error names the entry."""
_MUST_BE = "must be "
"""What the message of a validator starts with that describes the allowed values."""


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
    if entry := _LISTED.get(str(first.loc[0])):
        return describe_field_error(replace(first, loc=first.loc[1:]), entry, value.source)
    allowed = first.reason.removeprefix(_MUST_BE) if first.reason.startswith(_MUST_BE) else describe_constraint(field)
    return invalid_value(value.source, "***" if is_secret(field) else value.raw, allowed)
