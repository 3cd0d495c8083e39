"""Words brought to their stem, so that "testing", "tests" and "tested" are one term."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Protocol, cast

SHORTEST = 4
"""Letters; what is shorter is its own stem."""


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the English stem of *word*, a word in lower case; one of another script or with digits as it is.

    Source:
        Porter, "Snowball: A language for stemming algorithms", 2001.
    """
    return _stemmer()().stemWord(word) if len(word) >= SHORTEST and word.isascii() and word.isalpha() else word


@cache
def _stemmer() -> type[Stemmer]:
    """Return the class. Each word has an object of its own, which is cheap: it keeps the word it is at."""
    from snowballstemmer import EnglishStemmer

    return cast("type[Stemmer]", EnglishStemmer)
