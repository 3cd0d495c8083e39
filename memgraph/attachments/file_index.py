"""The index of a file memory: files, their chunks and the vectors of these. It can be rebuilt at any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from memgraph._sql import Migration, Schema, Transaction
from memgraph.attachments.database import SELECT_MODEL, VECTORS
from memgraph.attachments.documents import (
    FileSource,
    ScanResult,
    SkippedFile,
    UnreadableFileError,
    read_document,
    scan,
)
from memgraph.retrieval.chunking import Chunk, split_overlapping
from memgraph.retrieval.embeddings import BATCH
from memgraph.retrieval.vector_store import digest_of

if TYPE_CHECKING:
    from memgraph.attachments.database import MemoryDatabase
    from memgraph.attachments.embedding import Embedder

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
        problem TEXT NOT NULL       -- why it cannot be read
    );
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
        place INTEGER NOT NULL,
        start INTEGER NOT NULL,
        text TEXT NOT NULL,
        digest BLOB NOT NULL
    );
    CREATE INDEX chunks_of_file ON chunks (file);
    CREATE INDEX chunks_by_digest ON chunks (digest)
"""
SCHEMA = Schema("index of files", (Migration("chunks.digest", sql=FILES), *VECTORS), 1, 0)
_INSERT_FILE = """
    INSERT INTO files (path, source, name, size, modified, digest, way, problem)
    VALUES (:path, :source, :name, :size, :modified, :digest, :way, :problem)
"""
_UPDATE_FILE = "UPDATE files SET size = :size, modified = :modified WHERE path = :path"
_DELETE_FILE = "DELETE FROM files WHERE path = :path"
_INSERT_CHUNK = "INSERT INTO chunks (file, place, start, text, digest) VALUES (:file, :place, :start, :text, :digest)"
_SELECT_UNEMBEDDED = """
    SELECT 1 FROM chunks WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest) LIMIT 1
"""
_SELECT_PASSAGES = """
    SELECT chunks.id, path, name, modified, place, start, text FROM chunks JOIN files ON files.id = file
    WHERE chunks.id IN :chunks
"""


class IndexedFile(NamedTuple):
    """A file, with its columns in the index."""

    path: str
    source: str
    name: str
    size: int
    modified: int
    way: str
    digest: str = ""
    """Empty until it is read."""
    problem: str = ""
    """Why it cannot be read; empty if it was read."""


class ParsedFile(NamedTuple):
    """A file that was read and split into chunks."""

    file: IndexedFile
    chunks: Sequence[Chunk] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a file."""

    path: str
    name: str
    modified: int
    index: int
    start: int
    text: str


class FileIndex:
    """The indexed files. A file is replaced in one transaction, so that a search never finds a part of it."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    # -- files --

    def files(self) -> dict[str, IndexedFile]:
        """Return every file by its path."""
        rows = self._database.rows("SELECT path, source, name, size, modified, way, digest, problem FROM files")
        return {row[0]: IndexedFile(*row) for row in rows}

    def put(self, files: Iterable[ParsedFile]) -> None:
        """Add or replace *files*."""
        files = list(files)
        self._database.run(lambda db: [_put_file(db, file) for file in files])

    def update_stat(self, file: IndexedFile) -> None:
        """Record the new size and time of a file with the same content."""
        self._database.run(lambda db: db.execute(_UPDATE_FILE, file._asdict()))

    def remove(self, paths: Iterable[str]) -> None:
        """Delete the files at *paths*."""
        rows = [{"path": path} for path in paths]
        if rows:
            self._database.run(lambda db: db.execute(_DELETE_FILE, rows))

    # -- search --

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        rows = self._database.rows("SELECT count(*) FROM chunks")
        return rows[0][0] if rows else 0

    def texts(self) -> list[tuple[int, str]]:
        """Return the number and the text of every chunk."""
        return self._database.rows("SELECT id, text FROM chunks ORDER BY id")

    def is_embedded(self, model_name: str) -> bool:
        """Return whether every chunk has a vector, and a model of this name made them."""
        is_current = any(name == model_name for _, name, _ in self._database.rows(SELECT_MODEL))
        return not self._database.rows(_SELECT_UNEMBEDDED) and (is_current or not self.count_chunks())

    def passages(self, chunks: Sequence[int]) -> dict[int, Passage]:
        """Return the chunks with these numbers; deleted ones are missing."""
        rows = self._database.rows(_SELECT_PASSAGES, {"chunks": list(chunks)})
        return {row[0]: Passage(*row[1:]) for row in rows}

    def check(self) -> None:
        """Check the integrity of the file.

        Raises:
            MemoryStoreError: If it is damaged; the cause is SQLite's own error.
        """

        def check(db: Transaction) -> None:
            found = db.row("PRAGMA quick_check(1)")
            if found != ("ok",):
                raise sqlite3.DatabaseError(*(found or ()))

        self._database.run(check)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._database.close()


def _put_file(db: Transaction, parsed: ParsedFile) -> None:
    row = parsed.file._asdict()
    db.execute(_DELETE_FILE, row)
    number = db.execute(_INSERT_FILE, row).lastrowid
    digests = (bytes.fromhex(digest_of(chunk.text)) for chunk in parsed.chunks)
    chunks = [
        {"file": number, "place": index, "start": chunk.start, "text": chunk.text, "digest": digest}
        for index, (chunk, digest) in enumerate(zip(parsed.chunks, digests, strict=True))
    ]
    if chunks:
        db.execute(_INSERT_CHUNK, chunks)


