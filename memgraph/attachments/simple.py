"""Simple: remembers what nodes were given and answered, and finds it by meaning and by words."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from memgraph._cache import LRUCache
from memgraph.attachments import item_store as sql
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.database import MemoryDatabase, file_of
from memgraph.attachments.embedding import Embedder, EmbeddingChoice
from memgraph.attachments.embedding_sync import EmbeddingSync
from memgraph.attachments.item import (
    format_timestamp,
    interaction_metadata,
    item_source,
    owner_key,
    summarize_exchange,
)
from memgraph.attachments.item_store import ItemStore, NewItem
from memgraph.attachments.search_index import OwnerIndex
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult
from memgraph.attachments.vector_table import NO_MODEL, VECTORS, VectorTable
from memgraph.errors import EmbeddingError
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from memgraph.attachments.item import MemoryItem
    from memgraph.attachments.search_index import SearchHit
    from memgraph.retrieval.embeddings import Vector

KIND = 0x6D677369  # "mgsi"
_log = logging.getLogger("memgraph.attachments")

VIEWS = 32
"""Owners whose items are kept ready in RAM, those who asked last; 10,000 items of 384 numbers take about 20 MB."""


class SimpleConfig(StoreConfig):
    """What nodes were given and answered."""

    memory_path: str | None = None
    """A file; `auto` is one beside the run, called as the memory; none is RAM."""
    embedding: EmbeddingChoice | None = None
    """The embedding model: provider and its keys, or a word such as `local`; none compares words only."""
    min_content_length: int = Field(default=10, ge=0, le=10_000)
    """Characters of an exchange below which it is not remembered."""
    max_content_length: int = Field(default=2_000, ge=50, le=100_000)
    """Characters of an exchange that a prompt is shown and that are compared; all of it is kept."""
    max_memories: int = Field(default=10_000, ge=1, le=1_000_000)
    """Exchanges that are kept of a user; the oldest go."""
    shared: bool = False
    """Whether all users have one memory, rather than each one of their own."""


class SimpleMemory(MemoryStore):
    """Exchanges, each once. Any number of threads and processes may write.

    An exchange is on disk before it is embedded: where the model fails, update raises EmbeddingError, and what it was
    given is kept, found by its words, and embedded when the model answers again. Vectors of another model than the
    one in use are never compared; they are made anew at load, and the old ones go when all are there.

    Args:
        name: As the configuration calls it.
        config: What is configured.
        folder: Where `memory_path` starts; None is the working folder.
        embedder: In place of the one of the configuration.
        now: Tells the time.
    """

    def __init__(
        self,
        name: str,
        config: SimpleConfig | None = None,
        *,
        folder: Path | str | None = None,
        embedder: Embedder | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._config = config = config or SimpleConfig()
        self._now = now
        self._embedder = embedder or (Embedder(config.embedding) if config.embedding is not None else None)
        path = file_of(config.memory_path, name, folder)
        self._database = MemoryDatabase(path, migrations=(sql.ITEMS, VECTORS), kind=KIND, what="simple memory")
        self._shelf = ItemStore(self._database, keep=config.max_memories)
        self._table = VectorTable(self._database)
        self._vectorizer = EmbeddingSync(self._embedder, self._table, self._database) if self._embedder else None
        self._views: LRUCache[tuple[int, str, int], OwnerIndex] = LRUCache(VIEWS)

    def load(self) -> None:
        """Open the file, and give a vector to what has none of the model in use.

        A model that does not answer is logged, so that what comes can be written; retrieve raises it.

        Raises:
            MemoryStoreError: If the file is not of a simple memory, or damaged. It is left as it is.
        """
        self._shelf.check()
        if not self._vectorizer:
            return
        try:
            self._vectorizer.sync()
        except EmbeddingError as error:
            _log.error("memory %r is embedded when its model answers: %s", self.name, error)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:
        """Return the items that are most like *query*, best first.

            score = 0.7 * cosine + 0.3 * (Jaccard + longest common subsequence) / 2

        Without an embedding model the likeness of words stands in for the cosine, also in the threshold.
        """
        if not query.text.strip():
            return []
        vector, model = None, NO_MODEL
        if self._vectorizer:
            self._vectorizer.sync()
            vector, model = self._vectorizer.of_query(query.text), self._vectorizer.model()
        view = self._view(owner_key(query.scope, shared=self._config.shared), model)
        ranked = view.ranked(query.text, vector, top_k=top_k, threshold=threshold)
        return self._found(ranked, model)

    def update(self, exchange: Interaction) -> None:
        """Remember an exchange, unless it is too short or was remembered before."""
        if len(exchange.input.text.strip()) + len(exchange.output.text.strip()) < self._config.min_content_length:
            return
        summary = summarize_exchange(exchange, self._config.max_content_length)
        draft = NewItem(
            summary,
            exchange.input,
            exchange.output,
            interaction_metadata(exchange),
            format_timestamp(self._now()),
            digest_of(exchange),
            extract_terms(summary),
        )
        number = self._shelf.add(owner_key(exchange.scope, shared=self._config.shared), draft)
        if number is not None and self._vectorizer:
            self._vectorizer.embed(number, summary)

    def close(self) -> None:
        self._database.close()

    def _view(self, owner: str, model: int) -> OwnerIndex:
        key = (self._database.opened, owner, model)
        return self._views.get(key, lambda: OwnerIndex(owner, model, shelf=self._shelf, table=self._table))

    def _found(self, ranked: Sequence[SearchHit], model: int) -> list[SearchResult]:
        numbers = [one.number for one in ranked]
        items, vectors = self._shelf.items(numbers), self._table.get_many(model, numbers)
        found = ((self._with_vector(items[n], vectors.get(n)), score) for n, _, score in ranked if n in items)
        return [SearchResult(item, item_source(item), score) for item, score in found]

    def _with_vector(self, item: MemoryItem, vector: Vector | None) -> MemoryItem:
        if vector is None or not self._embedder:
            return item
        return item.model_copy(update={"embedding": tuple(vector.tolist()), "embedding_model": self._embedder.name})


def digest_of(exchange: Interaction) -> str:
    """Return the sha256 of all that was given and answered, in hex."""
    content = [exchange.input.blocks, exchange.output.blocks]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=dict).encode()).hexdigest()
