"""An inverted index: which documents contain a term, and how much of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memgraph.retrieval.documents import Document
from memgraph.retrieval.fuzzy import Vocabulary
from memgraph.retrieval.terms import Terms

TermCounts = Mapping[str, float]
"""How often each term occurs in a document, each occurrence counted by the weight of its text."""


def count_terms(documents: Sequence[Document], terms_of: Mapping[str, Terms]) -> list[TermCounts]:
    """Return the weighted terms of each of *documents*, given the terms of each text."""
    return [_count(document, terms_of) for document in documents]


def _count(document: Document, terms_of: Mapping[str, Terms]) -> TermCounts:
    if not document.context:
        return Counter(terms_of[document.text])
    counts = defaultdict[str, float](float, Counter(terms_of[document.text]))
    for text, weight in document.context:
        for term in terms_of[text]:
            counts[term] += weight
    return counts


class Postings:
    """The terms of N documents. It never changes, so threads may share it.

    Args:
        counted: The terms of each document.
    """

    def __init__(self, counted: Sequence[TermCounts]) -> None:
        self.size = len(counted)
        containing = Counter(term for counts in counted for term in counts)
        self.vocabulary = Vocabulary(containing)
        self.lengths = np.array([sum(counts.values()) for counts in counted], dtype=np.float64)
        ids = self.vocabulary.ids
        document = np.repeat(np.arange(self.size), [len(counts) for counts in counted])
        term = np.fromiter((ids[word] for counts in counted for word in counts), dtype=np.int64, count=len(document))
        tf = np.fromiter((n for counts in counted for n in counts.values()), dtype=np.float64, count=len(document))
        by_term = np.argsort(term, kind="stable")
        self.documents, self.tf = document[by_term], tf[by_term]
        # plain numbers: a query looks up a hundred terms
        self._starts: list[int] = np.searchsorted(term[by_term], np.arange(len(ids) + 1)).tolist()

    def count(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many documents contain each of *terms*, without those that none contains."""
        ids, starts = self.vocabulary.ids, self._starts
        known = [(term, ids[term]) for term in terms if term in ids]
        return {term: starts[number + 1] - starts[number] for term, number in known}

    def sum_weights(
        self, weights: Mapping[str, float], entries: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return for each document the sum of the weights of those terms that it contains.

        Args:
            weights: The weight of a term.
            entries: What the weight counts of each entry of `documents`; default: all of it, however often a document
                contains the term.
        """
        ids, starts, sums = self.vocabulary.ids, self._starts, np.zeros(self.size)
        for number, weight in [(ids[term], weight) for term, weight in weights.items() if term in ids]:
            part = slice(starts[number], starts[number + 1])
            sums[self.documents[part]] += weight if entries is None else weight * entries[part]
        return sums


def bm25_weights(postings: Postings, mean_length: float, k1: float, b: float) -> NDArray[np.float64]:
    """Return the weight of each entry of *postings*: tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))."""
    norm = k1 * (1 - b + b * postings.lengths / mean_length)
    return postings.tf * (k1 + 1) / (postings.tf + norm[postings.documents])
