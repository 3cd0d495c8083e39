"""Patterns and word lists of the offline model, by language, from its YAML files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter

from memgraph._yaml import load_yaml
from memgraph.text.normalize import HAN

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

_HAN = re.compile(f"[{HAN}]")
_PATTERNS = TypeAdapter(dict[Language, dict[str, str | list[str]]])
_WORDS = TypeAdapter(dict[str, str])


def language_of(text: str) -> Language:
    """Return Chinese if *text* has a Chinese character, else English."""
    return "zh" if _HAN.search(text) else "en"


@cache
def pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return the pattern called *name* in patterns.yaml."""
    return compiled(_patterns()[language][name])


def compiled(source: str | list[str]) -> re.Pattern[str]:
    """Compile a pattern, or the alternatives of a list."""
    return re.compile(source if isinstance(source, str) else "|".join(source), re.IGNORECASE | re.DOTALL)


def matches(name: str, text: str) -> bool:
    """Return whether the pattern called *name* of any language occurs in *text*."""
    return any(pattern(language, name).search(text) for language in LANGUAGES)


@cache
def words(name: str) -> frozenset[str]:
    """Return the word list called *name* in words.yaml."""
    return frozenset(_word_lists()[name].replace("\n", " ").split())


@cache
def word_classes() -> Mapping[str, str]:
    """Return the class of each word that has one: the lists of words.yaml with names in capitals."""
    return {word: name for name in _word_lists() if name.isupper() for word in words(name)}


@cache
def _patterns() -> dict[Language, dict[str, str | list[str]]]:
    return _PATTERNS.validate_python(read("patterns.yaml"))


@cache
def _word_lists() -> dict[str, str]:
    return _WORDS.validate_python(read("words.yaml"))


def read(name: str) -> Any:  # noqa: ANN401 - the models of the files check it
    """Read a data file of the offline model."""
    return load_yaml(files("memgraph.llm.offline").joinpath(name).read_bytes())
