"""The rankers by name. A new ranker is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from memgraph.errors import ConfigError, EmbeddingError
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


def _build_lexical(
    documents: Sequence[Document], extract: TermExtractor, vectors: EmbeddingCache | None, base: Index | None = None
) -> LexicalIndex:
    del vectors
    return LexicalIndex(documents, extract=extract, base=base if isinstance(base, LexicalIndex) else None)


def _build_tfidf(
    documents: Sequence[Document], extract: TermExtractor, vectors: EmbeddingCache | None, base: Index | None = None
) -> TfidfIndex:
    del extract, vectors, base
    return TfidfIndex(documents)


def _build_hybrid(
    documents: Sequence[Document], extract: TermExtractor, vectors: EmbeddingCache | None, base: Index | None = None
) -> HybridIndex:
    if vectors is None:
        raise EmbeddingError('ranker "hybrid" needs an embedding model: pass embeddings=, any LangChain Embeddings')
    return HybridIndex(documents, vectors, extract=extract, base=base if isinstance(base, HybridIndex) else None)


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {"lexical": _build_lexical, "tfidf": _build_tfidf, "hybrid": _build_hybrid}
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
