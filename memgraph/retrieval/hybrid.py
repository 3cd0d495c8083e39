"""Words and meaning together: the lexical ranker fused with an embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph.errors import EmbeddingError
from memgraph.retrieval.documents import Document
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.terms import extract_all_terms
from memgraph.retrieval.vector_store import Vector

MAX_LEXICAL_WEIGHT = 0.5
"""Weight of the words if a document has all words of the query; the embedding has the rest."""
MIN_LEXICAL_WEIGHT = 0.3
"""Their weight if no document has any of them: a match of few words means little."""


class _Embedded(NamedTuple):
    """The vectors of N documents."""

    vectors: Vector
    known: NDArray[np.bool_]
    """Shape (N,): which documents have a vector."""
    generation: int
    """That of the model."""


class HybridIndex:
    """The weighted mean of two scores, each standardised over the documents.

        score = w * z(lexical) + (1 - w) * z(cosine), less the lowest of all
        w     = MIN_LEXICAL_WEIGHT + (MAX_LEXICAL_WEIGHT - MIN_LEXICAL_WEIGHT) * covered
        z(x)  = (x - mean) / standard deviation

    where *covered* is the share of the query's idf that the best document covers: see `LexicalIndex.coverage`. A
    document that has no vector yet counts by its words: see `EmbeddingCache.embed_newest`.

    Args:
        documents: N documents in the order in which they were said.
        vectors: The embedding, called by the first question.
        extract: Returns the terms of texts.
        base: An index of the first of *documents*, whose parts are used again.
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
        self._texts = [document.text for document in documents]
        self._embedded: _Embedded | None = None

    @classmethod
    def build(
        cls,
        documents: Sequence[Document],
        extract: TermExtractor,
        vectors: EmbeddingCache | None,
        base: object = None,
    ) -> HybridIndex:
        """Build the index of *documents*: see `Ranker`.

        Raises:
            EmbeddingError: If there is no embedding model.
        """
        if vectors is None:
            raise EmbeddingError('ranker "hybrid" needs an embedding model: pass embeddings=, any LangChain Embeddings')
        return cls(documents, vectors, extract=extract, base=base if isinstance(base, HybridIndex) else None)

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
        vectors, known, _ = self._embed()
        cosine = (vectors[known] @ self._cache.embed_query(query.text)).astype(np.float64)
        weight = lexical_weight(self._lexical.coverage(query))
        by_words = standardise(lexical)
        by_meaning = by_words.copy()
        by_meaning[known] = standardise(cosine)
        fused = weight * by_words + (1 - weight) * by_meaning
        return fused - fused.min()

    def _embed(self) -> _Embedded:
        """Return the vectors; those that are missing are embedded, as far as the time limit allows."""
        embedded, generation = self._embedded, self._cache.generation
        if embedded is None or embedded.generation != generation or not embedded.known.all():
            embedded = self._embedded = _Embedded(*self._cache.embed_newest(self._texts), generation)
        return embedded


def lexical_weight(covered: float) -> float:
    """Return the weight of the words, if the best document covers this share of the query."""
    return MIN_LEXICAL_WEIGHT + (MAX_LEXICAL_WEIGHT - MIN_LEXICAL_WEIGHT) * covered


def standardise(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 if they are equal."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))
