"""Stems: the part that the forms of a word have in common."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Protocol, cast

MIN_STEM_CHARS = 4
"""A shorter word is its own stem."""


def stem(word: str) -> str:
    """Return the English stem of *word*, which is in lower case. Words with other letters or digits stay as they are.

    Source:
        Porter, "Snowball: A language for stemming algorithms", 2001.
    """
    return _english_stem(word) if len(word) >= MIN_STEM_CHARS and word.isascii() and word.isalpha() else word


def stem_all(words: Iterable[str]) -> dict[str, str]:
    """Return the stem of each different word of *words*: see `stem`."""
    return {word: stem(word) for word in set(words)}


@lru_cache(maxsize=4_096)
def stems_of(word: str) -> frozenset[str]:
    """Return the stems that *word*, in lower case, has in each of the languages of which it may be."""
    return frozenset((word, *(stemmer().stemWord(word) for stemmer in _stemmers())))


@lru_cache(maxsize=65_536)  # stemming a word takes 30 us; only single words are kept, never a user's text
def _english_stem(word: str) -> str:
    return _stemmer()().stemWord(word)


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _stemmer() -> type[Stemmer]:
    """Return the class of the stemmer, not an object: that keeps its current word, so threads must not share one."""
    from snowballstemmer import EnglishStemmer

    return cast("type[Stemmer]", EnglishStemmer)


@cache
def _stemmers() -> tuple[type[Stemmer], ...]:
    from snowballstemmer import EnglishStemmer, FrenchStemmer, GermanStemmer, SpanishStemmer

    return cast("tuple[type[Stemmer], ...]", (EnglishStemmer, FrenchStemmer, GermanStemmer, SpanishStemmer))
