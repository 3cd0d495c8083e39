"""Checked calls of embedding models, and a cache of the vectors of texts."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memgraph._cache import LRUCache
from memgraph.errors import EmbeddingError
from memgraph.retrieval.vector_store import PROBE, ModelIdentity, Vector, VectorStore, digest_of

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_VECTORS = 20_000
BATCH = 256
"""Maximum texts of one call."""
LIMITED_BATCH = 64
"""Maximum texts of one call under a time limit."""
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
        self._resume_at: float | None = None

    def call(self, embed: Callable[[], T]) -> T:
        """Return what *embed* returns.

        Raises:
            EmbeddingError: If it fails, or failed within the last PAUSE_SECONDS.
        """
        if self._resume_at is not None and self._now() < self._resume_at:
            raise EmbeddingError(f"{self._label} failed a moment ago and is not called for {PAUSE_SECONDS:.0f} seconds")
        try:
            return embed()
        except EmbeddingError:
            self._resume_at = self._now() + PAUSE_SECONDS
            raise

    def _now(self) -> float:
        return self._clock() if self._clock else time.monotonic()


class _CheckedModel:
    """An embedding model whose answers are checked, and that notices if another one answers by the same name."""

    def __init__(self, embeddings: Embeddings, clock: Callable[[], float] | None) -> None:
        self.embeddings = embeddings
        self._breaker = CircuitBreaker(clock=clock)
        self._identity: ModelIdentity | None = None
        self.generation = 0
        """How often another model has answered by the same name."""

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the model when it was last called for texts with their probe."""
        return self._identity or self._identify(self.embed([PROBE])[0])

    def embed(self, texts: list[str]) -> Vector:
        return self._breaker.call(lambda: self._call(texts))

    def embed_with_probe(self, texts: list[str]) -> Vector:
        """Return the vectors of *texts*, and update the identity by that of the model that made them."""
        probe, *vectors = self.embed([PROBE, *texts])
        self._identify(probe)
        return np.stack(vectors)

    def embed_each(self, texts: list[str]) -> list[Vector | None]:
        """As `embed_with_probe`, but with None for a text that the model refuses, although it embeds others."""
        probe, *vectors = self._breaker.call(lambda: self._call_each(texts))
        self._identify(probe)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. One of another size is of another model, which is then identified."""
        vector = self._breaker.call(lambda: call_model(lambda: [self.embeddings.embed_query(text)], 1))[0]
        if self._identity and vector.shape != self._identity.probe.shape:
            self._identify(self.embed([PROBE])[0])
        return vector

    def _call(self, texts: list[str]) -> Vector:
        return call_model(lambda: self.embeddings.embed_documents(texts), len(texts))

    def _call_each(self, texts: list[str]) -> tuple[Vector, *tuple[Vector | None, ...]]:
        try:
            return tuple(self._call([PROBE, *texts]))
        except EmbeddingError:
            probe = self._call([PROBE])[0]  # if it fails too, the model is down
            vectors = [self._call_or_none(text) for text in texts]
            if any(vector is not None and vector.shape != probe.shape for vector in vectors):
                raise EmbeddingError("the embedding model returns vectors of several sizes") from None
            return probe, *vectors

    def _call_or_none(self, text: str) -> Vector | None:
        try:
            return self._call([text])[0]
        except EmbeddingError as error:
            _log.warning("a text of %d characters is not embedded: %s", len(text), error)
            return None

    def _identify(self, probe: Vector) -> ModelIdentity:
        from memgraph.retrieval.embedding_models import model_name

        known, found = self._identity, ModelIdentity(model_name(self.embeddings), probe)
        if known is None or not known.is_same(found):
            self.generation += known is not None
            self._identity = known = found
        return known


class EmbeddingCache:
    """Calls an embedding model once for each text, and keeps the vectors by the digests of the texts.

    Args:
        embeddings: Any LangChain Embeddings.
        keep: Maximum number of vectors in RAM, the most recently used ones.
        clock: Seconds that only grow; None is `time.monotonic`.
        skip_refused: Whether a text that the model refuses, although it embeds others, is left without a vector. It
            needs a store.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        keep: int = MAX_VECTORS,
        clock: Callable[[], float] | None = None,
        skip_refused: bool = False,
    ) -> None:
        self._model = _CheckedModel(embeddings, clock)
        self._skip_refused = skip_refused
        self._vectors: LRUCache[tuple[VectorStore | None, str], Vector] = LRUCache(keep)
        self._clock = clock or time.monotonic
        self._store: VectorStore | None = None
        self._max_seconds: float | None = None

    @property
    def embeddings(self) -> Embeddings:
        """The model."""
        return self._model.embeddings

    @property
    def generation(self) -> int:
        """Vectors of two generations are of two models, and must not be compared."""
        return self._model.generation

    def of_memory(self, store: VectorStore | None, max_seconds: float | None = None) -> Self:
        """Return this cache for the texts of one memory, whose vectors *store* keeps.

        Args:
            store: Keeps vectors beyond this process; None keeps them in RAM only.
            max_seconds: See `embed_newest`; None embeds all texts at once.
        """
        scoped = copy.copy(self)
        scoped._store, scoped._max_seconds = store, max_seconds  # noqa: SLF001 - of this class
        return scoped

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of *texts*, shape (N, D).

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return _stack(self._embed(texts, None))[0]

    def embed_newest(self, texts: Sequence[str]) -> tuple[Vector, NDArray[np.bool_]]:
        """Return the unit vectors of *texts*, shape (N, D), and which of them are known, shape (N,).

        The last texts are embedded first, in batches of BATCH, or of LIMITED_BATCH under a time limit. No batch
        begins after the limit; the first is always embedded. A text that is left has a zero vector, and is embedded by
        a later call.

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS; or another one answers by the
            same name, which is noticed if there is a store.
        """
        return _stack(self._embed(texts, self._max_seconds))

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query, shape (D,). It is not kept.

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return self._model.embed_query(text)

    def prune(self, texts: Sequence[str]) -> None:
        """Delete the vectors of all texts of the memory but *texts* from its store."""
        if self._store is not None:
            self._store.prune({digest_of(text) for text in texts})

    def _embed(self, texts: Sequence[str], max_seconds: float | None) -> list[Vector | None]:
        digests = [digest_of(text) for text in texts]
        unique = dict(zip(digests, texts, strict=True))
        found, generation = self._find(unique), self.generation
        missing = [(digest, text) for digest, text in unique.items() if digest not in found]
        for batch in self._batches(missing, max_seconds):
            found |= self._embed_batch(dict(batch))
            if self.generation != generation:
                self._vectors.clear()
                raise EmbeddingError("another embedding model answers by the same name; all texts are embedded again")
        return [found.get(digest) for digest in digests]

    def _batches(self, missing: list[tuple[str, str]], max_seconds: float | None) -> Iterator[list[tuple[str, str]]]:
        """Yield *missing* in batches; with a limit, from the end, and none after *max_seconds*."""
        if max_seconds is None:
            yield from (missing[start : start + BATCH] for start in range(0, len(missing), BATCH))
            return
        end = self._clock() + max_seconds
        for stop in range(len(missing), 0, -LIMITED_BATCH):
            yield missing[max(0, stop - LIMITED_BATCH) : stop]
            if self._clock() >= end:
                return

    def _find(self, digests: Iterable[str]) -> dict[str, Vector]:
        """Return the known vectors: those in RAM, and those of the store, which are kept in RAM from now on."""
        in_ram = {digest: self._vectors.get((self._store, digest)) for digest in digests}
        found = {digest: vector for digest, vector in in_ram.items() if vector is not None}
        missing = [digest for digest in in_ram if digest not in found]
        if not missing or self._store is None:
            return found
        stored = self._store.load(self._model.identity, missing)
        self._keep(stored)
        return found | dict(stored)

    def _embed_batch(self, texts: Mapping[str, str]) -> dict[str, Vector]:
        """Return the vectors of *texts*, by digest. Each batch is stored at once, since a later one may fail."""
        if self._store is None:
            vectors = dict(zip(texts, self._model.embed(list(texts.values())), strict=True))
        else:
            embed = self._model.embed_each if self._skip_refused else self._model.embed_with_probe
            pairs = zip(texts, embed(list(texts.values())), strict=True)
            vectors = {digest: vector for digest, vector in pairs if vector is not None}
            self._store.save(self._model.identity, vectors)
        self._keep(vectors)
        return vectors

    def _keep(self, vectors: Mapping[str, Vector]) -> None:
        for digest, vector in vectors.items():
            self._vectors.put((self._store, digest), vector)


def _stack(vectors: Sequence[Vector | None]) -> tuple[Vector, NDArray[np.bool_]]:
    known = np.array([vector is not None for vector in vectors], dtype=bool)
    first = next((vector for vector in vectors if vector is not None), np.zeros(0, np.float32))
    unknown = np.zeros_like(first)
    rows = [unknown if vector is None else vector for vector in vectors]
    return (np.stack(rows) if rows else np.zeros((0, 0), np.float32)), known


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
