"""The rankers by name: the hybrid one, and the reference ranker. A new ranker is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from memgraph._yaml import read_packaged
from memgraph.analysis.terms import extract_terms
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex, Scores
from memgraph.retrieval.query import Document, Query
from memgraph.retrieval.vector_store import Vector

MAX_LEXICAL_WEIGHT = 0.5
"""Weight of the words if a document has all words of the query; the embedding has the rest."""
SATURATION = 0.2
"""How soon covering more of the query stops raising their weight. With none of its words they weigh nothing: in a
question in other words than the facts, the few that match are those that mean little."""
COMMON_WEIGHT = 0.5
"""How much of the cosine with COMMON_QUESTIONS is subtracted."""
LEAST_MEANING = 0.17
"""Nearness to the query, of (nothing in common, the same), from which a document answers it by meaning."""
_TEXTS: Mapping[str, str] = read_packaged("memgraph.retrieval", "common_texts.yaml")
COMMON_QUESTIONS = _TEXTS["questions"]
"""Questions about everything: what is like them is like any question, whatever it is about."""
COMMON_STATEMENTS = _TEXTS["statements"]
"""Statements about everything: the nearness of a query to them is that to any statement."""
COMMON_TEXTS = (COMMON_QUESTIONS, COMMON_STATEMENTS)


class _Embedded(NamedTuple):
    """The vectors of N documents."""

    vectors: Vector
    known: NDArray[np.bool_]
    """Shape (N,): which documents have a vector."""
    common: Vector
    """The vectors of COMMON_TEXTS, shape (2, D)."""
    generation: int
    """That of the model."""


class HybridIndex:
    """The weighted mean of two scores, each standardised over the documents.

        score   = w * z(lexical) + (1 - w) * z(meaning), 0 if that is less
        meaning = cosine(query, document) - COMMON_WEIGHT * cosine(COMMON_QUESTIONS, document)
        w       = 1 - known * (1 - MAX_LEXICAL_WEIGHT * (1 + SATURATION) * covered / (covered + SATURATION))
        z(x)    = (x - mean) / standard deviation

    A single document has nothing to be compared with: it scores 1 if it answers the query, else 0.

    There *known* is the share of the documents that have a vector, and *covered* that of the query's idf which the
    best document covers: see `LexicalIndex.coverage`. The common questions stand for all: a document near every
    question, a hub, is not found for that alone. One that has no vector yet counts by its words: see
    `EmbeddingCache.look_up`.

    Args:
        documents: N documents in the order in which they were said.
        vectors: The embedding, called by the first question.
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
        base: object = None,
    ) -> None:
        if vectors is None:
            raise EmbeddingError('ranker "hybrid" needs an embedding model: pass embeddings=, any LangChain Embeddings')
        known = base.lexical if isinstance(base, HybridIndex) else None
        self.lexical = LexicalIndex(documents, base=known)
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
        vectors, known, common, _ = self._embed()
        if len(lexical) == 1:
            return np.array([float(self.answered(query) > 0)])
        by_words = standardise(lexical)
        if not known.any():
            return np.maximum(by_words, 0.0)
        direction = self._cache.embed_query(query.text) - COMMON_WEIGHT * common[0]
        by_meaning = by_words.copy()
        by_meaning[known] = standardise((vectors[known] @ direction).astype(np.float64))
        weight = 1 - known.mean() * (1 - lexical_weight(self.lexical.coverage(query)))
        return np.maximum(weight * by_words + (1 - weight) * by_meaning, 0.0)

    def answered(self, query: Query) -> float:
        """Return how much of *query* is answered, by words or by meaning: see `Index`.

            answered by meaning = (cosine(query, document) - common) / (1 - common), of the nearest document
            common              = mean of cosine(query, COMMON_STATEMENTS) and cosine(COMMON_QUESTIONS, document)

        and 0 below LEAST_MEANING: how near a model places texts that have nothing in common is known only by example.

        Raises:
            EmbeddingError: If the embedding model fails.
        """
        by_words = self.lexical.answered(query)
        if by_words == 1 or not self._texts:
            return by_words
        vectors, known, (questions, statements), _ = self._embed()
        if not known.any():
            return by_words
        asked, said = self._cache.embed_query(query.text), vectors[known]
        common = (asked @ statements + said @ questions) / 2
        nearest = float(((said @ asked - common) / (1 - common)).max())
        return max(by_words, nearest) if nearest >= LEAST_MEANING else by_words

    def _embed(self) -> _Embedded:
        """Return the vectors that are known, or all of them: see `EmbeddingCache.look_up`."""
        embedded, generation = self._embedded, self._cache.generation
        if embedded is None or embedded.generation != generation or not embedded.known.all():
            # the last texts are embedded first: without the common ones no question is answered by meaning
            vectors, known = self._cache.look_up([*self._texts, *COMMON_TEXTS], self)
            size = len(self._texts)
            usable = known[:size] & known[size:].all()
            embedded = self._embedded = _Embedded(vectors[:size], usable, vectors[size:], generation)
        return embedded


