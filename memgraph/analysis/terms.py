"""The terms of a text: what facts and questions are compared by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from memgraph.analysis.answers import function_words
from memgraph.analysis.names import USER_NAMES
from memgraph.analysis.normalize import fold, stem
from memgraph.analysis.words import words

Terms = tuple[str, ...]
"""The terms of one text in order, with repetitions."""

MAX_TERM_CHARS = 40
"""A longer word is a key or a hash: its beginning identifies it."""

_UNSPACED = (
    r"\u3005\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han and Kana
    r"\uac00-\ud7af"  # Hangul, whose endings stick to its words
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:\+\+|#)?")
_ACCENTS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")

STOP_WORDS = words("function_words") | words("fragments")


def extract_terms(text: str) -> Terms:
    """Return the terms of *text* in order, repetitions included.

    In scripts with spaces, the stem of each word that is not a stop word; in Chinese and other scripts without
    spaces, each character and each pair of characters. Case, width, accents and traditional forms do not matter.
    """
    return tuple([term for run in _runs(text) for term in _terms_of(run)])


def extract_words(text: str) -> list[tuple[str, str]]:
    """Return the words of *text* in order, each with its term; in scripts without spaces they are the same."""
    pairs = ((run, term) for run in _runs(text) for term in _terms_of(run))
    return [(term if _IS_UNSPACED.match(run) else run, term) for run, term in pairs]


def content_terms(text: str) -> frozenset[str]:
    """Return the different terms of *text*, without the pairs of characters, which would count these twice."""
    return frozenset(filter(is_unit, extract_terms(text)))


@cache
def light_terms() -> frozenset[str]:
    """Return the terms that do not name what a statement is about, such as those of "likes" and "now"."""
    return frozenset(extract_terms(" ".join(words("light") | words("months") | words("weekdays") | words("NUMBER"))))


@cache
def frame_terms() -> frozenset[str]:
    """Return the terms of the frame of a fact, not of its content, such as those of "The user is learning"."""
    return frozenset(extract_terms(" ".join(USER_NAMES | function_words() | words("light") | words("frame"))))


def is_unit(term: str) -> bool:
    """Return whether *term* is a word or a character, not a pair of characters."""
    return len(term) == 1 or not _IS_UNSPACED.match(term)


def _runs(text: str) -> list[str]:
    """Return the folded words of *text* and its runs of characters of scripts without spaces.

    Latin letters lose their accents, which many leave out: "Zurich" for "Zürich".
    """
    folded = fold(text)
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))
    return _RUN.findall(folded)


def _terms_of(run: str) -> Sequence[str]:
    if not run.isascii() and _IS_UNSPACED.match(run):
        return unigrams_and_bigrams(run)
    return () if run in STOP_WORDS else (stem(run[:MAX_TERM_CHARS]),)


def unigrams_and_bigrams(run: str) -> list[str]:
    """Return the characters of *run*, then its pairs, without those that are grammar only."""
    singles = [character for character in run if character not in STOP_WORDS]
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return [*singles, *(pair for pair in pairs if not STOP_WORDS.issuperset(pair))]
