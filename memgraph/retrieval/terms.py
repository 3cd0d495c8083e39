"""The synonyms of the terms of a text, and their weights."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memgraph.analysis.normalize import fold, is_chinese
from memgraph.analysis.terms import Terms, extract_terms

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
            (by_word[fold(word)] if is_chinese(word) else by_term[term]).update(others)
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
