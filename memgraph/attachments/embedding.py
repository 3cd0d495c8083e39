"""Embeds stored texts with retries, and recognises whether stored vectors are of the same model."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pydantic import InstanceOf
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from memgraph.errors import EmbeddingError
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import Embed, EmbeddingModel, make_embeddings, model_name
from memgraph.retrieval.embeddings import CircuitBreaker, call_model
from memgraph.retrieval.vector_store import PROBE, ModelIdentity, Vector
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

EmbeddingChoice: TypeAlias = EmbeddingConfig | InstanceOf[EmbeddingModel] | Embed
"""A value of `embedding:`. In YAML a word, or provider and its keys; in Python also any LangChain Embeddings, or a
function from texts to vectors."""

MAX_ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5
BATCH_SIZE = 64
"""Texts per call of the model."""

_log = logging.getLogger("memgraph.attachments")


class Embedder:
    """An embedding model with retries.

    Each call is attempted up to 3 times. If the last attempt fails too, every call fails at once for the next 30
    seconds, so that not every step of an agent waits for a server that is down.

    Args:
        model: A configuration, any LangChain Embeddings, or a function from texts to vectors.
        clock: Seconds that only grow.
        sleep: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        model: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model: Embeddings = make_embeddings(model)
        self.name = model_name(self._model)
        self._sleep = sleep
        self._breaker = CircuitBreaker(self.name, clock)
        self._probe: Vector | None = None
        self._lock = threading.Lock()

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query, shape (D,).

        Raises:
            EmbeddingError: If the model fails.
        """
        return self._breaker.call(lambda: self._call(lambda: [self._model.embed_query(clean(text))], 1))[0]

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails.
        """
        cleaned = [clean(text) for text in texts]
        batches = (cleaned[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE))
        vectors = [self._embed_batch(batch) for batch in batches]
        return np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)

    def embed_each(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit vector of each text, or None for a text that the model refuses although it accepts others.

        Raises:
            EmbeddingError: If the model fails for every text.
        """
        try:
            return list(self.embed_texts(texts))
        except EmbeddingError:
            if not self._is_up():
                raise
        return [self._embed_or_none(clean(text)) for text in texts]

    @property
    def probe(self) -> Vector:
        """The vector of PROBE, which differs for another model of the same name.

        Raises:
            EmbeddingError: If the model fails.
        """
        with self._lock:
            probe = self._probe if self._probe is not None else self.embed_texts([PROBE])[0]
            self._probe = probe
            return probe

    def forget_probe(self) -> None:
        """Embed PROBE again at the next use, since the model returned vectors of another dimension."""
        with self._lock:
            self._probe = None

    def is_same_model(self, name: str, probe: Vector) -> bool:
        """Return whether *name* and *probe*, its vector of PROBE, are of this model."""
        return ModelIdentity(self.name, self.probe).is_same(ModelIdentity(name, probe))

    # -- calls of the model -----------------------------------------------------------------------

    def _embed_batch(self, texts: list[str]) -> Vector:
        return self._breaker.call(lambda: self._call(lambda: self._model.embed_documents(texts), len(texts)))

    def _call(self, embed: Callable[[], list[list[float]]], count: int, *, attempts: int = MAX_ATTEMPTS) -> Vector:
        """Call the model, with retries, and check that it returns *count* vectors."""
        retry = Retrying(
            stop=stop_after_attempt(attempts),
            wait=wait_exponential(FIRST_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS),
            retry=retry_if_exception(_is_retryable),
            sleep=self._sleep,
            reraise=True,
        )
        return call_model(embed, count, name=self.name, retry=retry)

    def _is_up(self) -> bool:
        """Whether the model embeds PROBE: if it does, it refused the text and is not down."""
        try:
            self._call(lambda: self._model.embed_documents([PROBE]), 1, attempts=1)
        except EmbeddingError:
            return False
        self._breaker.reset()
        return True

    def _embed_or_none(self, text: str) -> Vector | None:
        try:
            return self._call(lambda: self._model.embed_documents([text]), 1, attempts=1)[0]
        except EmbeddingError as error:
            _log.warning(
                "a text of %d characters could not be embedded; only its words are matched: %s", len(text), error
            )
            return None


def _is_retryable(error: BaseException) -> bool:
    """Whether another attempt may help: not for a missing package or key, nor for a request that the server refuses."""
    from memgraph.llm.retry import is_transient

    if isinstance(error, EmbeddingError) or not isinstance(error, Exception):
        return False
    return is_transient(error) or not isinstance(getattr(error, "status_code", None), int)
