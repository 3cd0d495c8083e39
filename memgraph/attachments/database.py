"""The database of an attachable memory, a SQLite file or in RAM, and the embedding model that makes its vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from langchain_core.embeddings import Embeddings
from pydantic import InstanceOf
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from memgraph._sql import Migration, Schema, SqliteDatabase, driver_of
from memgraph.analysis.normalize import clean
from memgraph.errors import EmbeddingError, MemoryStoreError
from memgraph.importers.stores import is_json_file
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.retrieval.embedding_models import Embed, EmbeddingModel, make_embeddings, model_name
from memgraph.retrieval.embeddings import EmbeddingCache, call_embeddings
from memgraph.retrieval.memory_index import best_first
from memgraph.retrieval.vector_store import digest_of
from memgraph.storage.paths import absolute, folder_name
from memgraph.storage.vector_file import TABLES, VectorTable, is_damage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection, Engine

    from memgraph.retrieval.vector_store import ModelIdentity, Vector

AUTO = "auto"
IMPORT_SUFFIX = ".db"
"""Suffix of the database next to a JSON file."""
BUSY_TIMEOUT_SECONDS = 30.0

VECTORS = (
    *TABLES,
    # tables of an earlier version, with digests as bytes and several models
    Migration(
        "vectors.digest",
        sql="""
        INSERT OR REPLACE INTO vector_model SELECT '', '', name, probe FROM models ORDER BY id DESC LIMIT 1;
        INSERT OR REPLACE INTO text_vector
            SELECT '', '', lower(hex(digest)), vector FROM vectors WHERE model = (SELECT max(id) FROM models);
        DROP TABLE vectors;
        DROP TABLE models
        """,
        removes=True,
    ),
)
"""The tables of vectors, which are those of the core."""
VECTOR_TABLE = VectorTable()

SELECT_STATE = """
    SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id
    FROM pragma_user_version, pragma_application_id
"""

_log = logging.getLogger("memgraph.attachments")


def file_of(memory_path: str | None, name: str, folder: Path | str | None) -> Path | None:
    """Return the file of the memory called *name*; None is RAM.

    Args:
        memory_path: A file, relative to *folder*; `auto` is NAME.db in it, the name encoded; None or "" is RAM. If it
            is a JSON file, as ChatDev writes, the database is next to it: `memory.json.db`.
        name: Name of the memory.
        folder: Base of a relative path; None is the working folder.
    """
    if not memory_path:
        return None
    path = Path(f"{folder_name(name)}.db" if memory_path == AUTO else memory_path).expanduser()
    found = absolute(Path(folder or ".") / path)
    return found.with_name(f"{found.name}{IMPORT_SUFFIX}") if is_json_file(found) else found


class MemoryDatabase(SqliteDatabase):
    """The database of one type of memory, which refuses a file of another type and leaves it as it is.

    Args:
        path: The file; None is RAM.
        schema: The tables.
        kind: Number of the memory type, kept in the file's application_id.
    """

    def __init__(self, path: Path | None, *, schema: Schema, kind: int) -> None:
        name = str(path) if path else f"the {schema.part} in RAM"
        super().__init__(path, schema, MemoryStoreError, name=name, busy_timeout=BUSY_TIMEOUT_SECONDS)
        self._kind = kind

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of one statement that reads; none if there is no file."""
        return self.read([], lambda db: db.rows(statement, values))

    def _prepare(self, engine: Engine) -> float:
        with engine.connect() as db:
            tables, version, kind = driver_of(db).execute(SELECT_STATE).fetchone()
            if tables and (kind != self._kind or not version):
                wrong = f"{self.name} is not a {self._schema.part}"
                raise MemoryStoreError(f"{wrong}. It was left unchanged; set another memory_path")
        return super()._prepare(engine)

    def _migrate(self, db: Connection, has_column: Callable[[str, str], bool], *, is_sqlite: bool) -> None:
        driver_of(db).execute(f"PRAGMA application_id = {self._kind}")
        driver_of(db).create_function("digest_of", 1, digest_of)  # for migrations
        super()._migrate(db, has_column, is_sqlite=is_sqlite)

    def _reason(self, error: BaseException) -> str:
        return f"{error}. It was left unchanged; repair or remove it" if is_damage(error) else str(error)


# -- the embedding model ----------------------------------------------------------------------------

EmbeddingChoice: TypeAlias = EmbeddingConfig | InstanceOf[EmbeddingModel] | Embed
"""A value of `embedding:`. In YAML a word, or provider and its keys; in Python also any LangChain Embeddings, or a
function from texts to vectors."""

MAX_ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5


class MemoryVectors:
    """The vectors of the texts in a database: see `VectorStore`. A failure is raised."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self.saved = 0
        """How many vectors were made."""

    def load(self, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        return self._database.read({}, lambda db: VECTOR_TABLE.load(db, model, digests))

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        if self._database.run(lambda db: VECTOR_TABLE.save(db, model, vectors)):
            _log.warning("%s: the embedding model has changed, so all texts are embedded again", self._database.name)
        self.saved += len(vectors)

    def prune(self, digests: Collection[str]) -> None:
        self._database.run(lambda db: VECTOR_TABLE.prune(db, digests))


class Embedder(EmbeddingCache):
    """The embedding model of one memory. Each vector is made once, and kept in *database* until another model answers.

    Each call is attempted up to 3 times. If the last attempt fails too, every call fails at once for the next 30
    seconds, so that not every step of an agent waits for a server that is down. A text that the model refuses, although
    it accepts others, has no vector.

    Args:
        model: A configuration, any LangChain Embeddings, or a function from texts to vectors.
        database: Keeps the vectors of the memory.
    """

    def __init__(self, model: EmbeddingChoice, database: MemoryDatabase) -> None:
        retrying = _RetryingEmbeddings(make_embeddings(model))
        super().__init__(retrying, keep_query=False, skip_refused=True)
        self.name = retrying.memgraph_name
        self.table = self._store = MemoryVectors(database)

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
