"""The default ranker: BM25 over stems and Chinese fragments, helped by words that look alike and by threads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models import Fact
from memgraph.retrieval.fuzzy import Vocabulary
from memgraph.retrieval.query import Query
from memgraph.retrieval.synonyms import packaged_bridge
from memgraph.retrieval.terms import terms
from memgraph.retrieval.thread_boost import ThreadBoost


def bm25(query: str, texts: Sequence[str], *, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Score *texts* against *query* by BM25.

        score = sum over query terms t of
                idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))

    Args:
        query: Free text. Empty text scores every text 0.
        texts: N texts in any order.
        k1: How soon repeating a term stops helping; 0 counts presence only.
        b: How far long texts are discounted, from 0 (not at all) to 1.

    Returns:
        N scores, each >= 0, in the order of *texts*.

    Source:
        Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        The idf is Lucene's, which is never negative.
    """
    asked = set(terms(query))
    counted = [(Counter(word for word in words if word in asked), len(words)) for words in map(terms, texts)]
    holding = Counter(word for counts, _ in counted for word in counts)
    idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    mean = sum(length for _, length in counted) / len(counted) if counted else 0
    return [
        sum(idf[word] * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)) for word, tf in counts.items())
        for counts, length in counted
    ]


Scores = NDArray[np.float64]

K1 = 1.5
B = 0.6
ALIKE_WEIGHT = 0.4
"""How much a word counts that only looks like the one asked for, times their likeness."""
MEANT_WEIGHT = 0.5
"""How much a word counts that means what the one asked for means."""


class LexicalIndex:
    """BM25, whose query also holds words that look like, or mean, what was asked.

        score = sum over query terms t of
                weight(t) * idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))

    then the facts of a thread help each other: see `Threads`.

    Args:
        facts: N facts in the order of the memory.
        k1: How soon repeating a term stops helping; 0 counts presence only.
        b: How far long facts are discounted, from 0 (not at all) to 1.

    Source:
        Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        The idf is Lucene's, which is never negative.
    """

    def __init__(self, facts: Sequence[Fact], *, k1: float = K1, b: float = B) -> None:
        counted = [Counter(terms(searchable_text(fact))) for fact in facts]
        holding = Counter(term for counts in counted for term in counts)
        self._size = len(facts)
        self._words = Vocabulary(holding)
        self._idf = [math.log(1 + (self._size - n + 0.5) / (n + 0.5)) for n in holding.values()]
        self._threads = ThreadBoost(facts)
        self._postings(counted, k1, b)

    def _postings(self, counted: Sequence[Counter[str]], k1: float, b: float) -> None:
        """Keep, for the term numbered t, the facts that hold it and its weight there: a slice of two arrays."""
        lengths = np.array([counts.total() for counts in counted], dtype=np.float64)
        ids = self._words.ids
        fact = np.repeat(np.arange(self._size), [len(counts) for counts in counted])
        term = np.fromiter((ids[word] for counts in counted for word in counts), dtype=np.int64, count=len(fact))
        tf = np.fromiter((n for counts in counted for n in counts.values()), dtype=np.float64, count=len(fact))
        norm = k1 * (1 - b + b * lengths / max(1.0, lengths.mean() if self._size else 1.0))
        weight = tf * (k1 + 1) / (tf + norm[fact])
        by_term = np.argsort(term, kind="stable")
        self._facts, self._weights = fact[by_term], weight[by_term]
        self._starts = np.searchsorted(term[by_term], np.arange(len(ids) + 1))

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the facts."""
        scores = np.zeros(self._size)
        for term, weight in self._asked(query).items():
            found = slice(self._starts[term], self._starts[term + 1])
            scores[self._facts[found]] += weight * self._weights[found]
        return self._threads.apply(scores)

    def _asked(self, query: Query) -> dict[int, float]:
        """Return the numbers of the terms to look for, and how much each counts."""
        said, meant = _weights(query)
        asked = {self._words.ids[word]: weight * self._rarity(word) for word, weight in said.items() if word in self}
        akin = [(self._words.ids[word], weight * self._rarity(word)) for word, weight in meant.items() if word in self]
        akin.extend(self._alike(said))
        for term, weight in akin:
            asked[term] = max(asked.get(term, 0), weight)
        return asked

    def __contains__(self, word: str) -> bool:
        return word in self._words.ids

    def _rarity(self, word: str) -> float:
        return self._idf[self._words.ids[word]] if word in self else math.inf

    def _alike(self, said: Mapping[str, float]) -> Iterator[tuple[int, float]]:
        """Yield the numbers of the terms that look like one of *said*; none counts as rarer than that one."""
        for word, term, likeness in self._words.similar(said):
            yield term, said[word] * ALIKE_WEIGHT * likeness * min(self._rarity(word), self._idf[term])


def _weights(query: Query) -> tuple[dict[str, float], dict[str, float]]:
    """Return the terms of *query*, and those that mean the same; a term counts as in the turn that counts most."""
    said, meant = dict[str, float](), dict[str, float]()
    for text, weight in sorted(query.parts, key=_weight_of, reverse=True):
        for term in terms(text):
            said[term] = max(said.get(term, 0), weight)
        for term in packaged_bridge().expand(text):
            meant[term] = max(meant.get(term, 0), weight * MEANT_WEIGHT)
    return said, meant


def _weight_of(part: tuple[str, float]) -> float:
    return part[1]


def searchable_text(fact: Fact) -> str:
    """Return the text by which *fact* is found."""
    return f"{fact.content}\n{fact.source_error}" if fact.source_error else fact.content
