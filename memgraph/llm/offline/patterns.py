"""Patterns of the offline model, by language, from its YAML files."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from memgraph._yaml import load_yaml
from memgraph.text.words import LANGUAGES, Language

_PATTERNS = TypeAdapter(dict[Language, dict[str, str | list[str]]])


@cache
def pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return the pattern called *name* in patterns.yaml."""
    return compiled(_patterns()[language][name])


def compiled(source: str | list[str]) -> re.Pattern[str]:
    """Compile a pattern, or the alternatives of a list."""
    return re.compile(source if isinstance(source, str) else "|".join(source), re.IGNORECASE | re.DOTALL)


def matches_pattern(name: str, text: str) -> bool:
    """Return whether the pattern called *name* of any language occurs in *text*."""
    return any(pattern(language, name).search(text) for language in LANGUAGES)


@cache
def _patterns() -> dict[Language, dict[str, str | list[str]]]:
    return _PATTERNS.validate_python(read_data_file("patterns.yaml"))


def read_data_file(name: str) -> Any:  # noqa: ANN401 - the models of the files check it
    """Read a data file of the offline model."""
    return load_yaml(files("memgraph.llm.offline").joinpath(name).read_bytes())
