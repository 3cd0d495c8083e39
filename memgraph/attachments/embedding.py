"""Embedding for what is stored: tried again where it fails, checked, and never mixed with that of another model."""

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
from memgraph.retrieval.embedding_models import Embed, EmbeddingModel, embeddings_of, name_of
from memgraph.retrieval.embeddings import PAUSE_SECONDS, EmbeddingConfig, Vector, normalised
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

EmbeddingChoice: TypeAlias = EmbeddingConfig | InstanceOf[EmbeddingModel] | Embed
"""What may stand under `embedding:` - in YAML a word, or provider and its keys; in Python also any LangChain
Embeddings, or a function from texts to vectors."""

TRIES = 3
FIRST_WAIT_SECONDS = 0.5
BATCH = 64
"""Texts that are embedded in one call."""
SAME = 0.995
"""Cosine from which two vectors of PROBE are of the same model; a model's own differ by rounding only."""
PROBE = "Which embedding model is this?"

_log = logging.getLogger("memgraph.attachments")


class Embedder:
    """An embedding model, with patience.

    What fails is tried 3 times; a model that still fails is left alone for 30 seconds, in which every call fails at
    once, so that not every step of an agent waits for a server that is down.

    Args:
        given: A configuration, any LangChain Embeddings, or a function from texts to vectors.
        clock: Seconds that only grow.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        given: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model: Embeddings = embeddings_of(given)
        self.name = name_of(self._model)
        self._clock, self._sleep = clock, sleep
        self._resume_at = -np.inf
        self._probe: Vector | None = None
        self._lock = threading.Lock()

    def of_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (D,).

        Raises:
            EmbeddingError: If the model fails.
        """
        return self._guarded(lambda: self._tried(lambda: [self._model.embed_query(clean(text))], 1))[0]

    def of_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails.
        """
        cleaned = [clean(text) for text in texts]
        batches = (cleaned[start : start + BATCH] for start in range(0, len(texts), BATCH))
        vectors = [self._guarded(lambda batch=batch: self._embedded(batch)) for batch in batches]
        return np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)

    def each_of(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit vector of each text, None for one that the model refuses while it answers to others.

        Raises:
            EmbeddingError: If the model fails altogether.
        """
        try:
            return list(self.of_texts(texts))
        except EmbeddingError:
            if not self._answers():
                raise
        return [self._vector_or_none(clean(text)) for text in texts]

    @property
    def probe(self) -> Vector:
        """The vector of PROBE, by which a model is told from another of the same name.

        Raises:
            EmbeddingError: If the model fails.
        """
        with self._lock:
            probe = self._probe if self._probe is not None else self.of_texts([PROBE])[0]
            self._probe = probe
            return probe

    def forget_probe(self) -> None:
        """Ask for the vector of PROBE again: vectors of another dimension came."""
        with self._lock:
            self._probe = None

    def is_of(self, name: str, probe: Vector) -> bool:
        """Whether the model called *name*, whose vector of PROBE is *probe*, is this one."""
        return name == self.name and probe.shape == self.probe.shape and float(probe @ self.probe) >= SAME

    # -- asking -----------------------------------------------------------------------------------

    def _embedded(self, texts: list[str]) -> Vector:
        return self._tried(lambda: self._model.embed_documents(texts), len(texts))

    def _guarded(self, ask: Callable[[], Vector]) -> Vector:
        """Leave a model alone that failed a moment ago."""
        if self._clock() < self._resume_at:
            raise EmbeddingError(f"the embedding model {self.name} failed a moment ago and is left alone for a while")
        try:
            return ask()
        except EmbeddingError:
            self._resume_at = self._clock() + PAUSE_SECONDS
            raise

    def _tried(self, ask: Callable[[], list[list[float]]], count: int, *, tries: int = TRIES) -> Vector:
        """Ask a few times, and check that *count* vectors come."""
        patience = Retrying(
            stop=stop_after_attempt(tries),
            wait=wait_exponential(FIRST_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS),
            retry=retry_if_exception(_may_pass),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return patience(lambda: normalised(ask(), count))
        except EmbeddingError:
            raise
        except Exception as error:  # the model is the user's own: it may raise anything
            raise EmbeddingError(
                f"the embedding model {self.name} did not answer: {type(error).__name__}: {error}"
            ) from error

    def _answers(self) -> bool:
        """Whether the model answers at all, so that it is the text that it refuses."""
        try:
            self._tried(lambda: self._model.embed_documents([PROBE]), 1, tries=1)
        except EmbeddingError:
            return False
        self._resume_at = -np.inf
        return True

    def _vector_or_none(self, text: str) -> Vector | None:
        try:
            return self._tried(lambda: self._model.embed_documents([text]), 1, tries=1)[0]
        except EmbeddingError as error:
            _log.warning("a text of %d characters has no vector, and is found by its words: %s", len(text), error)
            return None


def _may_pass(error: BaseException) -> bool:
    """Whether trying again may help: not where a package or a key is missing, or the server refuses what it got."""
    from memgraph.llm.retry import is_transient

    if isinstance(error, EmbeddingError) or not isinstance(error, Exception):
        return False
    return is_transient(error) or not isinstance(getattr(error, "status_code", None), int)
