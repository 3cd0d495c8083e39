"""The rankers by name. A new ranker is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memgraph.errors import ConfigError
from memgraph.retrieval.documents import Document
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.hybrid import HybridIndex
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.tfidf import TfidfIndex

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


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {"lexical": LexicalIndex.build, "tfidf": TfidfIndex.build, "hybrid": HybridIndex.build}
)
"""By name: BM25 with similar words and synonyms; scikit-learn's TF-IDF; BM25 and an embedding together."""


def get_ranker(name: str | None) -> Ranker:
    """Return the ranker called *name*; None is the default one.

    Raises:
        ConfigError: If the name is unknown.
    """
    ranker = RANKERS.get(name or DEFAULT_RANKER)
    if ranker is None:
        raise ConfigError(f"unknown ranker {name!r}; use one of {', '.join(RANKERS)}")
    return ranker
