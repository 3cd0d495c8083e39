"""Settings from all places where they can be said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from memgraph._validation import describe_constraint, field_errors, invalid_value, is_secret
from memgraph.config.sources import ROOT_KEYS, SettingValue, from_call, from_environment, from_file
from memgraph.errors import ConfigError
from memgraph.settings import Settings

CONFIG_VARIABLE = "MEMGRAPH_CONFIG"
CONFIG_FILE = "memgraph.yaml"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and where each that is no default was said."""

    settings: Settings
    places: Mapping[str, str]
    file: Path | None
    """The file that was read."""


def load_settings(path: str | Path | None = None, **overrides: object) -> Settings:
    """Return the settings in force.

    What *overrides* say goes before `MEMGRAPH_*` environment variables, these before the file, and
    that before the defaults.

    Args:
        path: The YAML file; None is the one that $MEMGRAPH_CONFIG names, else ./memgraph.yaml if there is one.
        overrides: Settings by name.

    Raises:
        ConfigError: If a key is unknown, a value is of the wrong type or out of range, a `${VAR}`
            is not set, or the file cannot be read.
    """
    return read_settings(path, **overrides).settings


def read_settings(path: str | Path | None = None, **overrides: object) -> LoadedSettings:
    """As `load_settings`, telling also where each setting was said."""
    every = tuple(Settings.model_fields)
    single = tuple(name for name in every if name not in ROOT_KEYS)
    file = _find(path)
    given = {
        **(from_file(file, single) if file else {}),
        **from_environment(single),
        **from_call(overrides, every),
    }
    return LoadedSettings(_checked(given), {name: value.source for name, value in given.items()}, file)


def _find(path: str | Path | None) -> Path | None:
    named = path or os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    found = Path(CONFIG_FILE)
    return found if found.is_file() else None


def _checked(given: Mapping[str, SettingValue]) -> Settings:
    try:
        return Settings.model_validate({name: said.value for name, said in given.items()})
    except ValidationError as error:
        raise _explained(error, given) from None  # what pydantic says may quote a secret


def _explained(error: ValidationError, given: Mapping[str, SettingValue]) -> ConfigError:
    name = str(field_errors(error)[0].loc[0])
    said, field = given[name], Settings.model_fields[name]
    return invalid_value(said.source, "***" if is_secret(field) else said.raw, describe_constraint(field))
