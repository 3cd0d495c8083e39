"""The embedding model of a memory: that of the core, with retries and with vectors in the memory's database."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from langchain_core.embeddings import Embeddings
from pydantic import InstanceOf
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from memgraph.errors import EmbeddingError
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import Embed, EmbeddingModel, make_embeddings, model_name
from memgraph.retrieval.embeddings import EmbeddingCache, call_embeddings
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memgraph.attachments.database import MemoryVectors
    from memgraph.retrieval.vector_store import Vector

EmbeddingChoice: TypeAlias = EmbeddingConfig | InstanceOf[EmbeddingModel] | Embed
"""A value of `embedding:`. In YAML a word, or provider and its keys; in Python also any LangChain Embeddings, or a
function from texts to vectors."""

MAX_ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5


class Embedder(EmbeddingCache):
    """The embedding model of one memory. Each vector is made once, and kept in *table* until another model answers.

    Each call is attempted up to 3 times. If the last attempt fails too, every call fails at once for the next 30
    seconds, so that not every step of an agent waits for a server that is down. A text that the model refuses, although
    it accepts others, has no vector.

    Args:
        model: A configuration, any LangChain Embeddings, or a function from texts to vectors.
        table: The vectors of the memory.
        clock: Seconds that only grow.
        sleep: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        model: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object],
        table: MemoryVectors,
        *,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        retrying = _RetryingEmbeddings(make_embeddings(model), sleep or time.sleep)
        super().__init__(retrying, clock=clock, keep_query=False, skip_refused=True)
        self.name = retrying.memgraph_name
        self.table = self._store = table

    def forget(self) -> None:
        """Drop the vectors in RAM, since those in the table were deleted."""
        self._vectors.clear()

    def embed_texts(self, texts: Sequence[str]) -> tuple[Vector, NDArray[np.bool_]]:
        generation = self.generation
        try:
            return super().embed_texts(texts)
        except EmbeddingError:
            if self.generation == generation:
                raise
            return super().embed_texts(texts)  # all of them by the model that answers now


class _RetryingEmbeddings(Embeddings):
    """A model whose calls are attempted several times, with texts that can be sent."""

    def __init__(self, model: Embeddings, sleep: Callable[[float], None]) -> None:
        self._model = model
        self._sleep = sleep
        self.memgraph_name = model_name(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        cleaned = [clean(text) for text in texts]
        return self._call(lambda: self._model.embed_documents(cleaned), len(texts))

    def embed_query(self, text: str) -> list[float]:
        return self._call(lambda: [self._model.embed_query(clean(text))], 1)[0]

    def _call(self, embed: Callable[[], list[list[float]]], count: int) -> list[list[float]]:
        retry = Retrying(
            stop=stop_after_attempt(MAX_ATTEMPTS),
            wait=wait_exponential(FIRST_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS),
            retry=retry_if_exception(_is_retryable),
            sleep=self._sleep,
            reraise=True,
        )
        return cast("list[list[float]]", call_embeddings(embed, count, name=self.memgraph_name, retry=retry))


def _is_retryable(error: BaseException) -> bool:
    """Whether another attempt may help: not for a missing package or key, nor for a request that the server refuses."""
    from memgraph.llm.retry import is_transient

    if isinstance(error, EmbeddingError) or not isinstance(error, Exception):
        return False
    return is_transient(error) or not isinstance(getattr(error, "status_code", None), int)
