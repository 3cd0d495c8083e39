"""The embedding model of a memory: that of the core, with retries and with vectors in the memory's database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np
from langchain_core.embeddings import Embeddings
from pydantic import InstanceOf
from rapidfuzz.distance import LCSseq
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from memgraph.errors import EmbeddingError
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import Embed, EmbeddingModel, make_embeddings, model_name
from memgraph.retrieval.embeddings import EmbeddingCache, call_embeddings
from memgraph.retrieval.memory_index import best_first
from memgraph.retrieval.terms import extract_terms
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memgraph.attachments.database import MemoryVectors
    from memgraph.attachments.items import ItemText
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
    """

    def __init__(
        self, model: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object], table: MemoryVectors
    ) -> None:
        retrying = _RetryingEmbeddings(make_embeddings(model))
        super().__init__(retrying, keep_query=False, skip_refused=True)
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

    def __init__(self, model: Embeddings) -> None:
        self._model = model
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
            reraise=True,
        )
        return cast("list[list[float]]", call_embeddings(embed, count, name=self.memgraph_name, retry=retry))


def _is_retryable(error: BaseException) -> bool:
    """Whether another attempt may help: not for a missing package or key, nor for a request that the server refuses."""
    from memgraph.llm.call import is_transient

    if isinstance(error, EmbeddingError) or not isinstance(error, Exception):
        return False
    return is_transient(error) or not isinstance(getattr(error, "status_code", None), int)


# -- search -----------------------------------------------------------------------------------------

COSINE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
CANDIDATES = 50
"""Minimum number of items, best by cosine, that are then compared by words; or three times the requested ones."""

MAX_TERMS = 2_000
"""Terms of a query that are compared, the first ones: the longest common subsequence takes time by both lengths."""


class SearchHit(NamedTuple):
    """An item and how well it matches."""

    number: int
    cosine: float
    score: float
    vector: Vector | None


def search_items(
    text: str, items: Sequence[ItemText], embedder: Embedder | None, *, top_k: int, threshold: float
) -> list[SearchHit]:
    """Return the best items, best first; of equal ones the newest first.

        score = 0.7 * cosine + 0.3 * lexical similarity

    For an item without a vector, the lexical similarity replaces the cosine.

    Args:
        text: The query.
        items: The items of one owner, the newest last.
        embedder: Their embedding model; None compares words only.
        top_k: Maximum number of items.
        threshold: Minimum cosine.

    Raises:
        EmbeddingError: If the model fails.
    """
    query, hits, others = extract_terms(text)[:MAX_TERMS], list[SearchHit](), items
    if embedder:
        question = embedder.embed_query(text)
        vectors, known = embedder.embed_texts([item.summary for item in items])
        others = [item for item, has_vector in zip(items, known, strict=True) if not has_vector]
        best = best_by_cosine(vectors, known, question, max(CANDIDATES, 3 * top_k))
        hits = [_make_hit(items[at], query, cosine, vectors[at]) for cosine, at in best]
    hits += (_make_hit(item, query) for item in others)
    found = [hit for hit in hits if hit.cosine >= threshold]
    return sorted(found, key=lambda hit: (-hit.score, -hit.number))[:top_k]


def best_by_cosine(vectors: Vector, known: NDArray[np.bool_], vector: Vector, k: int) -> list[tuple[float, int]]:
    """Return the cosines and the positions of the best *k* unit vectors, best first; of equal ones the newest first.

    Args:
        vectors: Shape (N, D), the newest last.
        known: Which of them are vectors, shape (N,).
        vector: Of the query, shape (D,).
        k: Maximum number of them.
    """
    if not known.any():
        return []
    cosines = np.einsum("ij,j->i", vectors, vector)  # `@` would use the threads of BLAS
    return [(float(cosines[at]), at) for at in best_first(np.flatnonzero(known)[::-1], cosines, k)]


def text_similarity(query: Sequence[str], text: Sequence[str]) -> float:
    """Return the similarity of two texts, given as terms, within [0, 1].

    (Jaccard + longest common subsequence) / 2
    Jaccard = terms in both / terms in either
    longest common subsequence = its length / terms of the shorter text
    """
    if not query or not text:
        return 0.0
    one, other = set(query), set(text)
    jaccard = len(one & other) / len(one | other)
    return (jaccard + LCSseq.similarity(query, text) / min(len(query), len(text))) / 2


def _make_hit(
    item: ItemText, query: Sequence[str], cosine: float | None = None, vector: Vector | None = None
) -> SearchHit:
    lexical = text_similarity(query, item.terms.split())
    cosine = lexical if cosine is None else cosine
    return SearchHit(item.number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * lexical, vector)
