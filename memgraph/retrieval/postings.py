"""An inverted index: which documents contain a term, and how much of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

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

    def find(self, term: str) -> slice:
        """Return the part of `documents` and `tf` that is about *term*; empty if no document contains it."""
        number = self.vocabulary.ids.get(term)
        return slice(0, 0) if number is None else slice(self._starts[number], self._starts[number + 1])

    def count(self, term: str) -> int:
        """Return how many documents contain *term*."""
        number = self.vocabulary.ids.get(term)
        return 0 if number is None else self._starts[number + 1] - self._starts[number]


def bm25_weights(postings: Postings, mean_length: float, k1: float, b: float) -> NDArray[np.float64]:
    """Return the weight of each entry of *postings*: tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))."""
    norm = k1 * (1 - b + b * postings.lengths / mean_length)
    return postings.tf * (k1 + 1) / (postings.tf + norm[postings.documents])
