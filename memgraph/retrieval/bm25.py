"""BM25: the plain formula, without NumPy: an update, which ranks once, need not import it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memgraph.retrieval.terms import extract_terms

K1 = 1.2
"""How soon repeating a term stops helping; 0 counts presence only."""
B = 0.75
"""How far long texts are discounted, from 0 (not at all) to 1."""


def bm25(query: str, texts: Sequence[str], *, k1: float = K1, b: float = B) -> list[float]:
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
    wanted = frozenset(extract_terms(query))
    counted = [
        ({term: terms.count(term) for term in wanted.intersection(terms)}, len(terms))
        for terms in map(extract_terms, texts)
    ]
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
