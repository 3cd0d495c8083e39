"""Embedding models by configuration. A new provider is a line in PROVIDERS."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from memgraph._concurrency import FairSemaphore
from memgraph.analysis.sentences import cut_at_sentence, split_text
from memgraph.errors import EmbeddingError
from memgraph.retrieval.embedding_config import LOCAL_PACKAGE, OPENAI_DEFAULT, EmbeddingConfig, parse_config
from memgraph.retrieval.embeddings import Vector, normalize

LOCAL_BATCH = 16
"""Texts that the model embeds at a time, for which a question waits; larger batches are not faster."""

_WAIT_POLICY = "OMP_WAIT_POLICY"


class SmallEmbeddings(Embeddings):
    """The small multilingual model of the extra `local`; all instances in a process share its 100 MB.

    Raises:
        EmbeddingError: If the extra is not installed.
    """

    def __init__(self) -> None:
        package = _import_optional(LOCAL_PACKAGE, "local")
        with _LOCAL_TURN, _passive_openmp():
            self._model = package.get_model()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        batches = (texts[start : start + LOCAL_BATCH] for start in range(0, len(texts), LOCAL_BATCH))
        return [vector for batch in batches for vector in self._embed(self._model.passage, batch)]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(self._model.query, [text])[0]

    def _embed(self, embed: Any, texts: list[str]) -> list[list[float]]:  # noqa: ANN401 - the package has no types
        with _LOCAL_TURN:
            return embed(texts).tolist()


@contextmanager
def _passive_openmp() -> Generator[None]:
    """Let the threads of an OpenMP library that is loaded here sleep while they wait, unless the user chose otherwise.

    By default they spin, and on a busy machine an embedding takes 3 to 14 times the CPU.
    """
    if _WAIT_POLICY in os.environ:
        yield
        return
    os.environ[_WAIT_POLICY] = "passive"
    try:
        yield
    finally:
        del os.environ[_WAIT_POLICY]


class SentenceTransformerEmbeddings(Embeddings):
    """A sentence-transformers model in a folder. Nothing is downloaded.

    Args:
        path: The folder.

    Raises:
        EmbeddingError: If the extra is not installed, or there is no model in the folder.
    """

    def __init__(self, path: str) -> None:
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise EmbeddingError(f"embedding.params.model_path: folder {folder} does not exist")
        package = _import_optional("sentence_transformers", "sentence-transformers")
        try:
            self._model = package.SentenceTransformer(str(folder), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise EmbeddingError(f"embedding.params.model_path: {folder} does not contain a model: {error}") from error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # the newer methods add the prompt that the model was trained with
        return getattr(self._model, "encode_document", self._model.encode)(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return getattr(self._model, "encode_query", self._model.encode)([text]).tolist()[0]


def _import_optional(package: str, extra: str) -> Any:  # noqa: ANN401 - a module without types, or one that is not there
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EmbeddingError(
            f"embedding provider local needs the package {package}: pip install 'langgraph-memgraph[{extra}]'"
        ) from error


_LOCAL_TURN = FairSemaphore(1)  # the engine uses all cores, and is not safe for concurrent calls


TIMEOUT_SECONDS = 60.0
_OPENAI_HOST = "api.openai.com"


@runtime_checkable
class EmbeddingModel(Protocol):
    """Anything with the methods of LangChain's Embeddings."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...
    def embed_query(self, text: str) -> list[float]: ...


Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text."""


def make_embeddings(model: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object]) -> Embeddings:
    """Return the embedding model that *model* is or describes.

    Args:
        model: A configuration, as `provider` and its keys or in a short form such as `local`; any LangChain
            Embeddings; or a function from texts to vectors.

    Returns:
        The model. One of a configuration is loaded, or connected, at its first use, which raises EmbeddingError if that
        fails.

    Raises:
        ConfigError: If a configuration is invalid.
    """
    if isinstance(model, EmbeddingModel):
        return cast("Embeddings", model)
    return FunctionEmbeddings(model) if callable(model) else ConfiguredEmbeddings(parse_config(model))


def model_name(embeddings: object) -> str:
    """Return what identifies the vectors of a model."""
    name = getattr(embeddings, "memgraph_name", None)
    if isinstance(name, str):
        return name
    cls = type(embeddings)
    values = (getattr(embeddings, key, None) for key in ("model", "model_name"))
    model = next((value for value in values if isinstance(value, str)), "")
    return f"{cls.__module__}.{cls.__qualname__}{f':{model}' if model else ''}"


class ConfiguredEmbeddings(Embeddings):
    """The model of a configuration, loaded at first use, so that an unused one costs nothing.

    Long texts are embedded in chunks, cut at sentence ends, whose vectors are combined.
    """

    def __init__(self, config: EmbeddingConfig) -> None:
        self._config = config
        self._params = config.params
        self._model: Embeddings | None = None
        self._lock = threading.Lock()

    @property
    def memgraph_name(self) -> str:
        return self._config.name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        chunked = [self._chunks(text) for text in texts]
        pieces = [piece for chunks in chunked for piece in chunks]
        if not pieces:
            return []
        vectors = iter(normalize(self._load().embed_documents(pieces), len(pieces)))
        return [self._combine([next(vectors) for _ in chunks], chunks).tolist() for chunks in chunked]

    def embed_query(self, text: str) -> list[float]:
        chunks, model = self._chunks(text), self._load()
        vectors = normalize([model.embed_query(chunk) for chunk in chunks], len(chunks))
        return self._combine(list(vectors), chunks).tolist()

    def _load(self) -> Embeddings:
        with self._lock:
            if self._model is None:
                self._model = PROVIDERS[self._config.provider](self._config)
            return self._model

    def _chunks(self, text: str) -> list[str]:
        """Return the chunks of *text*; a blank text is one chunk."""
        params = self._params
        if not params.use_chunking or params.chunk_strategy == "first":
            return [cut_at_sentence(text, params.max_length, len)]
        return split_text(text, params.max_length) or [text]

    def _combine(self, vectors: Sequence[Vector], chunks: Sequence[str]) -> Vector:
        """Return the mean of unit *vectors*, at length 1."""
        if len(vectors) == 1:
            return vectors[0]
        is_weighted = self._params.chunk_strategy == "weighted"
        mean = np.average(vectors, axis=0, weights=[len(chunk) for chunk in chunks] if is_weighted else None)
        return normalize([mean.tolist()], 1)[0]


class FunctionEmbeddings(Embeddings):
    """A function as an embedding model."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    @property
    def memgraph_name(self) -> str:
        named = self._embed if hasattr(self._embed, "__qualname__") else type(self._embed)
        return f"{named.__module__}.{named.__qualname__}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in vector] for vector in self._embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _openai(config: EmbeddingConfig) -> Embeddings:
    """A model of any OpenAI-compatible server. The client's own retries are off, since memgraph retries."""
    from langchain_openai import OpenAIEmbeddings
    from openai import OpenAIError

    build = partial(
        OpenAIEmbeddings,
        model=config.model or OPENAI_DEFAULT,
        base_url=config.base_url,
        max_retries=0,
        timeout=TIMEOUT_SECONDS,
        check_embedding_ctx_length=False,  # would send tokens, which not all servers accept; texts are chunked here
    )
    try:
        return build(api_key=config.api_key) if config.api_key else build()
    except OpenAIError as error:
        keyless = build(api_key=SecretStr("none"))
        if keyless.client._client.base_url.host == _OPENAI_HOST:  # noqa: SLF001 - not available elsewhere
            raise EmbeddingError(
                "no key for openai: set OPENAI_API_KEY or embedding.api_key, or base_url for your own server"
            ) from error
        return keyless  # your own server may not need a key, but the client does not start without one


def _local(config: EmbeddingConfig) -> Embeddings:
    path = config.params.model_path
    return SentenceTransformerEmbeddings(path) if path else SmallEmbeddings()


PROVIDERS: Mapping[str, Callable[[EmbeddingConfig], Embeddings]] = MappingProxyType(
    {"openai": _openai, "local": _local}
)
"""Builds the model of a configuration, by provider."""
