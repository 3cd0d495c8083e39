"""simple: remembers questions and answers of nodes, and finds them by embedding and by words."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from memgraph._cache import LRUCache
from memgraph.attachments.chatdev import import_chatdev
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.database import MemoryDatabase, file_of
from memgraph.attachments.embedding import Embedder, EmbeddingChoice
from memgraph.attachments.embedding_sync import EmbeddingSync
from memgraph.attachments.item import (
    format_timestamp,
    item_source,
    owner_key,
)
from memgraph.attachments.item_store import ITEMS, ItemStore, NewItem
from memgraph.attachments.search_index import OwnerIndex
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult, relay
from memgraph.attachments.vector_table import NO_MODEL, VECTORS, VectorTable
from memgraph.errors import EmbeddingError
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from memgraph.attachments.item import MemoryItem
    from memgraph.attachments.search_index import SearchHit
    from memgraph.retrieval.embeddings import Vector
    from memgraph.storage.traces import TraceCount

KIND = 0x6D677369  # "mgsi"
_log = logging.getLogger("memgraph.attachments")

MAX_INDEXES = 32
"""Owners with an index in RAM, the most recently used ones; 10,000 items of 384 dimensions take about 20 MB."""


class SimpleConfig(StoreConfig):
    """Questions and answers of nodes."""

    memory_path: str | None = None
    """A file; `auto` is NAME.db in the folder of the run; none is RAM. A JSON file of ChatDev is imported into a file
    next to it, `memory.json.db`."""
    embedding: EmbeddingChoice | None = None
    """The embedding model: provider and its keys, or a word such as `local`; none compares words only."""
    min_content_length: int = Field(default=10, ge=0, le=10_000)
    """Minimum characters of an exchange; shorter ones are not remembered."""
    max_content_length: int = Field(default=2_000, ge=50, le=100_000)
    """Maximum characters of an exchange that are shown in prompts and searched; the whole exchange is stored."""
    max_memories: int = Field(default=10_000, ge=1, le=1_000_000)
    """Maximum number of exchanges of a user; the oldest are evicted."""
    shared: bool = False
    """Whether all users share one memory; if not, each user has a separate one."""


class SimpleMemory(MemoryStore):
    """Exchanges without duplicates. Any number of threads and processes may write.

    An exchange is stored before it is embedded: if the model fails, `update` raises EmbeddingError, but the exchange
    is found by its words, and embedded when the model answers again. Vectors of different models are never compared:
    after a change of the model, `load` embeds all items again, and then deletes the old vectors.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        folder: Base of a relative `memory_path`; None is the working folder.
        embedder: Used instead of the embedding model of *config*.
        now: Returns the current time.
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
        self._path = file_of(config.memory_path, name, folder)
        self._database = MemoryDatabase(self._path, migrations=(ITEMS, VECTORS), kind=KIND, what="simple memory")
        self._items = ItemStore(self._database, max_items=config.max_memories)
        self._table = VectorTable(self._database)
        self._sync = EmbeddingSync(self._embedder, self._table, self._database) if self._embedder else None
        self._indexes: LRUCache[tuple[int, str, int], OwnerIndex] = LRUCache(MAX_INDEXES)

    def load(self) -> None:
        """Open the file, and embed the items that have no vector of the current model.

        If the model does not answer, the error is logged, so that updates are possible; `retrieve` raises it.

        Raises:
            MemoryStoreError: If the file is of another type, or damaged. It is left unchanged.
        """
        self._items.check()
        import_chatdev(self._path, self._items, self._now)
        if not self._sync:
            return
        try:
            self._sync.sync()
        except EmbeddingError as error:
            _log.error("memory %r will be embedded when its model answers: %s", self.name, error)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:
        """Return the items most similar to *query*, best first.

            score = 0.7 * cosine + 0.3 * (Jaccard + longest common subsequence) / 2

        Without an embedding model, the lexical similarity replaces the cosine, also for the threshold.
        """
        if not query.text.strip():
            return []
        vector, model = None, NO_MODEL
        if self._sync:
            self._sync.sync()
            vector, model = self._sync.embed_query(query.text), self._sync.model()
        index = self._index(owner_key(query.scope, shared=self._config.shared), model)
        hits = index.search(query.text, vector, top_k=top_k, threshold=threshold)
        found = self._results(hits, model)
        return relay(found, query.scope) if self._config.shared else found

    def update(self, exchange: Interaction) -> None:
        """Remember an exchange, unless it is too short or already known."""
        if len(exchange.input.text.strip()) + len(exchange.output.text.strip()) < self._config.min_content_length:
            return
        summary = exchange.summarize(self._config.max_content_length)
        item = NewItem(
            summary,
            exchange.input,
            exchange.output,
            exchange.metadata_of(shared=self._config.shared),
            format_timestamp(self._now()),
            hash_exchange(exchange),
            extract_terms(summary),
        )
        number = self._items.add(owner_key(exchange.scope, shared=self._config.shared), item)
        if number is not None and self._sync:
            self._sync.embed(number, summary)

    def texts_of(self, user_id: str) -> list[list[str]]:
        return self._items.texts_of(user_id)

    def delete_user(self, user_id: str) -> None:
        self._items.delete_user(user_id)
        self._indexes.clear()

    def find_traces(self, fragments: Collection[str]) -> TraceCount:
        return self._database.find_traces(fragments)

    def close(self) -> None:
        self._database.close()

    def _index(self, owner: str, model: int) -> OwnerIndex:
        key = (self._database.opened, owner, model)
        return self._indexes.get(key, lambda: OwnerIndex(owner, model, items=self._items, table=self._table))

    def _results(self, hits: Sequence[SearchHit], model: int) -> list[SearchResult]:
        numbers = [hit.number for hit in hits]
        items, vectors = self._items.items(numbers), self._table.get_many(model, numbers)
        found = ((self._with_vector(items[n], vectors.get(n)), score) for n, _, score in hits if n in items)
        return [SearchResult(item, item_source(item), score) for item, score in found]

    def _with_vector(self, item: MemoryItem, vector: Vector | None) -> MemoryItem:
        if vector is None or not self._embedder:
            return item
        return item.model_copy(update={"embedding": tuple(vector.tolist()), "embedding_model": self._embedder.name})


def hash_exchange(exchange: Interaction) -> str:
    """Return the sha256 of question and answer, in hex."""
    content = [exchange.input.blocks, exchange.output.blocks]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=dict).encode()).hexdigest()
