"""The default ranker: BM25 with synonyms, dates and a boost of neighbours.

The ranker is an inverted index in a few segments, so that appended documents are indexed without the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memgraph.analysis.terms import Terms, extract_words, is_unit
from memgraph.models.dates import DAY_CHARS, days_of
from memgraph.retrieval.query import Document, Query
from memgraph.retrieval.terms import K1, B, idf

if TYPE_CHECKING:
    from memgraph.retrieval.embeddings import EmbeddingCache

Scores = NDArray[np.float64]
"""One score for each document, the higher the better, in the order of the documents."""

DATE_WEIGHT = 3.0
"""Weight of a document of a date in the query, times its idf; at 0 LifeBench loses .03 to .12 of the evidence."""

ANSWERED = 0.3
"""Share of a query's idf that a document covers which answers it; at 0.4 LoCoMo's words alone lose .007 of the evidence
in 500 tokens, at 0.25 questions about nothing known get 2 to 3 times the tokens."""
RARE = 0.003
"""A word that no larger share of the documents has answers a query alone; at 0.005 the same happens."""
NAMED = 0.2
"""Share of the documents that have a name by which alone a question is answered: what more have names their topic."""
CHARACTER_WEIGHT = 0.5
"""What a character alone counts of a word; at 0 our Chinese questions lose .04 of what a search finds."""

NEIGHBOUR_WEIGHT = 0.75
"""Weight of the score of a document just before or after; the next but one counts half.

At 0 LoCoMo loses .08 to .09 of the evidence.
"""
MAX_DISTANCE = 2
SHORT_TERMS = 12
"""A document of so many terms or fewer takes all of that; a longer one stands more by itself, and takes less.

