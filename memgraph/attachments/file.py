"""file: a read-only memory of documents, which finds passages that match a question."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self, cast

from pydantic import Field, model_validator

from memgraph.attachments.database import (
    AUTO,
    Embedder,
    EmbeddingChoice,
    MemoryDatabase,
    best_by_cosine,
    file_of,
    is_damage,
)
from memgraph.attachments.documents import FileSource
from memgraph.attachments.file_index import SCHEMA, Indexer, IndexReport, Passage, Progress, read_passages
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import MemoryStore, SearchQuery, SearchResult, StoreConfig
from memgraph.errors import ConfigError, MemoryStoreError
from memgraph.models import timestamp
from memgraph.storage.paths import absolute

if TYPE_CHECKING:
    from memgraph._sql import Transaction
    from memgraph.attachments.store import Interaction


KIND = 0x6D676669
"""The application_id of index files: "mgfi"."""
DAMAGED_SUFFIX = ".damaged"

_log = logging.getLogger("memgraph.attachments")


class FileConfig(StoreConfig):
    """The documents to read."""

    file_sources: Annotated[tuple[FileSource, ...], Field(min_length=1)]
    """Folders of documents, or single documents; at least one."""
    embedding: EmbeddingChoice | None = None
    """The embedding model; required, since passages are found by it."""
    chunk_size: Annotated[int, Field(ge=50, le=10_000)] = 500
    """Maximum characters of a passage; it is cut at a sentence end."""
    chunk_overlap: Annotated[int, Field(ge=0, le=5_000)] = 50
    """Maximum characters that a passage repeats of the previous one; less than half of chunk_size."""
    index_path: str | None = AUTO
    """File of the index; `auto` is NAME.db in the folder of the run; none is RAM. It can be rebuilt at any time.
    `memory_path`, the key of the other types, is accepted too."""

    @model_validator(mode="before")
    @classmethod
    def _accept_memory_path(cls, value: object) -> object:
        """Read `memory_path` as `index_path`, unless there is one."""
        if not isinstance(value, Mapping) or "memory_path" not in value:
            return cast("object", value)
        config = dict(cast("Mapping[str, object]", value))
        path = config.pop("memory_path")
        return {"index_path": path, **config}

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.chunk_overlap * 2 >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap {self.chunk_overlap} is not less than half of chunk_size {self.chunk_size}"
            )
        return self


class FileMemory(MemoryStore):
    """Passages of documents, by similarity to the question.

    Loading the memory updates the index: only new and changed files are read and embedded. A file has changed if its
    size or time differs, and its content too.

    Args:
        name: Name in the configuration.
        config: The documents, and how they are read.
        folder: Base of relative paths; None is the working folder.

    Raises:
        ConfigError: If there is no embedding model.
    """

    read_only: ClassVar[bool] = True

    def __init__(self, name: str, config: FileConfig, *, folder: Path | str | None = None) -> None:
        if config.embedding is None:
            raise ConfigError(
                f"the file memory {name!r} needs an embedding model: set its `embedding`, such as `local` "
                "(with the extra `local`) or `openai:text-embedding-3-small`"
            )
        self.name = name
        self._config = config
        base = Path(folder or ".")
        self._sources = [(source, absolute(base / Path(source.path).expanduser())) for source in config.file_sources]
        self._database = MemoryDatabase(file_of(config.index_path, name, folder), schema=SCHEMA, kind=KIND)
        self._embedder = Embedder(config.embedding, self._database)
        self._lock = threading.Lock()

    def load(self) -> None:
        """Bring the index up to date.

        Raises:
            EmbeddingError: If the model fails; the vectors made so far are kept.
            MemoryStoreError: If the index cannot be written.
        """
        report = self.index()
        for source in report.missing:
            _log.warning("memory %s: %s: %s; its passages are kept", self.name, source.path, source.why)
        for file in report.skipped:
            _log.info("memory %s: %s was skipped: %s", self.name, file.path, file.why)

    def index(self, progress: Progress | None = None) -> IndexReport:
        """Like `load`, with a callback for progress, and a report."""
        with self._lock:
            self._recover()
            size, overlap = self._config.chunk_size, self._config.chunk_overlap
            indexing = Indexer(self._database, self._embedder, self._sources, size, overlap)
            return indexing.run(progress or (lambda _done, _total: None))

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        if not query.text:
            return ()
        question = self._embedder.embed_query(query.text)
        with self._lock:
            passages = read_passages(self._database)
            vectors, known = self._embedder.embed_texts([passage.text for passage in passages])
        best = best_by_cosine(vectors, known, question, top_k)
        return [_to_result(passages[at], cosine) for cosine, at in best if threshold <= -1 or cosine >= threshold]

    def update(self, exchange: Interaction) -> None:
        """Raise an error: the memory is read-only.

        Raises:
            MemoryStoreError: Always.
        """
        del exchange
        raise MemoryStoreError(f"the file memory {self.name!r} is read-only")

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _recover(self) -> None:
        """Replace a damaged index by an empty one; the damaged file is renamed.

        Raises:
            MemoryStoreError: If the file cannot be opened, or is another kind of database.
        """
        try:
            self._database.run(_check)
        except MemoryStoreError as error:
            damage, path = error.__cause__, self._database.path
            if not (path and is_damage(damage)):
                raise
            renamed = path.with_name(path.name + DAMAGED_SUFFIX)
            _log.warning("%s is damaged (%s): it was renamed to %s, and is rebuilt", path, damage, renamed.name)
            self._database.close()
            self._embedder.forget()
            path.replace(renamed)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)


def _check(db: Transaction) -> None:
    found = db.row("PRAGMA quick_check(1)")
    if found != ("ok",):
        raise sqlite3.DatabaseError(*(found or ()))


def _to_result(passage: Passage, score: float) -> SearchResult:
    item = MemoryItem(
        id=f"{passage.name}#{passage.place}",
        content_summary=passage.text,
        metadata={"path": passage.path, "place": passage.place, "start": passage.start},
        timestamp=timestamp(datetime.fromtimestamp(passage.modified / 1e9, UTC), "microseconds"),
    )
    return SearchResult(item, passage.name, score)
