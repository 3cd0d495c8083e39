"""BM25: the plain formula, and the default ranker, which adds similar words, synonyms and a boost of threads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.models import MANUAL, UNKNOWN_THREAD, Fact
from memgraph.retrieval.fuzzy import Vocabulary
from memgraph.retrieval.query import Query
from memgraph.retrieval.synonyms import load_synonyms
from memgraph.retrieval.terms import Terms, extract_all_terms, extract_terms

THREAD_WEIGHT = 0.25
"""Weight of the mean of the best scores of a fact's thread."""
TOP_N = 3
"""How many scores of a thread are its best."""
NEIGHBOUR_WEIGHT = 0.25
"""Weight of the score of a fact learned just before or after; the next but one counts half."""
MAX_DISTANCE = 2
NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""


class ThreadBoost:
    """The threads that facts were learned from, and what they add to scores.

        boosted = score + THREAD_WEIGHT * mean of the TOP_N best scores of the thread
                        + NEIGHBOUR_WEIGHT * max(score at distance 1, score at distance 2 / 2)

    Args:
        facts: N facts in the order of the memory, which is that of learning.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        numbers: dict[str, int] = {}
        has_thread = np.array([fact.source not in NO_THREAD for fact in facts], dtype=bool)
        self._threads = np.array([numbers.setdefault(fact.source, len(numbers)) for fact in facts], dtype=np.int64)
        self._threads[~has_thread] = -1
        self._count = len(numbers)

    def apply(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *scores*, shape (N,), each >= 0, with what their threads add."""
        matches = np.flatnonzero((scores > 0) & (self._threads >= 0))
        if not len(matches):
            return scores
        return (
            scores
            + THREAD_WEIGHT * self._thread_means(scores, matches)
            + NEIGHBOUR_WEIGHT * self._neighbour_scores(scores)
        )

    def _thread_means(self, scores: NDArray[np.float64], matches: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each fact the mean of the TOP_N best scores of its thread; missing ones count 0."""
        best_first = matches[np.lexsort((-scores[matches], self._threads[matches]))]
        threads = self._threads[best_first]
        starts = np.searchsorted(threads, threads)
        top = best_first[np.arange(len(threads)) - starts < TOP_N]
        means = np.bincount(self._threads[top], scores[top], minlength=self._count) / TOP_N
        return np.where(self._threads >= 0, means[self._threads], 0)

    def _neighbour_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each fact the best score near it in its thread, divided by the distance."""
        best = np.zeros(len(scores))
        for distance in range(1, MAX_DISTANCE + 1):
            is_same = (self._threads[distance:] == self._threads[:-distance]) & (self._threads[distance:] >= 0)
            weight = is_same / distance
            np.maximum(best[distance:], scores[:-distance] * weight, out=best[distance:])
            np.maximum(best[:-distance], scores[distance:] * weight, out=best[:-distance])
        return best


Scores = NDArray[np.float64]
"""One score for each fact, the higher the better, in the order of the facts."""

TermExtractor = Callable[[Sequence[str]], Sequence[Terms]]
"""Returns the terms of each text: `extract_all_terms`, or a cache in front of it."""

K1 = 1.5
B = 0.6
FUZZY_WEIGHT = 0.4
"""Weight of a word that is only spelled like a query term, times their similarity."""
SYNONYM_WEIGHT = 0.5
"""Weight of a synonym of a query term."""


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
    wanted = set(extract_terms(query))
    counted = [(Counter(term for term in terms if term in wanted), len(terms)) for terms in extract_all_terms(texts)]
    document_counts = Counter(term for counts, _ in counted for term in counts)
    idf = {term: _idf(len(texts), count) for term, count in document_counts.items()}
    mean = sum(length for _, length in counted) / len(counted) if counted else 0
    return [
        sum(idf[term] * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)) for term, tf in counts.items())
        for counts, length in counted
    ]


def _idf(documents: int, containing: int) -> float:
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


class LexicalIndex:
    """BM25 over facts, for a query expanded by similar words and synonyms.

        score = sum over query terms t of
                weight(t) * idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))

    then facts of one thread support each other: see `ThreadBoost`.

    Args:
        facts: N facts in the order of the memory.
        k1: How soon repeating a term stops helping; 0 counts presence only.
        b: How far long facts are discounted, from 0 (not at all) to 1.
        extract: Returns the terms of texts.

    Source:
        Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        The idf is Lucene's, which is never negative.
    """

    def __init__(
        self, facts: Sequence[Fact], *, k1: float = K1, b: float = B, extract: TermExtractor = extract_all_terms
    ) -> None:
        counted = [Counter(terms) for terms in extract([searchable_text(fact) for fact in facts])]
        document_counts = Counter(term for counts in counted for term in counts)
        self._size = len(facts)
        self._vocabulary = Vocabulary(document_counts)
        self._idf = [_idf(self._size, count) for count in document_counts.values()]
        self._threads = ThreadBoost(facts)
        self._build_postings(counted, k1, b)

    def _build_postings(self, counted: Sequence[Counter[str]], k1: float, b: float) -> None:
        """Store, for term number t, the facts that contain it and its weight there: a slice of two arrays."""
        lengths = np.array([counts.total() for counts in counted], dtype=np.float64)
        ids = self._vocabulary.ids
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
        for number, weight in self._weigh_terms(query).items():
            postings = slice(self._starts[number], self._starts[number + 1])
            scores[self._facts[postings]] += weight * self._weights[postings]
        return self._threads.apply(scores)

    def _weigh_terms(self, query: Query) -> dict[int, float]:
        """Return the numbers of the terms to search for, and their weights times their idf."""
        own, synonyms = _weigh_query(query)
        ids, idf = self._vocabulary.ids, self._idf
        weights = {ids[term]: weight * idf[ids[term]] for term, weight in own.items() if term in ids}
        related = [(ids[term], weight * idf[ids[term]]) for term, weight in synonyms.items() if term in ids]
        for term, number, similarity in self._vocabulary.similar(own):
            # a similar word must not count as rarer than the one that the query has
            rarity = min(idf[ids[term]], idf[number]) if term in ids else idf[number]
            related.append((number, own[term] * FUZZY_WEIGHT * similarity * rarity))
        for number, weight in related:
            weights[number] = max(weights.get(number, 0), weight)
        return weights


def _weigh_query(query: Query) -> tuple[dict[str, float], dict[str, float]]:
    """Return the terms of *query* and their synonyms, each with its weight in the turn in which it weighs most."""
    parts = sorted(query.parts, key=lambda part: part[1], reverse=True)
    own, synonyms = dict[str, float](), dict[str, float]()
    synonym_map = load_synonyms()
    terms_of_parts = extract_all_terms([text for text, _ in parts])
    for (text, weight), terms in zip(parts, terms_of_parts, strict=True):
        for term in terms:
            own.setdefault(term, weight)
        for term in synonym_map.expand(text, terms):
            synonyms.setdefault(term, weight * SYNONYM_WEIGHT)
    return own, synonyms


def searchable_text(fact: Fact) -> str:
    """Return the text by which *fact* is found."""
    return f"{fact.content}\n{fact.source_error}" if fact.source_error else fact.content
