"""file: a read-only memory of documents, which finds passages that match a question."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, Self, cast

from pydantic import BaseModel, Field, model_validator

from memgraph._sql import Migration, Schema
from memgraph.attachments.database import (
    AUTO,
    VECTORS,
    Embedder,
    EmbeddingChoice,
    MemoryDatabase,
    best_by_cosine,
    file_of,
)
from memgraph.attachments.documents import (
    FileSource,
    SkippedFile,
    SourceFile,
    UnreadableFileError,
    read_document,
    scan,
    skipped_by,
)
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import MemoryStore, SearchQuery, SearchResult, StoreConfig
from memgraph.errors import ConfigError, MemoryStoreError
from memgraph.models import timestamp
from memgraph.retrieval.chunking import Chunk, split_overlapping
from memgraph.retrieval.embeddings import BATCH
from memgraph.retrieval.vector_store import digest_of
from memgraph.storage.paths import absolute
from memgraph.storage.vector_file import is_damage

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


# -- the index: files and their passages, with vectors --------------------------------------------------

FILES = """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,
        name TEXT NOT NULL,         -- below the source
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,  -- nanoseconds since 1970
        digest TEXT NOT NULL,
        way TEXT NOT NULL,          -- how it was read and split
        problem TEXT NOT NULL,      -- why it cannot be read
        passages TEXT NOT NULL      -- a JSON list of starts and texts
    )
"""
# an earlier version kept each passage in a row
MERGE_CHUNKS = """
    ALTER TABLE files ADD COLUMN passages TEXT NOT NULL DEFAULT '[]';
    UPDATE files SET passages = (
        SELECT json_group_array(json_array(start, text))
        FROM (SELECT start, text FROM chunks WHERE file = files.id ORDER BY place)
    );
    DROP TABLE chunks
"""
MIGRATIONS = (Migration("files.path", sql=FILES), Migration("files.passages", sql=MERGE_CHUNKS), *VECTORS)
SCHEMA = Schema("index of files", MIGRATIONS, 2, 0)
REPLACE_FILE = """
    INSERT OR REPLACE INTO files (path, source, name, size, modified, way, digest, problem, passages)
    VALUES (:path, :source, :name, :size, :modified, :way, :digest, :problem, :passages)
"""
SELECT_FILES = "SELECT path, source, name, size, modified, way, digest, problem FROM files"
DELETE_FILE = "DELETE FROM files WHERE path = :path"
SELECT_PASSAGES = "SELECT path, name, modified, passages FROM files ORDER BY id"
SELECT_MODEL = "SELECT name FROM vector_model"
SELECT_DIGESTS = "SELECT digest FROM text_vector"


class Passage(NamedTuple):
    """A passage of a file."""

    path: str
    name: str
    modified: int
    place: int
    """Its number in the file, from 0."""
    start: int
    """Its first character in the file."""
    text: str


ParsedFile = tuple[SourceFile, Sequence[Chunk]]
"""A file that was read, and its chunks; none if it cannot be read."""

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of files to read."""

MAX_PENDING_CHUNKS = 4 * BATCH
"""Chunks that are collected in RAM before their files are written in one transaction."""


class IndexReport(BaseModel):
    """The changes of an update of the index."""

    indexed: list[str] = []
    """Files that are new or have new content."""
    unchanged: int = 0
    removed: list[str] = []
    """Files that no longer exist."""
    skipped: list[SkippedFile] = []
    """Files that cannot be read, with the reason."""
    missing: list[SkippedFile] = []
    """Sources that do not exist now; their indexed files are kept."""
    embedded: int = 0
    """Number of texts sent to the embedding model."""
    passages: int = 0
    """Number of passages in the index after the update."""


