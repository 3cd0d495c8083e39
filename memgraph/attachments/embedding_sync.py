"""Gives every item a vector of the model in use."""

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
        embedder: The model in use.
        table: The vectors.
        database: The file they are in; another file under its name is begun anew.
    """

    def __init__(self, embedder: Embedder, table: VectorTable, database: MemoryDatabase) -> None:
        self._embedder = embedder
        self._table = table
        self._database = database
        self._model = (NEVER, 0)
        self._caught_up = NEVER
        self._lock = threading.Lock()

    def model(self) -> int:
        """The number of the model in use.

        Raises:
            EmbeddingError: If it does not answer.
        """
        if self._model[0] != self._database.opened:
            number = self._table.model_of(self._embedder)
            self._model = (self._database.opened, number)
        return self._model[1]

    def of_query(self, text: str) -> Vector:
        """Return the unit vector of a question.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        vector = self._embedder.of_query(text)
        if vector.shape != self._embedder.probe.shape:
            self._reset()
        return vector

    def embed(self, number: int, text: str) -> None:
        """Give an item its vector.

        Raises:
            EmbeddingError: If the model does not answer; the item gets it when it is up to date again.
        """
        try:
            vector = self._embedder.of_texts([text])[0]
            if vector.shape != self._embedder.probe.shape:
                self._reset()
            self._table.put(self.model(), [(number, vector)])
        except EmbeddingError as error:
            self._caught_up = NEVER
            raise EmbeddingError(f"{error}. What was to be remembered is kept, and embedded later") from error

    def sync(self) -> None:
        """Embed what has no vector of the model in use, unless another thread is at it.

        A batch is kept as soon as it is done, so that a crash or a failure costs no more than one. What the model
        refuses, while it answers to the rest, stays without.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        if self._caught_up == self._database.opened != 0 or not self._lock.acquire(blocking=False):
            return
        try:
            self._embed_missing(self.model())
            self._caught_up = self._database.opened
        finally:
            self._lock.release()

    def _embed_missing(self, model: int) -> None:
        after = 0
        while missing := self._table.missing(model, after=after, limit=BATCH_SIZE):
            vectors = self._embedder.each_of([text for _, text in missing])
            numbered = zip((number for number, _ in missing), vectors, strict=True)
            self._table.put(model, [(number, vector) for number, vector in numbered if vector is not None])
            after = missing[-1][0]
        self._table.keep_only(model)

    def _reset(self) -> None:
        """The model was exchanged while we ran: another answers under its name."""
        self._embedder.forget_probe()
        self._model = (NEVER, 0)
        self._caught_up = NEVER
        self.sync()
