"""The terms of a text: what facts and questions are compared by."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Protocol, cast

from memgraph.text.normalize import fold

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


_STOP = """
    a about above after again against all am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers herself him
    himself his how i if in into is it its itself just me might more most must my myself no nor not now of off on once
    only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up us very was we were what when where which
    while who whom whose why will with would you your yours yourself s t re ve ll d m don
"""
_STOP_HAN = (
    "的了吗呢吧啊呀么嘛我你您他她它们是在和与跟就都也还很这那有个把被给对让请从到会能要想怎哪谁什几为以可不没说得着过做"
)
_UNSPACED = (
    r"\u3005\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han and Kana
    r"\uac00-\ud7af"  # Hangul, whose endings stick to its words
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:\+\+|#)?")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")

STOP_WORDS = frozenset(_STOP.split())
STOP_CHARACTERS = frozenset(_STOP_HAN)

MAX_TERM_CHARS = 40
"""Of a word; what is longer is a key or a hash, and its beginning will do."""


@lru_cache(maxsize=32_768)
def terms(text: str) -> tuple[str, ...]:
    """Return the terms of *text* in order, repetition included.

    Of scripts with blanks, the stem of each word that is no stop word; of Chinese and other scripts
    without, each single character and each pair. Case, width and traditional forms do not matter.
    """
    found = list[str]()
    for run in _RUN.findall(fold(text)):
        if _IS_UNSPACED.match(run):
            found.extend(fragments(run))
        elif run not in STOP_WORDS:
            found.append(stem(run[:MAX_TERM_CHARS]))
    return tuple(found)


def fragments(run: str) -> list[str]:
    """Return the characters and the pairs of *run*, less those that only grammar needs."""
    singles = [character for character in run if character not in STOP_CHARACTERS]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*singles, *(pair for pair in pairs if not STOP_CHARACTERS.issuperset(pair))]
