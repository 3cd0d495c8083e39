"""What recall keeps from one call to the next, in an object that is handed around."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from memgraph._cache import LRUCache
from memgraph.models import Fact, Memory
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.fact_index import FactIndex
from memgraph.retrieval.rankers import DEFAULT, ranker_named
from memgraph.retrieval.render import Summaries, fit_summaries

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_content_of = attrgetter("id", "content", "category", "confidence", "created_at", "source", "source_error", "replaces")
"""All that ranking and rendering look at."""


class IndexCache:
    """Indexes by the content of the facts they are over, so that two users at the same revision never mix.

    Hand the same one to every `recall`: the index of a memory is then built once, until its facts change.

    Args:
        keep: How many indexes are kept, the last used ones; one of 1,000 facts takes about 3 MB.
    """

    def __init__(self, keep: int = 32) -> None:
        self._indexes: LRUCache[Hashable, FactIndex] = LRUCache(keep)
        self._same: LRUCache[Hashable, tuple[Sequence[Fact], FactIndex]] = LRUCache(keep)
        self._vectors: LRUCache[int, EmbeddingCache] = LRUCache(4)
        self._summaries: LRUCache[Hashable, Summaries] = LRUCache(keep)

    def __len__(self) -> int:
        return len(self._indexes)

    def index(
        self, facts: Sequence[Fact], *, ranker: str | None = None, embeddings: Embeddings | None = None
    ) -> FactIndex:
        """Return the index of *facts*, built now where it is not kept.

        Raises:
            ConfigError: If there is no such ranker.
            EmbeddingError: If the ranker wants an embedding and there is none, or it does not answer.
        """
        make = ranker_named(ranker)
        vectors = self._vectors_of(embeddings) if embeddings is not None else None
        name = ranker or DEFAULT

        def by_content() -> tuple[Sequence[Fact], FactIndex]:
            key = (name, vectors, tuple(map(_content_of, facts)))
            return facts, self._indexes.get(key, lambda: FactIndex(facts, make, vectors))

        if not isinstance(facts, tuple):
            return by_content()[1]
        # the tuple is kept with its index, so that no other object gets its id meanwhile
        return self._same.get((name, vectors, id(facts)), by_content)[1]

    def summaries(self, memory: Memory, max_tokens: int) -> Summaries:
        """Return the summaries of *memory* as they are said in at most *max_tokens*: see `fit_summaries`."""
        key = (max_tokens, tuple(section.summary for _, section in memory.sections()))
        return self._summaries.get(key, lambda: fit_summaries(memory, max_tokens))

    def _vectors_of(self, embeddings: Embeddings) -> EmbeddingCache:
        """Return the vectors that *embeddings* makes. They hold it, so that no other object gets its id meanwhile."""
        return self._vectors.get(id(embeddings), lambda: EmbeddingCache(embeddings))
