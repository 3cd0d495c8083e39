"""Word lists in English and Chinese, from words.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import TypeAdapter

from memgraph._yaml import load_yaml
from memgraph.text.normalize import IS_HAN

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

_WORDS = TypeAdapter(dict[str, str])


def language_of(text: str) -> Language:
    """Return Chinese if *text* has a Chinese character, else English."""
    return "zh" if IS_HAN.search(text) else "en"


@cache
def words(name: str) -> frozenset[str]:
    """Return the word list called *name* in words.yaml."""
    return frozenset(_word_lists()[name].replace("\n", " ").split())


@cache
def word_classes() -> Mapping[str, str]:
    """Return the class of each word that has one: the lists of words.yaml with names in capitals."""
    return {word: name for name in _word_lists() if name.isupper() for word in words(name)}


def states_standing_need(text: str) -> bool:
    """Return whether *text* names what always matters: a condition, a diet, an allergy."""
    return _standing_needs().search(text) is not None


@cache
def _standing_needs() -> re.Pattern[str]:
    names = "|".join(words("CONDITION") | words("standing_needs"))
    return re.compile(rf"(?<![a-z])(?:{names})(?![a-z])", re.IGNORECASE)


@cache
def _word_lists() -> dict[str, str]:
    return _WORDS.validate_python(load_yaml(files("memgraph.text").joinpath("words.yaml").read_bytes()))
