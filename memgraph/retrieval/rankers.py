"""The rankers by name. A new one is a line in RANKERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import Fact
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.hybrid import HybridIndex
from memgraph.retrieval.lexical import LexicalIndex, Scores
from memgraph.retrieval.query import Query
from memgraph.retrieval.tfidf import TfidfIndex

DEFAULT = "lexical"


class Index(Protocol):
    """What a ranker makes of facts: built once, asked often."""

    def scores(self, query: Query) -> Scores:
        """Return a score a fact, the better the higher, in the order of the facts."""
        ...


Ranker = Callable[[Sequence[Fact], EmbeddingCache | None], Index]
"""Builds an index over facts; the embedding is for those that want one."""


def _hybrid(facts: Sequence[Fact], vectors: EmbeddingCache | None) -> HybridIndex:
    if vectors is None:
        raise EmbeddingError('ranker "hybrid" needs an embedding model: give embeddings=, any LangChain Embeddings')
    return HybridIndex(facts, vectors)


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {
        "lexical": lambda facts, _: LexicalIndex(facts),
        "tfidf": lambda facts, _: TfidfIndex(facts),
        "hybrid": _hybrid,
    }
)
"""By name: words and what looks like them; scikit-learn's TF-IDF; words and an embedding together."""


def ranker_named(name: str | None) -> Ranker:
    """Return the ranker called *name*, the default one for None.

    Raises:
        ConfigError: If there is none of that name.
    """
    ranker = RANKERS.get(name or DEFAULT)
    if ranker is None:
        raise ConfigError(f"there is no ranker {name!r}; there are {', '.join(RANKERS)}")
    return ranker
