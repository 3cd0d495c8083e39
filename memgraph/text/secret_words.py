"""The words that name a secret, from secret_words.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import TypeAdapter

from memgraph._yaml import load_yaml

WordList = Literal[
    "passwords", "phrases", "keys", "codes", "identities", "accounts", "phones",
    "of", "is", "is_called", "is_unspaced", "as", "changed", "changed_to", "descriptions",
]  # fmt: skip
"""A list of secret_words.yaml."""
_FILE = files("memgraph.text").joinpath("secret_words.yaml")
_LISTS: Mapping[str, Mapping[str, str]] = TypeAdapter(dict[str, dict[str, str]]).validate_python(
    load_yaml(_FILE.read_bytes())
)


@dataclass(frozen=True, eq=False, slots=True)
class Hint:
    """What every text with some kinds of secrets has in it, in the form of `lower`: one of some words, or a shape.

    Most texts have no hint, and a word is found much faster than a pattern.
    """

    words: tuple[str, ...] = ()
    shape: re.Pattern[str] | None = None

    def is_in(self, lowered: str) -> bool:
        """Return whether *lowered*, a text in the form of `lower`, has it."""
        return any(word in lowered for word in self.words) or bool(self.shape and self.shape.search(lowered))


def alternation(name: WordList) -> str:
    """Return a pattern, without case, of the words in the list *name* in all languages."""
    return "|".join(_LISTS[name].values())


@cache
def hint_of(*names: WordList) -> Hint:
    """Return the hint of the lists *names*."""
    return Hint(tuple({word.replace("+", " "): None for name in names for word in _LISTS["hints"][name].split()}))
