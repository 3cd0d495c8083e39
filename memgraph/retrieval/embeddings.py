"""Checked calls of embedding models, and a cache of the vectors of texts."""

from __future__ import annotations

import copy
import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memgraph._cache import LRUCache
from memgraph._concurrency import run_in_thread
from memgraph.errors import EmbeddingError
from memgraph.retrieval.vector_store import PROBE, ModelIdentity, Vector, VectorStore, digest_of

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_VECTORS = 20_000
BATCH = 64
"""Maximum texts of one call."""
BACKGROUND_BATCH = 16
"""The same on the background thread: a question waits for at most one of them."""
CLOSE_SECONDS = 2.0
"""Maximum seconds that `EmbeddingCache.close` waits."""
PAUSE_SECONDS = 30.0
"""Pause after a failure, so that not every recall waits for a server that is down."""


def call_embeddings(
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


class _CheckedModel:
    """An embedding model whose answers are checked, and that notices if another one answers by the same name.

    After a failure, it fails fast for PAUSE_SECONDS.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings
        self._resume_at: float | None = None
        self._identity: ModelIdentity | None = None
        self.generation = 0
        """How often another model has answered by the same name."""

    @property
    def is_identified(self) -> bool:
        return self._identity is not None

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the model when it was last called for texts with their probe."""
        return self._identity or self._identify(self.embed([PROBE])[0])

    def embed(self, texts: list[str]) -> Vector:
        return self._guarded(lambda: self._call(texts))

    def embed_with_probe(self, texts: list[str], *, skip_refused: bool) -> list[Vector | None]:
        """Return the vectors of *texts*, and update the identity by that of the model that made them.

        With *skip_refused*, a text that the model refuses, although it embeds others, has None.
        """
        call = self._call_each if skip_refused else self._call
        probe, *vectors = self._guarded(lambda: tuple(call([PROBE, *texts])))
        self._identify(probe)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. One of another size is of another model, which is then identified."""
        vector = self._guarded(lambda: call_embeddings(lambda: [self.embeddings.embed_query(text)], 1))[0]
        if self._identity and vector.shape != self._identity.probe.shape:
            self._identify(self.embed([PROBE])[0])
        return vector

    def _guarded(self, embed: Callable[[], T]) -> T:
        if self._resume_at is not None and time.monotonic() < self._resume_at:
            raise EmbeddingError(
                f"the embedding model failed a moment ago and is not called for {PAUSE_SECONDS:.0f} seconds"
            )
        try:
            return embed()
        except EmbeddingError:
            self._resume_at = time.monotonic() + PAUSE_SECONDS
            raise

    def _call(self, texts: list[str]) -> Vector:
        return call_embeddings(lambda: self.embeddings.embed_documents(texts), len(texts))

    def _call_each(self, texts: list[str]) -> tuple[Vector, *tuple[Vector | None, ...]]:
        try:
            return tuple(self._call(texts))
        except EmbeddingError:
            probe = self._call([PROBE])[0]  # if it fails too, the model is down
            vectors = [self._call_or_none(text) for text in texts[1:]]
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


@dataclass
class _Missing:
    """The texts of an index that have no vector yet."""

    texts: dict[str, str]
    """By digest, the newest last."""
    store: VectorStore | None
    embed: Callable[[Mapping[str, str]], object]
    """Makes the vectors of some of them."""

    def newest(self) -> dict[str, str]:
        """Return the newest of the texts, one batch of them."""
        return dict(list(self.texts.items())[-BACKGROUND_BATCH:])


class _Background:
    """Makes vectors on one daemon thread, batch by batch, as long as the texts are used."""

    def __init__(self) -> None:
        self._missing: weakref.WeakKeyDictionary[object, _Missing] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._loading: Future[object] | None = None

    def add(self, owner: object, missing: _Missing) -> None:
        """Replace what is missing for *owner*."""
        with self._lock:
            self._missing[owner] = missing
            if self._running is None or self._running.done():
                self._running = run_in_thread(self._run, "memgraph-embed")

    def load(self, call: Callable[[], object]) -> None:
        with self._lock:
            if self._loading and self._loading.done() and (failure := self._loading.exception()):
                _log.error("memory is ranked by words alone: %s", failure)
                self._loading = None
            self._loading = self._loading or run_in_thread(call, "memgraph-embed")

    def keep(self, store: VectorStore, digests: AbstractSet[str]) -> None:
        """Drop what is missing in *store* except *digests*."""
        with self._lock:
            for missing in self._missing.values():
                if missing.store == store:
                    missing.texts = {digest: text for digest, text in missing.texts.items() if digest in digests}

    def close(self, *, finish: bool) -> None:
        with self._lock:
            for missing in self._missing.values():
                missing.texts = missing.newest() if finish else {}
            running = self._running
        if finish and running is not None:
            wait([running], CLOSE_SECONDS)
        with self._lock:
            self._missing.clear()

    def _run(self) -> None:
        try:
            while (missing := self._next()) is not None:
                batch = missing.newest()
                missing.embed(batch)
                missing.texts = {digest: text for digest, text in missing.texts.items() if digest not in batch}
        except EmbeddingError as error:
            _log.error("texts are left without vectors for now: %s", error)
            with self._lock:
                self._missing.clear()  # a later question asks for them again

    def _next(self) -> _Missing | None:
        with self._lock:
            found = next((missing for missing in self._missing.values() if missing.texts), None)
            if found is None:
                self._running = None  # what is added from now on starts another thread
            return found


class EmbeddingCache:
    """Calls an embedding model once for each text, and keeps the vectors by the digests of the texts.

    Args:
        embeddings: Any LangChain Embeddings.
        keep: Maximum number of vectors in RAM, the most recently used ones.
        keep_query: Whether the vector of the last query is kept. Without, a changed model is noticed at each query.
        skip_refused: Whether a text that the model refuses, although it embeds others, is left without a vector. It
            needs a store.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        keep: int = MAX_VECTORS,
        keep_query: bool = True,
        skip_refused: bool = False,
    ) -> None:
        self._model = _CheckedModel(embeddings)
        self._skip_refused = skip_refused
        self._vectors: LRUCache[tuple[VectorStore | None, int, str], Vector] = LRUCache(keep)
        self._queries: LRUCache[tuple[int, str], Vector] = LRUCache(min(keep, int(keep_query)))
        self._background = _Background()
        self._store: VectorStore | None = None
        self._waits = True

    @property
    def generation(self) -> int:
        """Vectors of two generations are of two models, and must not be compared."""
        return self._model.generation

    @property
    def is_loaded(self) -> bool:
        """Whether the model has answered."""
        return self._model.is_identified

    def of_memory(self, store: VectorStore | None, *, waits: bool = True) -> Self:
        """Return this cache for the texts of one memory, whose vectors *store* keeps.

        Args:
            store: Keeps vectors beyond this process; None keeps them in RAM only.
            waits: Whether `look_up` waits for the vectors that are missing.
        """
        scoped = copy.copy(self)
        scoped._store, scoped._waits = store, waits  # noqa: SLF001 - of this class
        return scoped

    def embed_texts(self, texts: Sequence[str]) -> tuple[Vector, NDArray[np.bool_]]:
        """Return the unit vectors of *texts*, shape (N, D), and which of them have one, shape (N,).

        Vectors that are missing are made in batches, the last texts first. A text without one has a zero vector.

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS; or another one answers by the
            same name, which is noticed if there is a store.
        """
        digests, found, missing = self._find_texts(texts)
        left, generation = list(missing.items()), self.generation
        for stop in range(len(left), 0, -BATCH):
            found |= self._embed_batch(dict(left[max(0, stop - BATCH) : stop]), generation)
        return _stack([found.get(digest) for digest in digests])

    def look_up(self, texts: Sequence[str], owner: object) -> tuple[Vector, NDArray[np.bool_]]:
        """Return what `embed_texts` does; without waiting, if the cache was scoped so, only the vectors that are known.

        A daemon thread then makes the others, the last texts first, as long as their *owner* is used.

        Raises:
            EmbeddingError: As `embed_texts`.
        """
        if self._waits:
            return self.embed_texts(texts)
        digests, found, missing = self._find_texts(texts)
        if missing:
            embed = partial(self._embed_batch, generation=self.generation)
            self._background.add(owner, _Missing(missing, self._store, embed))
        return _stack([found.get(digest) for digest in digests])

    def load(self) -> None:
        """Load the model on a daemon thread, unless that has begun; the next call logs a failure, and tries again."""
        self._background.load(lambda: self._model.identity)

    def close(self, *, finish: bool = True) -> None:
        """Make one more batch of the vectors that are missing, for each index; then the thread ends.

        Args:
            finish: Whether to make that batch. If not, it returns at once, and the thread ends with its batch.
        """
        self._background.close(finish=finish)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query, shape (D,). That of the last query is kept: each index asks for it.

        Raises:
            EmbeddingError: If the model fails, or failed within the last PAUSE_SECONDS.
        """
        return self._queries.get((self.generation, text), lambda: self._model.embed_query(text))

    def prune(self, texts: Sequence[str]) -> None:
        """Delete the vectors of all texts of the memory but *texts* from its store."""
        if self._store is not None:
            digests = {digest_of(text) for text in texts}
            self._background.keep(self._store, digests)
            self._store.prune(digests)

    def _find_texts(self, texts: Sequence[str]) -> tuple[list[str], dict[str, Vector], dict[str, str]]:
        """Return the digests of *texts*, the known vectors by digest, and the texts without one, by digest."""
        digests = [digest_of(text) for text in texts]
        unique = dict(zip(digests, texts, strict=True))
        in_ram = {digest: self._vectors.get((self._store, self.generation, digest)) for digest in unique}
        found = {digest: vector for digest, vector in in_ram.items() if vector is not None}
        unknown = unique.keys() - found.keys()
        if unknown and self._store is not None:
            stored = self._store.load(self._model.identity, unknown)
            self._keep(stored)  # in RAM from now on
            found |= stored
        return digests, found, {digest: text for digest, text in unique.items() if digest not in found}

    def _embed_batch(self, texts: Mapping[str, str], generation: int) -> dict[str, Vector]:
        """Return the vectors of *texts*, by digest. Each batch is stored at once, since a later one may fail.

        Raises:
            EmbeddingError: If the model fails, or is not that of *generation* any more.
        """
        if self._store is None:
            vectors = dict(zip(texts, self._model.embed(list(texts.values())), strict=True))
        else:
            made = self._model.embed_with_probe(list(texts.values()), skip_refused=self._skip_refused)
            vectors = {digest: vector for digest, vector in zip(texts, made, strict=True) if vector is not None}
            self._store.save(self._model.identity, vectors)
        if self.generation != generation:
            raise EmbeddingError("another embedding model answers by the same name; all texts are embedded again")
        self._keep(vectors)
        return vectors

    def _keep(self, vectors: Mapping[str, Vector]) -> None:
        for digest, vector in vectors.items():
            self._vectors.put((self._store, self.generation, digest), vector)


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
