"""Words and meaning together: the lexical ranker with an embedding fused in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgraph.models import Fact
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex, Scores, searchable_text
from memgraph.retrieval.query import Query

SEMANTIC_WEIGHT = 0.5
"""How much the embedding counts; the words count the rest."""


class HybridIndex:
    """The weighted mean of two scores, each standardised within the memory.

        score = (1 - MEANING) * z(lexical) + MEANING * z(cosine), less the lowest of the memory
        z(x)  = (x - mean) / standard deviation

    Args:
        facts: N facts in the order of the memory.
        vectors: The embedding.

    Raises:
        EmbeddingError: If the embedding model does not answer.
    """

    def __init__(self, facts: Sequence[Fact], vectors: EmbeddingCache) -> None:
        self._words = LexicalIndex(facts)
        self._vectors = vectors
        self._facts = vectors.of_texts([searchable_text(fact) for fact in facts])

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the facts.

        Raises:
            EmbeddingError: If the embedding model does not answer.
        """
        words = self._words.scores(query)
        if not len(words):
            return words
        cosine = (self._facts @ self._vectors.of_query(query.text)).astype(np.float64)
        fused = (1 - SEMANTIC_WEIGHT) * standardised(words) + SEMANTIC_WEIGHT * standardised(cosine)
        return fused - fused.min()


def standardised(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 where they are all the same."""
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
