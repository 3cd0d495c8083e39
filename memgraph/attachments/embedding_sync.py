"""Synchronization of vectors with items: every item gets a vector of the current model."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memgraph.attachments.embedding import BATCH_SIZE
from memgraph.errors import EmbeddingError

if TYPE_CHECKING:
    from memgraph.attachments.database import MemoryDatabase
    from memgraph.attachments.embedding import Embedder
    from memgraph.attachments.vector_table import VectorTable
    from memgraph.retrieval.embeddings import Vector

NEVER = -1


class EmbeddingSync:
    """Keeps the vectors of items up to date.

    Args:
        embedder: The current model.
        table: The vectors.
        database: The database of the table; if its file is replaced, synchronization starts over.
    """

    def __init__(self, embedder: Embedder, table: VectorTable, database: MemoryDatabase) -> None:
        self._embedder = embedder
        self._table = table
        self._database = database
        self._model = (NEVER, 0)
        self._synced = NEVER
        self._lock = threading.Lock()

    def model(self) -> int:
        """Return the number of the current model.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        if self._model[0] != self._database.opened:
            number = self._table.find_or_add_model(self._embedder)
            self._model = (self._database.opened, number)
        return self._model[1]

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        vector = self._embedder.embed_query(text)
        if vector.shape != self._embedder.probe.shape:
            self._reset()
        return vector

    def embed(self, number: int, text: str) -> None:
        """Embed an item.

        Raises:
            EmbeddingError: If the model does not answer; the next `sync` embeds the item.
        """
        try:
            vector = self._embedder.embed_texts([text])[0]
            if vector.shape != self._embedder.probe.shape:
                self._reset()
            self._table.put(self.model(), [(number, vector)])
        except EmbeddingError as error:
            self._synced = NEVER
            raise EmbeddingError(f"{error}. The item is stored, and will be embedded later") from error

    def sync(self) -> None:
        """Embed the items that have no vector of the current model, unless another thread is doing it.

        Every batch is saved at once, so that a crash or a failure loses at most one. Items that the model refuses,
        while it accepts others, get no vector.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        if self._synced == self._database.opened != 0 or not self._lock.acquire(blocking=False):
            return
        try:
            self._embed_missing(self.model())
            self._synced = self._database.opened
        finally:
            self._lock.release()

    def _embed_missing(self, model: int) -> None:
        after = 0
        while missing := self._table.missing(model, after=after, limit=BATCH_SIZE):
            vectors = self._embedder.embed_each([text for _, text in missing])
            numbered = zip((number for number, _ in missing), vectors, strict=True)
            self._table.put(model, [(number, vector) for number, vector in numbered if vector is not None])
            after = missing[-1][0]
        self._table.delete_other_models(model)

    def _reset(self) -> None:
        """Start over: the server has replaced the model under the same name."""
        self._embedder.forget_probe()
        self._model = (NEVER, 0)
        self._synced = NEVER
        self.sync()