If all take the same, RealMem loses .04 to .08 of the evidence.
"""

TIE = 1e-6
"""What a document with a name of the query scores less than the one before it, so that no two are equal."""

MIN_SEGMENT = 128
"""A smaller segment is built again together with the documents that follow it."""
SEGMENT_RATIO = 4
"""So is one that is not this many times as large as what follows: there are few segments, and few are built again."""


class LexicalIndex:
    """BM25 over documents, for a query expanded by synonyms.

        score = sum over query terms t of
                weight(t) * idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))

    then neighbours in a thread support each other: see `boost_neighbours`; and a document of a date that the query
    names scores DATE_WEIGHT * idf(date) more. The documents are in a few segments of falling size, so that adding one
    costs little.

    Args:
        documents: N documents in the order in which they were said.
        base: An index of the first of *documents*, whose segments are used again.

    Source:
        Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        The idf is Lucene's, which is never negative.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        _: EmbeddingCache | None = None,
        *,
        base: object = None,
    ) -> None:
        self.size = len(documents)
        known = base if isinstance(base, LexicalIndex) else None
        segments = reusable_segments(known.segments if known else (), self.size)
        rest = documents[sum(segment.size for segment in segments) :]
        self.segments = (*segments, *([Postings([document.terms for document in rest])] if rest else []))
        self._lengths = np.concatenate([np.zeros(0), *(segment.lengths for segment in self.segments)])
        mean_length = max(1.0, float(self._lengths.sum()) / max(1, self.size))
        self._weights = [segment.bm25_weights(mean_length) for segment in self.segments]
        self._threads = number_threads([document.thread for document in documents])
        spans = spans_of([document.dates for document in documents[known.size if known else 0 :]])
        self.spans = np.hstack([known.spans, spans]) if known else spans

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the documents."""
        if not self.size:
            return np.zeros(0)
        terms = self._weigh_terms(query)
        pairs = zip(self.segments, self._weights, strict=True)
        scores = np.concatenate([segment.sum_weights(terms, there) for segment, there in pairs])
        scores = scores if query.alone else boost_neighbours(scores, self._threads, self._lengths)
        scores = self._share(query, scores)
        if query.dates:
            matches, weight = self._weigh_dates(query)
            scores[matches] += weight
        return scores

    def _share(self, query: Query, scores: Scores) -> Scores:
        """Return *scores* so that documents with one of several names of *query* alternate with those with another.

        Unless they have more of the query than its names: then that decides.
        """
        if len(query.names) <= 1 or self._idf(query.terms.keys() - query.names):
            return scores
        ranks, levels, best = np.full(self.size, self.size), np.zeros(self.size), scores.max()
        for name in query.names:
            named = np.concatenate([segment.sum_weights({name: 1.0}) for segment in self.segments])
            newest = np.flatnonzero(named)[::-1]
            ranked = newest[np.argsort(-scores[newest], kind="stable")]
            if highest := scores[ranked].max(initial=0.0):
                ranks[ranked] = np.minimum(ranks[ranked], np.arange(len(ranked)))
                levels[ranked] = np.maximum(levels[ranked], scores[ranked] * best / highest)
        found = np.flatnonzero(levels)
        alternating = found[np.lexsort((-levels[found], ranks[found]))]
        shared = scores.copy()
        shared[alternating] = np.sort(levels[found])[::-1] - TIE * np.arange(len(found))
        return shared

    def answered(self, query: Query) -> float:
        """Return the coverage of *query* if a document answers it: see `Index`.

        That is one which covers ANSWERED of its idf, or as much as a word has that RARE of the documents have, or has
        a name that is ANSWERED of its words, and that NAMED of the documents have at most.
        """
        covered, total = self._cover(query)
        enough = min(ANSWERED * total, idf(self.size, max(1, round(RARE * self.size))))
        return covered / total if covered and (covered >= enough or self._is_named(query)) else 0.0

    def _is_named(self, query: Query) -> bool:
        most = idf(self.size, int(NAMED * self.size))
        rare = [name for name, weight in self._idf(query.names).items() if weight >= most]
        words = sum(CHARACTER_WEIGHT if len(term) == 1 else 1 for term in query.content if is_unit(term))
        return bool(rare) and len(rare) >= ANSWERED * words

    def coverage(self, query: Query) -> float:
        """Return the share of the idf of *query* that the document covers that has most of it, in [0, 1].

        A word that no document contains counts as the rarest; a synonym covers its part of a word.
        The dates that the query names count as one word. In a search, a character alone counts CHARACTER_WEIGHT: in
        scripts without spaces most words are pairs, and a character is in words of several meanings.
        """
        covered, total = self._cover(query)
        return covered / total if covered else 0.0

    def _cover(self, query: Query) -> tuple[float, float]:
        """Return the idf of *query* that the document covers that has most of it, and all of its idf."""
        if not self.size:
            return 0.0, 0.0
        unknown = idf(self.size, 0)
        weights = {term: weight * unknown for term, weight in query.terms.items()} | self._weigh_terms(query)
        if query.alone:
            weights |= {term: weight * CHARACTER_WEIGHT for term, weight in weights.items() if len(term) == 1}
        weights = {term: weight for term, weight in weights.items() if term in query.content or term not in query.terms}
        total = sum(weights[term] for term in query.content)
        covered = np.concatenate([segment.sum_weights(weights) for segment in self.segments])
        if query.dates:
            matches, weight = self._weigh_dates(query)
            covered[matches] += weight
            total += weight
        return min(total, float(covered.max())), total

    def _weigh_dates(self, query: Query) -> tuple[NDArray[np.bool_], float]:
        """Return which documents are about a date that *query* names, and the weight of that."""
        matches = match_dates(self.spans, query.dates)
        return matches, DATE_WEIGHT * idf(self.size, int(matches.sum()))

    def _weigh_terms(self, query: Query) -> dict[str, float]:
        """Return the terms to search for, and their weights times their idf."""
        own, synonyms = query.terms, query.synonyms
        rarity = self._idf({*own, *synonyms})
        weights = {term: weight * rarity[term] for term, weight in own.items() if term in rarity}
        for term, share in synonyms.items():
            if (weight := share * rarity.get(term, 0)) > weights.get(term, 0):
                weights[term] = weight
        return weights

    def _idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of those of *terms*, all different, that a document contains."""
        counts = Counter[str]()
        for segment in self.segments:
            counts.update(segment.count(terms))
        return {term: idf(self.size, count) for term, count in counts.items()}


# -- the inverted index ---------------------------------------------------------------------------


