"""Pattern files: patterns and words as data, a YAML file for each language."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from memgraph._validation import field_errors
from memgraph._yaml import load_yaml
from memgraph.errors import ConfigError

PATTERNS = Path(__file__).parent / "patterns"
"""The files that come with the package; those of one kind are in a folder of their own."""
SUFFIXES = frozenset({".yaml", ".yml"})

File = TypeVar("File", bound=BaseModel)


def read_pattern_files(folder: Path, model: type[File]) -> dict[str, File]:
    """Return the files of *folder* by language, which is the name of a file without its suffix.

    Args:
        folder: A folder of the package or of a user.
        model: What a file contains.

    Raises:
        ConfigError: If a file cannot be read, or does not match *model*.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return {path.stem: _read_file(path, model) for path in paths}


def _read_file(path: Path, model: type[File]) -> File:
    try:
        return model.model_validate(load_yaml(path.read_text("utf-8")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        details = "; ".join(map(str, field_errors(error, empty_path="the file")))
        raise ConfigError(f"{path}: {details}") from error
