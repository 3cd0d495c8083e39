"""Vectors of texts, by an embedding model of the user's choice: each text is embedded once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memgraph.errors import EmbeddingError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

Vector = NDArray[np.float32]

KEPT = 20_000
BATCH = 256
"""Texts that are embedded in one call."""
PAUSE_SECONDS = 30.0
"""After a failure the model is left alone for so long, so that not every recall waits for a server that is down."""


class Vectors:
    """What an embedding model makes of texts.

    Args:
        embeddings: Any LangChain Embeddings.
        keep: How many vectors of facts are kept, the last used ones.
    """

    def __init__(self, embeddings: Embeddings, *, keep: int = KEPT) -> None:
        self.embeddings = embeddings
        self._keep = keep
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._resume_at = 0.0

    def of_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            known.update(zip(batch, self._embedded(batch), strict=True))
        self._remember(known)
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def of_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (D,).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return self._asked(lambda: [self.embeddings.embed_query(text)], 1)[0]

    def _embedded(self, texts: list[str]) -> Vector:
        return self._asked(lambda: self.embeddings.embed_documents(texts), len(texts))

    def _asked(self, ask: Callable[[], list[list[float]]], count: int) -> Vector:
        """Ask the model, and check that it answers with *count* vectors."""
        if time.monotonic() < self._resume_at:
            raise EmbeddingError("the embedding model failed a moment ago and is left alone for a while")
        try:
            return normalised(ask(), count)
        except Exception as error:  # the model is the user's own: it may raise anything
            self._resume_at = time.monotonic() + PAUSE_SECONDS
            raise EmbeddingError(f"the embedding model did not answer: {type(error).__name__}: {error}") from error

    def _remember(self, known: dict[str, Vector]) -> None:
        with self._lock:
            for text, vector in known.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._keep:
                self._vectors.popitem(last=False)


def normalised(vectors: list[list[float]], count: int) -> Vector:
    """Return *vectors* at length 1.

    Raises:
        ValueError: If they are not *count* vectors of one size, finite and not zero.
    """
    array = np.array(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"{count} vectors of one size were asked for, and an array of shape {array.shape} came")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ValueError("a vector is zero, or not finite")
    return array / lengths
