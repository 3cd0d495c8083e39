"""Checked calls of embedding models, and a cache of the vectors of texts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memgraph._cache import LRUCache
from memgraph.errors import EmbeddingError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


_log = logging.getLogger(__name__)

Vector = NDArray[np.float32]

MAX_VECTORS = 20_000
BATCH = 256
"""Maximum texts of one call."""
PAUSE_SECONDS = 30.0
"""Pause after a failure, so that not every recall waits for a server that is down."""


def call_model(
    embed: Callable[[], list[list[float]]],
    count: int,
    *,
    name: str = "",
    retry: Callable[[Callable[[], Vector]], Vector] = lambda call: call(),
) -> Vector:
    """Return the *count* unit vectors that *embed* returns, shape (count, D).

    Args:
        embed: Calls the model.
        count: The number of texts.
        name: Of the model, for errors.
        retry: Runs its argument, as often as it likes; without it the model is called once.

    Raises:
        EmbeddingError: If the model fails, or returns anything but *count* vectors.
    """
    try:
        return retry(lambda: normalize(embed(), count))
    except EmbeddingError:
        raise
    except Exception as error:  # the model is the user's own: it may raise anything
        label = f"the embedding model {name}".rstrip()
        raise EmbeddingError(f"{label} did not answer: {type(error).__name__}: {error}") from error


class CircuitBreaker:
    """Fails fast for PAUSE_SECONDS after an embedding model has failed.

    Args:
        name: Of the model, for errors.
        clock: Seconds that only grow; None is `time.monotonic`.
    """

    def __init__(self, name: str = "", clock: Callable[[], float] | None = None) -> None:
        self._label = f"the embedding model {name}".rstrip()
        self._clock = clock
        self._resume_at = -np.inf

    def call(self, embed: Callable[[], Vector]) -> Vector:
        """Return what *embed* returns.

        Raises:
            EmbeddingError: If it fails, or failed within the last PAUSE_SECONDS.
        """
        if self._now() < self._resume_at:
            raise EmbeddingError(f"{self._label} failed a moment ago and is not called for {PAUSE_SECONDS:.0f} seconds")
        try:
            return embed()
        except EmbeddingError:
            self._resume_at = self._now() + PAUSE_SECONDS
            raise

    def _now(self) -> float:
        return self._clock() if self._clock else time.monotonic()

    def reset(self) -> None:
        """Allow calls again: the model has answered."""
        self._resume_at = -np.inf


class EmbeddingCache:
    """Calls an embedding model once for each text, and keeps the vectors.

    Args:
        embeddings: Any LangChain Embeddings.
        keep: Maximum number of vectors, the most recently used ones.
    """

    def __init__(self, embeddings: Embeddings, *, keep: int = MAX_VECTORS) -> None:
        self.embeddings = embeddings
        self._vectors: LRUCache[str, Vector] = LRUCache(keep)
        self._breaker = CircuitBreaker()

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        vectors = self._vectors.get_many(texts, self._embed)
        return np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query, shape (D,). It is not kept.

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return self._breaker.call(lambda: call_model(lambda: [self.embeddings.embed_query(text)], 1))[0]

    def _embed(self, texts: list[str]) -> list[Vector]:
        batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
        return [vector for batch in batches for vector in self._embed_batch(batch)]

    def _embed_batch(self, texts: list[str]) -> Vector:
        return self._breaker.call(lambda: call_model(lambda: self.embeddings.embed_documents(texts), len(texts)))


def normalize(vectors: list[list[float]], count: int) -> Vector:
    """Return *vectors* at length 1.

    Raises:
        ValueError: If they are not *count* vectors of one size, finite and not zero.
    """
    array = np.array(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"expected {count} vectors of one size, got an array of shape {array.shape}")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ValueError("a vector is zero, or not finite")
    return array / lengths
