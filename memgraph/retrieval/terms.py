"""The terms of a text, their synonyms and their weights: what facts and questions are compared by."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memgraph.analysis.normalize import IS_HAN, fold, stem
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


def is_unit(term: str) -> bool:
    """Return whether *term* is a word or a character, not a pair of characters."""
    return len(term) == 1 or not _IS_UNSPACED.match(term)


def _runs(text: str) -> list[str]:
    """Return the folded words of *text* and its runs of characters of scripts without spaces.

    Latin letters lose their accents, which many leave out: "Zurich" for "Zürich".
    """
    return _RUN.findall(unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", fold(text)))))


def _terms_of(run: str) -> Sequence[str]:
    if not run.isascii() and _IS_UNSPACED.match(run):
        return unigrams_and_bigrams(run)
    return () if run in STOP_WORDS else (stem(run[:MAX_TERM_CHARS]),)


def unigrams_and_bigrams(run: str) -> list[str]:
    """Return the characters of *run*, then its pairs, without those that are grammar only."""
    singles = [character for character in run if character not in STOP_WORDS]
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return [*singles, *(pair for pair in pairs if not STOP_WORDS.issuperset(pair))]


# -- synonyms -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SynonymMap:
    """Words that mean much the same, in English and Chinese: "怎么写测试" finds "Prefers pytest for testing"."""

    by_term: Mapping[str, AbstractSet[str]]
    """By an English stem: the terms of its synonyms."""
    by_word: Mapping[str, AbstractSet[str]]
    """By a Chinese word: the terms of its synonyms."""
    chinese_words: re.Pattern[str]
    """Matches the Chinese words, the longest first."""

    def expand(self, text: str, terms: Sequence[str]) -> frozenset[str]:
        """Return the synonyms of the words of *text*, except those that are among its own *terms*."""
        found = [self.by_term[term] for term in terms if term in self.by_term]
        if not text.isascii():
            found.extend(self.by_word[word] for word in self.chinese_words.findall(fold(text)))
        return frozenset[str]().union(*found).difference(terms)


@cache
def load_synonyms() -> SynonymMap:
    """Return the synonyms that come with the package: `synonyms.txt`."""
    lines = files("memgraph.retrieval").joinpath("synonyms.txt").read_text("utf-8").splitlines()
    return build_synonym_map(line.split() for line in lines if not line.startswith("#"))


def build_synonym_map(groups: Iterable[Iterable[str]]) -> SynonymMap:
    """Index *groups* of words that mean much the same."""
    by_term, by_word = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for group in map(frozenset, groups):
        # the last term stands for a word most surely: its stem, or its last pair of characters
        term_by_word = {word: extract_terms(word)[-1] for word in group}
        for word, term in term_by_word.items():
            others = {term_by_word[other] for other in group if other != word}
            (by_word[fold(word)] if IS_HAN.search(word) else by_term[term]).update(others)
    pattern = "|".join(map(re.escape, sorted(by_word, key=len, reverse=True))) or r"(?!)"
    return SynonymMap(dict(by_term), dict(by_word), re.compile(pattern))


# -- BM25 -------------------------------------------------------------------------------------------

K1 = 1.2
"""How soon repeating a term stops helping; 0 counts presence only."""
B = 0.75
"""How far long texts are discounted, from 0 (not at all) to 1."""


def bm25(query: Terms, texts: Sequence[Terms], *, k1: float = K1, b: float = B) -> list[float]:
    """Score *texts* against *query* by BM25: the plain formula, without NumPy, which an update need not import.

        score = sum over query terms t of
                idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))

    Args:
        query: The terms of any text. Without any, every text scores 0.
        texts: The terms of N texts in any order.
        k1: How soon repeating a term stops helping; 0 counts presence only.
        b: How far long texts are discounted, from 0 (not at all) to 1.

    Returns:
        N scores, each >= 0, in the order of *texts*.

    Source:
        Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        The idf is Lucene's, which is never negative.
    """
    wanted = frozenset(query)
    counted = [({term: terms.count(term) for term in wanted.intersection(terms)}, len(terms)) for terms in texts]
    document_counts = Counter(term for counts, _ in counted for term in counts)
    weights = {term: idf(len(texts), count) for term, count in document_counts.items()}
    mean = sum(length for _, length in counted) / len(counted) if counted else 0
    scores: list[float] = []
    for counts, length in counted:
        norm = k1 * (1 - b + b * length / mean) if counts else 0
        scores.append(sum([weights[term] * tf * (k1 + 1) / (tf + norm) for term, tf in counts.items()]))
    return scores


def idf(documents: int, containing: int) -> float:
    """Return the inverse document frequency of a term that *containing* of *documents* contain."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))
