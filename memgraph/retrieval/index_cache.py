"""The cache of indexes: each memory is indexed once, until it changes."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph._cache import LRUCache
from memgraph._validation import check_arguments
from memgraph.errors import EmbeddingError
from memgraph.models import Episode, Fact, MemoryDocument
from memgraph.retrieval.budget import Summaries, fit_summaries
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.memory_index import EpisodeIndex, FactIndex, episode_documents, fact_documents
from memgraph.retrieval.query import Document
from memgraph.retrieval.rankers import COMMON_TEXTS, DEFAULT_RANKER, Index, get_ranker
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.retrieval.vector_store import VectorStore

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

logger = logging.getLogger("memgraph.recall")

MAX_INDEX_BYTES = 128 * 2**20
"""Size of the indexes of facts, and of episodes, that an `IndexCache` keeps."""
_MAX_EMBEDDINGS = 4
T = TypeVar("T")


@dataclass(frozen=True)
class IndexOptions:
    """What an index depends on apart from its content."""

    ranker: str | None = None
    """The name of the ranker; None is the default one."""
    embeddings: Embeddings | None = None
    """The model that a ranker uses."""
    timezone: str = "UTC"
    """IANA name of the time zone of the days in the lines."""
    vectors: VectorStore | None = None
    """Keeps the vectors of the memory beyond this process."""
    waits_for_vectors: bool = True
    """Whether a question waits until all texts have vectors: see `EmbeddingCache.look_up`."""

    @property
    def key(self) -> Hashable:
        """Distinguishes indexes; one that uses the model keeps it alive, so that no other object gets its id."""
        model = (id(self.embeddings), self.vectors, self.waits_for_vectors)
        return self.ranker or DEFAULT_RANKER, model, self.timezone


class IndexCache:
    """Indexes of memories, by their content, so that two users at the same revision never mix.

    Pass the same one to every `recall`: the facts of a memory are then indexed once, until they change, and each
    episode once. All user text that it keeps is freed with it, or by `clear()`.

    Args:
        keep: Maximum number of indexes of facts, and of episodes, the most recently used ones.
        max_bytes: Size of the indexes of facts, and of episodes, that are kept.
    """

    @check_arguments
    def __init__(self, keep: int = 32, *, max_bytes: int = MAX_INDEX_BYTES) -> None:
        self._facts: LRUCache[Hashable, FactIndex] = LRUCache(
            keep, max_bytes=max_bytes, size_of=lambda _, index: index.size
        )
        self._episodes: LRUCache[Hashable, EpisodeIndex] = LRUCache(
            keep, max_bytes=max_bytes, size_of=lambda _, index: index.size
        )
        self._vectors: LRUCache[int, EmbeddingCache] = LRUCache(_MAX_EMBEDDINGS)
        self._pruned: LRUCache[VectorStore, tuple[weakref.ref[FactIndex], weakref.ref[EpisodeIndex]]] = LRUCache(keep)
        self._blocks: LRUCache[Hashable, tuple[object, Any]] = LRUCache(keep)

    def __len__(self) -> int:
        return len(self._facts) + len(self._episodes)

    def clear(self) -> None:
        """Remove everything: indexes, blocks of the prompt and vectors."""
        for cache in (self._facts, self._episodes, self._vectors, self._pruned, self._blocks):
            cache.clear()

    def facts(self, facts: Sequence[Fact], options: IndexOptions = IndexOptions()) -> FactIndex:
        """Return the index of *facts*; it is built if it is not cached.

        Args:
            facts: In the order of the memory.
            options: What else the index depends on.

        Raises:
            ConfigError: If the ranker is unknown.
            EmbeddingError: If the ranker needs an embedding model and there is none, or it fails.
        """
        key = options.key, len(facts), *(fact.id for fact in (*facts[:1], *facts[-1:]))
        index = self._facts.get(key)
        if index is None or index.facts != tuple(facts):
            documents = fact_documents(facts)
            built = self._build(documents, options)
            index = FactIndex(facts, documents, built, timezone=options.timezone)
            self._facts.put(key, index)
        return index

    def episodes(self, episodes: Sequence[Episode], options: IndexOptions = IndexOptions()) -> EpisodeIndex:
        """Return the index of *episodes*; those that were appended to cached ones are indexed without the rest.

        Raises:
            ConfigError: If the ranker is unknown.
            EmbeddingError: If the ranker needs an embedding model and there is none, or it fails.
        """
        key = options.key
        base = self._find_base(key, episodes)
        known = base.documents if base else ()
        if base and len(known) == len(episodes):
            return base
        documents = (*known, *episode_documents(episodes[len(known) :]))
        built = self._build(documents, options, base.index if base else None)
        index = EpisodeIndex(episodes, documents, built, timezone=options.timezone, base=base)
        self._episodes.put((key, episodes[-1].id if episodes else None), index)
        return index

    def _build(self, documents: Sequence[Document], options: IndexOptions, base: Index | None = None) -> Index:
        return get_ranker(options.ranker)(documents, self._vectors_of(options), base=base)

    def _find_base(self, key: Hashable, episodes: Sequence[Episode]) -> EpisodeIndex | None:
        """Return the index of the first of *episodes* that is known by the id of its last one."""
        found = (self._episodes.get((key, episode.id)) for episode in reversed(episodes))
        base = next((index for index in found if index is not None), None)
        return base if base and base.episodes == tuple(episodes[: len(base.episodes)]) else None

    def _vectors_of(self, options: IndexOptions) -> EmbeddingCache | None:
        if options.embeddings is None:
            return None
        return self._cache_of(options.embeddings).of_memory(options.vectors, waits=options.waits_for_vectors)

    def _cache_of(self, embeddings: Embeddings) -> EmbeddingCache:
        # it keeps the model alive, so that no other object gets its id meanwhile
        return self._vectors.get(id(embeddings), lambda: EmbeddingCache(embeddings))

    def load(self, embeddings: Embeddings) -> bool:
        """Load the model of *embeddings* in the background, unless that is done; return whether it is."""
        vectors = self._cache_of(embeddings)
        if not vectors.is_loaded:
            vectors.load()
        return vectors.is_loaded

    def close(self, *, finish: bool = True) -> None:
        """Make one more batch of the vectors that are missing: see `EmbeddingCache.close`."""
        for vectors in self._vectors.values():
            vectors.close(finish=finish)

    def prune_vectors(self, facts: FactIndex, episodes: EpisodeIndex, options: IndexOptions) -> None:
        """Delete the stored vectors of texts that are no longer in the memory, if it changed since the last call."""
        vectors = self._vectors_of(options)
        if vectors is None or options.vectors is None:
            return
        indexes = weakref.ref(facts), weakref.ref(episodes)
        if self._pruned.get(options.vectors) != indexes:
            texts = [document.text for document in (*facts.documents, *episodes.documents)]
            vectors.prune([*texts, *COMMON_TEXTS])
            self._pruned.put(options.vectors, indexes)

    def summaries(self, memory: MemoryDocument, max_tokens: int) -> Summaries:
        """Return the summaries of *memory* that hold and fit *max_tokens*: see `fit_summaries`."""
        key = max_tokens, memory.revision, *(fact.id for fact in memory.facts[:1])
        return self.block(key, memory, lambda: fit_summaries(with_current_summaries(memory), max_tokens))

    def block(self, key: Hashable, content: object, make: Callable[[], T]) -> T:
        """Return what *make* returns; it is called again for *key* only if *content*, what that depends on, changed."""
        known = self._blocks.get(key)
        if known is None or known[0] != content:
            known = content, make()
            self._blocks.put(key, known)
        return known[1]


def store_vectors(vectors: EmbeddingCache, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
    """Make the vectors of *facts* and *episodes*; a failure is logged, since a later question makes them.

    Args:
        vectors: Of their memory.
        facts: Facts that were saved.
        episodes: Words that were saved.
    """
    texts = [document.text for document in (*fact_documents(facts), *episode_documents(episodes))]
    try:
        if texts:
            vectors.embed_texts([*texts, *COMMON_TEXTS])
    except EmbeddingError as error:
        logger.warning("what was saved has no vectors yet: %s", error)
