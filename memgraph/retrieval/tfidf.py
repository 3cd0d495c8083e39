"""The reference ranker: scikit-learn's TF-IDF with its defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memgraph.retrieval.documents import Document
from memgraph.retrieval.lexical import Scores, TermExtractor, texts_of
from memgraph.retrieval.query import Query

if TYPE_CHECKING:
    from memgraph.retrieval.embeddings import EmbeddingCache


class TfidfIndex:
    """Cosine similarity of TF-IDF vectors.

        score = cosine(tfidf(query), tfidf(document))

    scikit-learn's word pattern does not split Chinese into words: this ranker serves as a baseline for comparison.

    Args:
        documents: N documents in any order.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer: Any = TfidfVectorizer()
        self._size = len(documents)
        try:
            self._vectors: Any = self._vectorizer.fit_transform(
                ["\n".join(texts_of(document)) for document in documents]
            )
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
        """Build the index of *documents* with scikit-learn's own words: see `Ranker`."""
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
