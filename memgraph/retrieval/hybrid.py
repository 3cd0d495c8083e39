"""Words and meaning together: the lexical ranker fused with an embedding."""

from __future__ import annotations

import math
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
SATURATION = 0.2
"""How soon covering more of the query stops raising their weight. With none of its words they weigh nothing: in a
question in other words than the facts, the few that match are those that mean little."""
COMMON_WEIGHT = 0.5
"""How much of the cosine with COMMON_QUESTIONS is subtracted."""
NEAR = 0.6
"""Share of the score of chance that a document exceeds which answers a query by meaning."""
COMMON_QUESTIONS = (
    "我叫什么？我多大了？我喜欢什么？我讨厌什么？我住在哪里？我做什么工作？我家里有谁？我的朋友是谁？我什么时候去的？"
    "我为什么这样做？我最近怎么样？我有什么计划？我花了多少钱？我用的是什么？我平时几点开始？我跟谁一起？我会什么？"
    "我有什么要求？我吃什么？我学过什么？我买了什么？我身体怎么样？我去过哪些地方？我怎么回答？你知道我的什么？ "
    "What is my name? How old am I? What do I like? What do I hate? Where do I live? What is my job? Who is in my "
    "family? Who is my friend? When did I go? Why did I do that? How am I doing? What are my plans? How much did I "
    "spend? What do I use? At what time do I start? Who was with me? What can I do? What do I want from you? What do I "
    "eat? What have I studied? What did I buy? How is my health? Where have I been? How should it be answered? What do "
    "you know about me?"
)
"""Questions about everything: what is like them is like any question, whatever it is about."""


class _Embedded(NamedTuple):
    """The vectors of N documents."""

    vectors: Vector
    known: NDArray[np.bool_]
    """Shape (N,): which documents have a vector."""
    common: Vector
    """The vector of COMMON_QUESTIONS, shape (D,)."""
    generation: int
    """That of the model."""


class HybridIndex:
    """The weighted mean of two scores, each standardised over the documents.

        score   = w * z(lexical) + (1 - w) * z(meaning), 0 if that is less
        meaning = cosine(query, document) - COMMON_WEIGHT * cosine(COMMON_QUESTIONS, document)
        w       = MAX_LEXICAL_WEIGHT * (1 + SATURATION) * covered / (covered + SATURATION)
        z(x)    = (x - mean) / standard deviation

    where *covered* is the share of the query's idf that the best document covers: see `LexicalIndex.coverage`. The
    common questions stand for all: a document near every question, a hub, is not found for that alone. A
    document that has no vector yet counts by its words: see `EmbeddingCache.embed_newest`.

    Args:
        documents: N documents in the order in which they were said.
        vectors: The embedding, called by the first question.
        extract: Returns the terms of texts.
        base: An index of the first of *documents*, whose parts are used again.

    Raises:
        EmbeddingError: If there is no embedding model.

    Source:
        Radovanović et al., "Hubs in Space: Popular Nearest Neighbors in High-Dimensional Data", 2010.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: EmbeddingCache | None,
        *,
        extract: TermExtractor = extract_all_terms,
        base: object = None,
    ) -> None:
        if vectors is None:
            raise EmbeddingError('ranker "hybrid" needs an embedding model: pass embeddings=, any LangChain Embeddings')
        known = base.lexical if isinstance(base, HybridIndex) else None
        self.lexical = LexicalIndex(documents, extract=extract, base=known)
        self._cache = vectors
        self._texts = [document.text for document in documents]
        self._embedded: _Embedded | None = None

    def scores(self, query: Query) -> Scores:
        """Return N scores, each >= 0, in the order of the documents.

        Raises:
            EmbeddingError: If the embedding model fails.
        """
        lexical = self.lexical.scores(query)
        if not len(lexical):
            return lexical
        weight = lexical_weight(self.lexical.coverage(query))
        by_words = standardise(lexical)
        fused = weight * by_words + (1 - weight) * self._by_meaning(query, by_words)
        return np.maximum(fused, 0.0)

    def answered(self, query: Query) -> float:
        """Return how much of *query* is answered, by words or by meaning: see `Index`.

            answered by meaning = 1 - chance / highest z(meaning)
            chance              = NEAR * sqrt(2 log N)

        The highest of N scores that are normally distributed is about sqrt(2 log N), whatever the query is.

        Raises:
            EmbeddingError: If the embedding model fails.
        """
        size = len(self._texts)
        by_words = self.lexical.answered(query)
        if by_words == 1 or not size:
            return by_words
        nearest = float(self._by_meaning(query, np.zeros(size)).max())
        chance = NEAR * math.sqrt(2 * math.log(size))
        return max(by_words, 1 - chance / nearest) if nearest > chance else by_words

    def _by_meaning(self, query: Query, otherwise: Scores) -> Scores:
        """Return the standardised scores by meaning; those of *otherwise* for documents that have no vector yet."""
        vectors, known, common, _ = self._embed()
        direction = self._cache.embed_query(query.text) - COMMON_WEIGHT * common
        scores = otherwise.copy()
        scores[known] = standardise((vectors[known] @ direction).astype(np.float64))
        return scores

    def _embed(self) -> _Embedded:
        """Return the vectors; those that are missing are embedded, as far as the time limit allows."""
        embedded, generation = self._embedded, self._cache.generation
        if embedded is None or embedded.generation != generation or not embedded.known.all():
            # the last text is embedded first, so that its vector is there whatever the time limit
            vectors, known = self._cache.embed_newest([*self._texts, COMMON_QUESTIONS])
            embedded = self._embedded = _Embedded(vectors[:-1], known[:-1], vectors[-1], generation)
        return embedded


def lexical_weight(covered: float) -> float:
    """Return the weight of the words, if the best document covers this share of the query."""
    return MAX_LEXICAL_WEIGHT * (1 + SATURATION) * covered / (covered + SATURATION)


def standardise(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 if they are equal."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))
