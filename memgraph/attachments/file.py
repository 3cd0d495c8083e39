"""file: a read-only memory of documents, which finds the passages that answer a question."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import Field, model_validator

from memgraph.attachments.config import StoreConfig
from memgraph.attachments.database import AUTO, MemoryDatabase, file_of
from memgraph.attachments.embedding import Embedder, EmbeddingChoice
from memgraph.attachments.files.index import MIGRATIONS, FileIndex, Passage
from memgraph.attachments.files.indexer import Indexer, IndexReport, Progress
from memgraph.attachments.files.sources import FileSource
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import MemoryStore, SearchQuery, SearchResult
from memgraph.attachments.vectors import VectorIndex
from memgraph.errors import ConfigError, MemoryStoreError
from memgraph.storage.paths import absolute

if TYPE_CHECKING:
    from memgraph.attachments.store import Interaction

KIND = 0x6D676669
"""Of the index file, kept in its application_id."""
DAMAGED = ".damaged"

_log = logging.getLogger("memgraph.attachments")


class FileConfig(StoreConfig):
    """Documents to be read."""

    file_sources: Annotated[tuple[FileSource, ...], Field(min_length=1)]
    """Folders of documents, or single ones; at least one."""
    embedding: EmbeddingChoice | None = None
    """The embedding model; passages are found by it, so there must be one."""
    chunk_size: Annotated[int, Field(ge=50, le=10_000)] = 500
    """Characters of a passage; it is cut at a sentence end."""
    chunk_overlap: Annotated[int, Field(ge=0, le=5_000)] = 50
    """Characters that a passage may repeat of the one before; less than half of chunk_size."""
    index_path: str | None = AUTO
    """The index: a file, `auto` (beside the run), or none, which is RAM. It can be made again at any time."""

    @model_validator(mode="after")
    def _go_on(self) -> Self:
        if self.chunk_overlap * 2 >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap {self.chunk_overlap} is not less than half of chunk_size {self.chunk_size}"
            )
        return self


class FileMemory(MemoryStore):
    """Passages of documents, by their likeness to the question.

    The index follows the files when the memory is loaded: what is new or changed is read and embedded, all else is left
    alone. A file counts as changed where its size or its time did, and what it says is another.

    Args:
        name: As the configuration calls it.
        config: What is read, and how.
        folder: What relative paths are relative to; None is the working folder.

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
        self._embedder = Embedder(config.embedding)
        self._path = file_of(config.index_path, name, folder)
        base = Path(folder or ".")
        self._sources = [(source, absolute(base / Path(source.path).expanduser())) for source in config.file_sources]
        self._index = self._opened()
        self._found: _Searchable | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Bring the index up to date.

        Raises:
            EmbeddingError: If the model fails; what was embedded by then is kept.
            MemoryStoreError: If the index cannot be written.
        """
        report = self.index()
        for left in report.missing:
            _log.warning("memory %s: %s: %s; what was known of it is kept", self.name, left.path, left.why)
        for left in report.skipped:
            _log.info("memory %s: %s was skipped: %s", self.name, left.path, left.why)

    def index(self, progress: Progress | None = None) -> IndexReport:
        """As `load`, telling how far it is, and in the end what was done."""
        with self._lock:
            self._recover()
            self._found = None
            return self._update(progress or _silent)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        if not query.text:
            return ()
        with self._lock:
            found = self._searchable()
        if found is None:
            return ()
        best = found.index.search(self._embedder.of_query(query.text), top_k)
        passages = self._index.passages([row for row, _ in best])
        return [
            SearchResult(_item(passages[row]), passages[row].name, score)
            for row, score in best
            if row in passages and (threshold <= -1 or score >= threshold)
        ]

    def update(self, exchange: Interaction) -> None:
        """Refuse: documents are written by other means.

        Raises:
            MemoryStoreError: Always.
        """
        del exchange
        raise MemoryStoreError(f"the file memory {self.name!r} is only read")

    def close(self) -> None:
        with self._lock:
            self._found = None
            self._index.close()

    # -- the vectors in hand --

    def _searchable(self) -> _Searchable | None:
        """The vectors of all passages, read again after another process wrote; None where there are none."""
        version = self._index.version()
        if self._found is None or self._found.version != version:
            self._found = self._read_vectors()
        return self._found

    def _read_vectors(self) -> _Searchable | None:
        model = next(iter(self._index.models()), None)
        if model is None:
            return None
        if not self._embedder.is_same_model(model.name, model.probe):
            _log.warning("memory %s: its embedding model is another one now, so all of it is embedded again", self.name)
            model = self._index.add_model(self._embedder.name, self._embedder.probe)
        if self._index.unembedded(model):
            self._update(_silent)
        version = self._index.version()
        rows, vectors = self._index.vectors(model)
        index = VectorIndex(vectors.shape[1])
        index.add(rows, vectors)
        return _Searchable(index, version)

    def _update(self, progress: Progress) -> IndexReport:
        config = self._config
        indexing = Indexer(self._index, self._embedder, self._sources, config.chunk_size, config.chunk_overlap)
        return indexing.run(progress)

    # -- the file --

    def _opened(self) -> FileIndex:
        return FileIndex(MemoryDatabase(self._path, migrations=MIGRATIONS, kind=KIND, what="index of files"))

    def _recover(self) -> None:
        """Begin anew where the index is damaged; what is there is put beside it.

        Raises:
            MemoryStoreError: If it cannot be opened, or is another kind of database.
        """
        try:
            self._index.check()
        except MemoryStoreError as error:
            damage = error.__cause__
            if not isinstance(damage, sqlite3.DatabaseError) or isinstance(damage, sqlite3.OperationalError):
                raise
            self._quarantine(damage)

    def _quarantine(self, damage: sqlite3.DatabaseError) -> None:
        assert self._path  # noqa: S101 - RAM is not damaged
        aside = self._path.with_name(self._path.name + DAMAGED)
        _log.warning("%s is damaged (%s): it was moved to %s, and is made again", self._path, damage, aside.name)
        self._index.close()
        self._path.replace(aside)
        for tail in ("-wal", "-shm"):
            self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
        self._index = self._opened()


class _Searchable:
    """Vectors, and the version of the index they are of."""

    def __init__(self, index: VectorIndex, version: int) -> None:
        self.index = index
        self.version = version


def _item(passage: Passage) -> MemoryItem:
    modified = datetime.fromtimestamp(passage.modified / 1e9, UTC)
    return MemoryItem(
        id=f"{passage.name}#{passage.place}",
        content_summary=passage.text,
        metadata={"path": passage.path, "place": passage.place, "start": passage.start},
        timestamp=modified.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _silent(done: int, total: int) -> None:
    """Tell nobody."""
    del done, total
