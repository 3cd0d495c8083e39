"""Words and meaning together: the lexical ranker fused with an embedding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgraph.retrieval.documents import Document
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.terms import extract_all_terms

MAX_LEXICAL_WEIGHT = 0.5
"""Weight of the words if a document has all words of the query; the embedding has the rest."""
MIN_LEXICAL_WEIGHT = 0.3
"""Their weight if no document has any of them: a match of few words means little."""


class HybridIndex:
    """The weighted mean of two scores, each standardised over the documents.

        score = w * z(lexical) + (1 - w) * z(cosine), less the lowest of all
        w     = MIN_LEXICAL_WEIGHT + (MAX_LEXICAL_WEIGHT - MIN_LEXICAL_WEIGHT) * covered
        z(x)  = (x - mean) / standard deviation

    where *covered* is the share of the query's idf that the best document covers: see `LexicalIndex.coverage`.

    Args:
        documents: N documents in the order in which they were said.
        vectors: The embedding.
        extract: Returns the terms of texts.
        base: An index of the first of *documents*, whose parts are used again.

    Raises:
        EmbeddingError: If the embedding model fails.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: EmbeddingCache,
        *,
        extract: TermExtractor = extract_all_terms,
        base: HybridIndex | None = None,
    ) -> None:
        self._lexical = LexicalIndex(documents, extract=extract, base=base.lexical if base else None)
        self._cache = vectors
        self._vectors = vectors.embed_texts([document.text for document in documents])

    @property
    def lexical(self) -> LexicalIndex:
        """The index of the words."""
        return self._lexical

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the documents.

        Raises:
            EmbeddingError: If the embedding model fails.
        """
        lexical = self._lexical.scores(query)
        if not len(lexical):
            return lexical
        cosine = (self._vectors @ self._cache.embed_query(query.text)).astype(np.float64)
        weight = lexical_weight(self._lexical.coverage(query))
        fused = weight * standardise(lexical) + (1 - weight) * standardise(cosine)
        return fused - fused.min()


def lexical_weight(covered: float) -> float:
    """Return the weight of the words, if the best document covers this share of the query."""
    return MIN_LEXICAL_WEIGHT + (MAX_LEXICAL_WEIGHT - MIN_LEXICAL_WEIGHT) * covered


def standardise(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 if they are equal."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))
