"""The index of a file memory: files, their chunks and the vectors of the chunks. It can be rebuilt at any time."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memgraph.attachments.files.sources import FileStat
from memgraph.retrieval.chunking import Chunk

if TYPE_CHECKING:
    from memgraph.attachments.database import Database
    from memgraph.retrieval.embeddings import Vector

MIGRATIONS = (
    """
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
    CREATE INDEX chunks_by_digest ON chunks (digest);
    CREATE TABLE models (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        probe BLOB NOT NULL         -- its vector of a fixed text, to recognise the model
    );
    CREATE TABLE vectors (
        digest BLOB NOT NULL,       -- of a text: equal texts of several files are embedded once
        model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
        vector BLOB NOT NULL,
        PRIMARY KEY (digest, model)
    ) WITHOUT ROWID;
    """,
)
_INSERT_FILE = """
    INSERT INTO files (path, source, name, size, modified, digest, way, problem)
    VALUES (:path, :source, :name, :size, :modified, :digest, :way, :problem)
"""
_INSERT_CHUNK = "INSERT INTO chunks (file, place, start, text, digest) VALUES (?, ?, ?, ?, ?)"
_INSERT_VECTOR = "INSERT INTO vectors (digest, model, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_SELECT_UNEMBEDDED = """
    SELECT DISTINCT text FROM chunks WHERE
    NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?)
"""
_SELECT_VECTORS = "SELECT chunks.id, vector FROM chunks JOIN vectors USING (digest) WHERE model = ? ORDER BY chunks.id"
_SELECT_PASSAGES = """
    SELECT chunks.id, path, name, modified, place, start, text FROM chunks JOIN files ON files.id = file
    WHERE chunks.id IN ({})
"""
_DELETE_UNUSED = """
    DELETE FROM vectors WHERE
    NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.digest = vectors.digest)
"""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was indexed."""

    id: int
    source: str
    name: str
    size: int
    modified: int
    digest: str
    way: str
    problem: str
    """Why it cannot be read; empty if it was read."""

    def is_unchanged(self, stat: FileStat, source: str, way: str) -> bool:
        """Return whether size, time, source and way are the same, so that the file need not be read."""
        return (self.size, self.modified, self.source, self.way) == (stat.size, stat.modified, source, way)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file that was read and split into chunks."""

    stat: FileStat
    source: str
    digest: str
    way: str
    chunks: Sequence[Chunk] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class IndexedModel:
    """An embedding model that has vectors in the index."""

    id: int
    name: str
    probe: Vector


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

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- files --

    def files(self) -> dict[str, IndexedFile]:
        """Return every file by its path."""
        rows = self._rows("SELECT path, id, source, name, size, modified, digest, way, problem FROM files")
        return {row[0]: IndexedFile(*row[1:]) for row in rows}

    def put(self, files: Iterable[ParsedFile], vectors: Mapping[str, Vector], model: IndexedModel) -> None:
        """Add or replace *files*, with the new *vectors* of their texts."""
        with self._database.writing() as db:
            _put_vectors(db, vectors, model)
            for file in files:
                _put_file(db, file)

    def update_stat(self, known: IndexedFile, stat: FileStat) -> None:
        """Record the new size and time of a file with the same content."""
        with self._database.writing() as db:
            db.execute("UPDATE files SET size = ?, modified = ? WHERE id = ?", (stat.size, stat.modified, known.id))

    def remove(self, files: Iterable[IndexedFile]) -> None:
        """Delete *files*."""
        with self._database.writing() as db:
            db.executemany("DELETE FROM files WHERE id = ?", [(known.id,) for known in files])

    # -- vectors --

    def models(self) -> list[IndexedModel]:
        """Return the models, newest first."""
        rows = self._rows("SELECT id, name, probe FROM models ORDER BY id DESC")
        return [IndexedModel(row[0], row[1], np.frombuffer(row[2], np.float32)) for row in rows]

    def add_model(self, name: str, probe: Vector) -> IndexedModel:
        """Add a model."""
        with self._database.writing() as db:
            row = db.execute("INSERT INTO models (name, probe) VALUES (?, ?)", (name, probe.tobytes()))
            return IndexedModel(row.lastrowid or 0, name, probe)

    def embedded_texts(self, texts: Iterable[str], model: IndexedModel) -> set[str]:
        """Return those of *texts* that have a vector."""
        sql = "SELECT 1 FROM vectors WHERE digest = ? AND model = ?"
        return {text for text in texts if self._rows(sql, (hash_text(text), model.id))}

    def unembedded_texts(self, model: IndexedModel) -> list[str]:
        """Return the texts without a vector."""
        return [row[0] for row in self._rows(_SELECT_UNEMBEDDED, (model.id,))]

    def put_vectors(self, vectors: Mapping[str, Vector], model: IndexedModel) -> None:
        """Add the vectors of texts."""
        with self._database.writing() as db:
            _put_vectors(db, vectors, model)

    def vacuum(self, model: IndexedModel) -> None:
        """Delete the vectors of other models, and of texts that no file has any longer."""
        with self._database.writing() as db:
            db.execute("DELETE FROM models WHERE id <> ?", (model.id,))
            db.execute(_DELETE_UNUSED)

    # -- search --

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        rows = self._rows("SELECT count(*) FROM chunks")
        return rows[0][0] if rows else 0

    def vectors(self, model: IndexedModel) -> tuple[list[int], Vector]:
        """Return the chunks and their vectors, shape (N, D)."""
        rows = self._rows(_SELECT_VECTORS, (model.id,))
        flat = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
        return [row[0] for row in rows], flat.reshape(len(rows), -1) if rows else np.zeros((0, 0), np.float32)

    def passages(self, chunks: Sequence[int]) -> dict[int, Passage]:
        """Return the chunks with these numbers; deleted ones are missing."""
        rows = self._rows(_SELECT_PASSAGES.format(",".join("?" * len(chunks))), chunks)
        return {row[0]: Passage(*row[1:]) for row in rows}

    def version(self) -> int:
        """Return a number that changes when another process writes."""
        rows = self._rows("PRAGMA data_version")
        return rows[0][0] if rows else 0

    def check(self) -> None:
        """Check the integrity of the file.

        Raises:
            MemoryStoreError: If it is damaged; the cause is SQLite's own error.
        """
        with self._database.writing() as db:
            result = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if result != "ok":
                raise sqlite3.DatabaseError(result)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._database.close()

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._database.reading() as db:
            return db.execute(sql, values).fetchall() if db else []


def hash_text(text: str) -> bytes:
    """Return the key of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _put_file(db: sqlite3.Connection, file: ParsedFile) -> None:
    db.execute("DELETE FROM files WHERE path = ?", (str(file.stat.path),))
    row = {
        "path": str(file.stat.path),
        "source": file.source,
        "name": file.stat.name,
        "size": file.stat.size,
        "modified": file.stat.modified,
        "digest": file.digest,
        "way": file.way,
        "problem": file.problem,
    }
    number = db.execute(_INSERT_FILE, row).lastrowid
    chunks = [
        (number, index, chunk.start, chunk.text, hash_text(chunk.text)) for index, chunk in enumerate(file.chunks)
    ]
    db.executemany(_INSERT_CHUNK, chunks)


def _put_vectors(db: sqlite3.Connection, vectors: Mapping[str, Vector], model: IndexedModel) -> None:
    db.executemany(_INSERT_VECTOR, [(hash_text(text), model.id, vector.tobytes()) for text, vector in vectors.items()])
