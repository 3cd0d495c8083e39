"""The rankers by name, and the reference ranker. A new ranker is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, cast

import numpy as np

from memgraph.errors import ConfigError
from memgraph.retrieval.documents import Document
from memgraph.retrieval.hybrid import HybridIndex
from memgraph.retrieval.lexical import LexicalIndex, Scores
from memgraph.retrieval.query import Query
from memgraph.retrieval.terms import extract_terms

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
"""Builds the index of documents: `Ranker(documents, vectors, extract=extract, base=base)`.

*vectors* is the embedding or None, *extract* returns the terms of texts, *base* is an index of the first of *documents*
by the same ranker or None. It uses what it needs of them.
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
