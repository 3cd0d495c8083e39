"""Words and meaning together: the lexical ranker fused with an embedding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgraph.models import Fact
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor, searchable_text
from memgraph.retrieval.query import Query
from memgraph.retrieval.terms import extract_all_terms

SEMANTIC_WEIGHT = 0.5
"""Weight of the embedding; the words have the rest."""


class HybridIndex:
    """The weighted mean of two scores, each standardised within the memory.

        score = (1 - SEMANTIC_WEIGHT) * z(lexical) + SEMANTIC_WEIGHT * z(cosine), less the lowest of the memory
        z(x)  = (x - mean) / standard deviation

    Args:
        facts: N facts in the order of the memory.
        vectors: The embedding.
        extract: Returns the terms of texts.

    Raises:
        EmbeddingError: If the embedding model fails.
    """

    def __init__(
        self, facts: Sequence[Fact], vectors: EmbeddingCache, *, extract: TermExtractor = extract_all_terms
    ) -> None:
        self._lexical = LexicalIndex(facts, extract=extract)
        self._cache = vectors
        self._vectors = vectors.embed_texts([searchable_text(fact) for fact in facts])

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the facts.

        Raises:
            EmbeddingError: If the embedding model fails.
        """
        lexical = self._lexical.scores(query)
        if not len(lexical):
            return lexical
        cosine = (self._vectors @ self._cache.embed_query(query.text)).astype(np.float64)
        fused = (1 - SEMANTIC_WEIGHT) * standardise(lexical) + SEMANTIC_WEIGHT * standardise(cosine)
        return fused - fused.min()


def standardise(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 if they are equal."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))
