"""The rankers by name, and the reference ranker. A new ranker is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from memgraph.errors import ConfigError
from memgraph.retrieval.documents import Document
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.hybrid import HybridIndex
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from memgraph.retrieval.embeddings import EmbeddingCache

DEFAULT_RANKER = "lexical"


class Index(Protocol):
    """What a ranker builds from documents: built once, queried often."""

    def scores(self, query: Query) -> Scores:
        """Return one score for each document, the higher the better, in the order of the documents."""
        ...

    def matches(self, query: Query) -> NDArray[np.bool_]:
        """Return which documents match *query* by themselves, whatever others of their thread do."""
        ...


class Ranker(Protocol):
    """Builds an index over documents, with what it needs of the arguments."""

    def __call__(
        self,
        documents: Sequence[Document],
        extract: TermExtractor,
        vectors: EmbeddingCache | None,
        base: Index | None = None,
    ) -> Index:
        """Build the index of *documents*; *base* is one of the same ranker over the first of them."""
        ...


class TfidfIndex:
    """Cosine similarity of TF-IDF vectors.

        score = cosine(tfidf(query), tfidf(document))

    A baseline for comparison, over the same terms as the other rankers.

    Args:
        documents: N documents in any order.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer: Any = TfidfVectorizer(analyzer=cast("Any", extract_terms))
        self._size = len(documents)
        try:
            self._vectors: Any = self._vectorizer.fit_transform([document.words for document in documents])
        except ValueError:  # no document has a word
            self._vectors = None

    @classmethod
    def build(
        cls,
        documents: Sequence[Document],
        extract: TermExtractor,
        vectors: EmbeddingCache | None,
        base: object = None,
    ) -> TfidfIndex:
        """Build the index of *documents*: see `Ranker`."""
        del extract, vectors, base
        return cls(documents)

    def scores(self, query: Query) -> Scores:
        """Return N scores in [0, 1], in the order of the documents."""
        if self._vectors is None or not query:
            return np.zeros(self._size)
        cosine = (self._vectors @ self._vectorizer.transform([query.text]).T).todense()
        return np.asarray(cosine, dtype=np.float64).ravel()

    def matches(self, query: Query) -> NDArray[np.bool_]:
        """Return which documents have a word of *query*."""
        return self.scores(query) > 0


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {"lexical": LexicalIndex.build, "tfidf": TfidfIndex.build, "hybrid": HybridIndex.build}
)
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