# -- updating -------------------------------------------------------------------------------------

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of files to read."""

MAX_PENDING_CHUNKS = 4 * BATCH
"""Chunks that are collected in RAM before their files are written in one transaction."""


class IndexReport(BaseModel):
    """The changes of an update of the index."""

    model_config = ConfigDict(frozen=True)

    indexed: tuple[str, ...] = ()
    """Files that are new or have new content."""
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    """Files that no longer exist."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that cannot be read, with the reason."""
    missing: tuple[SkippedFile, ...] = ()
    """Sources that do not exist now; their indexed files are kept."""
    embedded: int = 0
    """Number of texts sent to the embedding model."""
    passages: int = 0
    """Number of passages in the index after the update."""


class Indexer:
    """One update of an index from all sources.

    If the update is interrupted, each file in the index is either old or new, and its vectors are kept. Two processes
    may update an index concurrently: the result is the same.

    Args:
        index: The index to update.
        embedder: Makes the vectors.
        sources: The sources, each with its absolute path.
        size: Maximum characters of a chunk.
        overlap: Maximum characters that a chunk repeats of the previous one.
    """

    def __init__(
        self, index: FileIndex, embedder: Embedder, sources: Sequence[tuple[FileSource, Path]], size: int, overlap: int
    ) -> None:
        self._index, self._embedder, self._sources = index, embedder, sources
        self._size, self._overlap = size, overlap
        self._known = index.files()
        self._indexed, self._skipped = list[str](), list[SkippedFile]()
        self._missing, self._removed = list[SkippedFile](), list[str]()
        self._unchanged = 0

    def run(self, progress: Progress) -> IndexReport:
        """Update the index.

        Raises:
            EmbeddingError: If the model fails; the files done so far are kept, and the next update continues there.
            MemoryStoreError: If the index cannot be written.
        """
        before = self._embedder.table.saved
        pending = list(self._find_changes())
        self._index.remove(self._removed)
        self._read_all(pending, progress)
        texts = [text for _, text in self._index.texts()]
        if not self._index.is_embedded(self._embedder.name):
            self._embedder.embed_texts(texts)  # after a change of the model, or an interrupted update
        if pending or self._removed:
            self._embedder.table.prune({digest_of(text) for text in texts})
        return IndexReport(
            indexed=tuple(self._indexed),
            unchanged=self._unchanged,
            removed=tuple(self._removed),
            skipped=tuple(self._skipped),
            missing=tuple(self._missing),
            embedded=self._embedder.table.saved - before,
            passages=len(texts),
        )

    # -- scanning --

    def _find_changes(self) -> Iterator[tuple[IndexedFile, str]]:
        """Yield new and changed files, each with its encoding, and collect removed ones."""
        roots = {str(root) for _, root in self._sources}
        # the configuration may have lost a source
        present, removed = set[str](), [path for path, known in self._known.items() if known.source not in roots]
        for source, root in self._sources:
            result = self._scan(source, root)
            if result is None:
                continue
            removed += (path for path in self._paths_of(root) if result.covers(Path(path)))
            way = f"{self._size}/{self._overlap}/{source.encoding}"
            for stat in result.files:
                file = IndexedFile(str(stat.path), str(root), stat.name, stat.size, stat.modified, way)
                known = self._known.get(file.path)
                if file.path in present:
                    continue
                present.add(file.path)
                if known and known._replace(digest="", problem="") == file:
                    self._count_unchanged(known)
                else:
                    yield file, source.encoding
        self._removed = [path for path in dict.fromkeys(removed) if path not in present]

    def _paths_of(self, root: Path) -> list[str]:
        return [path for path, known in self._known.items() if known.source == str(root)]

    def _count_unchanged(self, known: IndexedFile) -> None:
        if known.problem:
            self._skipped.append(SkippedFile(path=known.path, why=known.problem))
        else:
            self._unchanged += 1

    def _scan(self, source: FileSource, root: Path) -> ScanResult | None:
        """Scan a source; None if it is missing, or empty now as the mount point of an absent disk."""
        try:
            result = scan(source, root)
        except OSError as error:
            self._missing.append(SkippedFile(path=str(root), why=error.strerror or str(error)))
            return None
        if not result.files and self._paths_of(root):
            self._missing.append(SkippedFile(path=str(root), why="it no longer contains files"))
            return None
        self._skipped += result.skipped
        return result

    # -- reading --

    def _read_all(self, pending: Sequence[tuple[IndexedFile, str]], progress: Progress) -> None:
        batch, chunks = list[ParsedFile](), 0
        for number, (file, encoding) in enumerate(pending, 1):
            if parsed := self._read(file, encoding):
                batch.append(parsed)
                chunks += len(parsed.chunks)
            if chunks >= MAX_PENDING_CHUNKS or number == len(pending):
                self._embedder.embed_texts(list(dict.fromkeys(chunk.text for each in batch for chunk in each.chunks)))
                self._index.put(batch)
                batch, chunks = [], 0
                progress(number, len(pending))

    def _read(self, file: IndexedFile, encoding: str) -> ParsedFile | None:
        """Read and split a file; None if its content is unchanged, or if it cannot be read now."""
        known = self._known.get(file.path)
        try:
            document = read_document(Path(file.path), encoding)
        except UnreadableFileError as error:
            self._skipped.append(SkippedFile(path=file.path, why=str(error)))
            return ParsedFile(file._replace(problem=str(error)))
        except OSError as error:  # may be temporary, so the indexed content is kept
            self._skipped.append(SkippedFile(path=file.path, why=error.strerror or str(error)))
            return None
        file = file._replace(digest=document.digest)
        if known and (known.digest, known.way, known.source) == (file.digest, file.way, file.source):
            self._index.update_stat(file)
            self._count_unchanged(known)
            return None
        self._indexed.append(file.path)
        return ParsedFile(file, split_overlapping(document.text, self._size, self._overlap))