class Postings:
    """The terms of N documents. It never changes, so threads may share it.

    Args:
        terms: The terms of each document.
    """

    def __init__(self, terms: Sequence[Terms]) -> None:
        self.size = len(terms)
        counted = [Counter(of_document) for of_document in terms]
        containing = Counter(term for counts in counted for term in counts)
        self._ids = ids = {word: number for number, word in enumerate(containing)}
        self.lengths = np.array([len(of_document) for of_document in terms], dtype=np.float64)
        document = np.repeat(np.arange(self.size), [len(counts) for counts in counted])
        term = np.fromiter((ids[word] for counts in counted for word in counts), dtype=np.int64, count=len(document))
        tf = np.fromiter((n for counts in counted for n in counts.values()), dtype=np.float64, count=len(document))
        by_term = np.argsort(term, kind="stable")
        self._documents, self._tf = document[by_term], tf[by_term]
        self._counts = list(containing.values())
        self._ends = np.cumsum(self._counts, dtype=np.int64)

    def count(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many documents contain each of *terms*, without those that none contains."""
        return {term: self._counts[number] for term in terms if (number := self._ids.get(term)) is not None}

    def sum_weights(
        self, weights: Mapping[str, float], entries: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return for each document the sum of the weights of those terms that it contains.

        Args:
            weights: The weight of a term.
            entries: What a weight counts in each document that contains the term, see `bm25_weights`; default: all of
                it, however often the term occurs.
        """
        sums = np.zeros(self.size)
        for term, weight in weights.items():
            if (number := self._ids.get(term)) is not None:
                found = slice(self._ends[number] - self._counts[number], self._ends[number])
                sums[self._documents[found]] += weight if entries is None else weight * entries[found]
        return sums

    def bm25_weights(self, mean_length: float) -> NDArray[np.float64]:
        """Return what each term weighs in each document: tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))."""
        norm = K1 * (1 - B + B * self.lengths / mean_length)
        return self._tf * (K1 + 1) / (self._tf + norm[self._documents])


def reusable_segments(segments: Sequence[Postings], size: int) -> Sequence[Postings]:
    """Return those of *segments* that an index of *size* documents keeps; the rest is indexed again."""
    kept = list(segments)
    indexed = sum(segment.size for segment in kept)
    while kept and (indexed < size) and kept[-1].size < max(MIN_SEGMENT, SEGMENT_RATIO * (size - indexed)):
        indexed -= kept.pop().size
    return kept


# -- neighbours and dates -------------------------------------------------------------------------


def number_threads(names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each of *names*, the same for the same thread; -1 for an empty one."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in names], np.int64)


def boost_neighbours(
    scores: NDArray[np.float64], threads: NDArray[np.int64], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return *scores*, each >= 0, with what the neighbours of a document in its thread add.

        boosted = score + NEIGHBOUR_WEIGHT * min(1, SHORT_TERMS / length) * max of (score / distance) of its neighbours

    Args:
        scores: Of N documents, in the order in which they were said.
        threads: The number of the thread of each; below 0 if there is none.
        lengths: How many terms each has, shape (N,).
    """
    best = np.zeros(len(scores))
    for distance in range(1, MAX_DISTANCE + 1):
        weight = ((threads[distance:] == threads[:-distance]) & (threads[distance:] >= 0)) / distance
        np.maximum(best[distance:], scores[:-distance] * weight, out=best[distance:])
        np.maximum(best[:-distance], scores[distance:] * weight, out=best[:-distance])
    return scores + NEIGHBOUR_WEIGHT * np.minimum(1, SHORT_TERMS / np.maximum(1, lengths)) * best


def spans_of(dates: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the first and the last day that each of N documents is about, as ordinals, shape (2, N).

    Args:
        dates: The (partial) ISO 8601 dates of each document, in any order: it is about the time from the first to the
            last of them. A text that is not a date counts as none.
    """
    return np.array([_span(of_document) for of_document in dates], dtype=np.int64).reshape(-1, 2).T


def match_dates(spans: NDArray[np.int64], dates: Iterable[str]) -> NDArray[np.bool_]:
    """Return for each document whether its days, one of *spans*, are of one of *dates*, shape (N,): see `Query`."""
    firsts, lasts = spans
    found = np.zeros(len(firsts), dtype=bool)
    for value in dates:
        first, last = _span(value.split("/"))
        found |= (firsts <= last) & (lasts >= first)
    return found


_NEVER = (1, 0)
"""The span of a document without a date, which overlaps no other."""


def _span(dates: Iterable[str]) -> tuple[int, int]:
    """Return the first and the last day of *dates*, as ordinals."""
    found = [days for value in dates if (days := days_of(value[:DAY_CHARS]))]
    if not found:
        return _NEVER
    return min(days.first for days in found).toordinal(), max(days.last for days in found).toordinal()


# -- why ------------------------------------------------------------------------------------------


def matched_words(query: Query, documents: Sequence[Document]) -> list[tuple[str, ...]]:
    """Return the words of each of *documents* by which *query* finds it, in order, each once."""
    wanted = {*query.terms, *query.synonyms}
    return [
        tuple(dict.fromkeys(word for word, term in extract_words(document.words) if term in wanted))
        for document in documents
    ]