class Indexer:
    """One update of an index from all sources.

    A file is replaced in one transaction, so that a search never finds a part of it. If the update is interrupted, each
    file in the index is either old or new, and its vectors are kept. Two processes may update an index concurrently:
    the result is the same.

    Args:
        database: The index to update.
        embedder: Makes the vectors.
        sources: The sources, each with its absolute path.
        size: Maximum characters of a chunk.
        overlap: Maximum characters that a chunk repeats of the previous one.
    """

    def __init__(
        self,
        database: MemoryDatabase,
        embedder: Embedder,
        sources: Sequence[tuple[FileSource, Path]],
        size: int,
        overlap: int,
    ) -> None:
        self._database, self._embedder, self._sources = database, embedder, sources
        self._size, self._overlap = size, overlap
        self._known = {row[0]: SourceFile(*row) for row in database.rows(SELECT_FILES)}
        self._report = IndexReport()

    def run(self, progress: Progress) -> IndexReport:
        """Update the index.

        Raises:
            EmbeddingError: If the model fails; the files done so far are kept, and the next update continues there.
            MemoryStoreError: If the index cannot be written.
        """
        report, before = self._report, self._embedder.table.saved
        pending = list(self._find_changes())
        removed = [{"path": path} for path in report.removed]
        if removed:
            self._database.run(lambda db: db.execute(DELETE_FILE, removed))
        self._read_all(pending, progress)
        texts = [passage.text for passage in read_passages(self._database)]
        if not self._is_embedded(texts):
            self._embedder.embed_texts(texts)  # after a change of the model, or an interrupted update
        if pending or removed:
            self._embedder.prune(texts)
        report.passages, report.embedded = len(texts), self._embedder.table.saved - before
        return report

    def _is_embedded(self, texts: Sequence[str]) -> bool:
        """Return whether every text has a vector, and a model of this name made them."""
        is_current = all(name == self._embedder.name for (name,) in self._database.rows(SELECT_MODEL))
        return is_current and {(digest_of(text),) for text in texts} <= set(self._database.rows(SELECT_DIGESTS))

    # -- scanning --

    def _find_changes(self) -> Iterator[tuple[SourceFile, str]]:
        """Yield new and changed files, each with its encoding, and collect removed ones."""
        roots = {str(root) for _, root in self._sources}
        # the configuration may have lost a source
        present, removed = set[str](), [path for path, known in self._known.items() if known.source not in roots]
        for source, root in self._sources:
            indexed = [path for path, known in self._known.items() if known.source == str(root)]
            try:
                result = scan(source, root)
            except OSError as error:
                self._report.missing.append(skipped_by(root, error))
                continue
            if indexed and not result.files:  # as the mount point of an absent disk
                self._report.missing.append(SkippedFile(path=str(root), why="it no longer contains files"))
                continue
            self._report.skipped += result.skipped
            removed += (path for path in indexed if result.covers(Path(path)))
            way = f"{self._size}/{self._overlap}/{source.encoding}"
            for file in (found._replace(way=way) for found in result.files if found.path not in present):
                present.add(file.path)
                known = self._known.get(file.path)
                if known and known._replace(digest="", problem="") == file:
                    self._count_unchanged(known)
                else:
                    yield file, source.encoding
        self._report.removed = [path for path in dict.fromkeys(removed) if path not in present]

    def _count_unchanged(self, known: SourceFile) -> None:
        if known.problem:
            self._report.skipped.append(SkippedFile(path=known.path, why=known.problem))
        else:
            self._report.unchanged += 1

    # -- reading --

    def _read_all(self, pending: Sequence[tuple[SourceFile, str]], progress: Progress) -> None:
        batch, chunks = list[ParsedFile](), 0
        for number, (file, encoding) in enumerate(pending, 1):
            if parsed := self._read(file, encoding):
                batch.append(parsed)
                chunks += len(parsed[1])
            if chunks >= MAX_PENDING_CHUNKS or number == len(pending):
                self._embedder.embed_texts([chunk.text for _, split in batch for chunk in split])
                rows = [
                    {**file._asdict(), "passages": json.dumps([(chunk.start, chunk.text) for chunk in split])}
                    for file, split in batch
                ]
                if rows:
                    self._database.run(lambda db, rows=rows: db.execute(REPLACE_FILE, rows))
                batch, chunks = [], 0
                progress(number, len(pending))

    def _read(self, file: SourceFile, encoding: str) -> ParsedFile | None:
        """Read and split a file; None if it cannot be read now."""
        known = self._known.get(file.path)
        try:
            text, digest = read_document(Path(file.path), encoding)
        except (UnreadableFileError, OSError) as error:
            skipped = skipped_by(file.path, error)
            self._report.skipped.append(skipped)
            is_lasting = isinstance(error, UnreadableFileError)  # else the indexed content is kept
            return (file._replace(problem=skipped.why), ()) if is_lasting else None
        file = file._replace(digest=digest)
        if known and (known.digest, known.way, known.source) == (file.digest, file.way, file.source):
            self._count_unchanged(known)  # only its time is new
        else:
            self._report.indexed.append(file.path)
        return file, split_overlapping(text, self._size, self._overlap)


def read_passages(database: MemoryDatabase) -> list[Passage]:
    """Return all passages, those of the file that was indexed last at the end."""
    return [
        Passage(path, name, modified, place, start, text)
        for path, name, modified, passages in database.rows(SELECT_PASSAGES)
        for place, (start, text) in enumerate(json.loads(passages))
    ]
