"""How well facts fit a question, by the words they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memgraph.retrieval.terms import terms


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