def lexical_weight(covered: float) -> float:
    """Return the weight of the words, if the best document covers this share of the query."""
    return MAX_LEXICAL_WEIGHT * (1 + SATURATION) * covered / (covered + SATURATION)


def standardise(scores: Scores) -> Scores:
    """Return *scores* with mean 0 and standard deviation 1; all 0 if they are equal."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))


# -- rankers by name --------------------------------------------------------------------------------

DEFAULT_RANKER = "lexical"


class Index(Protocol):
    """What a ranker builds from documents: built once, queried often."""

    def scores(self, query: Query) -> Scores:
        """Return one score for each document, the higher the better, in the order of the documents."""
        ...

    def answered(self, query: Query) -> float:
        """Return how much of *query* the best document answers, in [0, 1]; 0 if none does: all matches are noise."""
        ...


Ranker = Callable[..., Index]
"""Builds the index of documents: `Ranker(documents, vectors, base=base)`.

*vectors* is the embedding or None, *base* is an index of the first of *documents* by the same ranker or None. It uses
what it needs of them.
"""


class TfidfIndex:
    """Cosine similarity of TF-IDF vectors.

        score = cosine(tfidf(query), tfidf(document))

    A baseline for comparison, over the same terms as the other rankers.

    Args:
        documents: N documents in any order.
    """

    def __init__(self, documents: Sequence[Document], *_: object, **_unused: object) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer: Any = TfidfVectorizer(analyzer=cast("Any", extract_terms))
        self._size = len(documents)
        try:
            self._vectors: Any = self._vectorizer.fit_transform([document.words for document in documents])
        except ValueError:  # no document has a word
            self._vectors = None

    def scores(self, query: Query) -> Scores:
        """Return N scores in [0, 1], in the order of the documents."""
        if self._vectors is None or not query:
            return np.zeros(self._size)
        cosine = (self._vectors @ self._vectorizer.transform([query.text]).T).todense()
        return np.asarray(cosine, dtype=np.float64).ravel()

    def answered(self, query: Query) -> float:
        """Return the cosine of the best document."""
        return float(self.scores(query).max(initial=0.0))


RANKERS: Mapping[str, Ranker] = MappingProxyType({"lexical": LexicalIndex, "tfidf": TfidfIndex, "hybrid": HybridIndex})
"""By name: BM25 with synonyms; scikit-learn's TF-IDF; BM25 and an embedding together."""


def get_ranker(name: str | None) -> Ranker:
    """Return the ranker called *name*; None is the default one.

    Raises:
        ConfigError: If the name is unknown.
    """
    ranker = RANKERS.get(name or DEFAULT_RANKER)
    if ranker is None:
        raise ConfigError(f"unknown ranker {name!r}; use one of {', '.join(RANKERS)}")
    return ranker
