"""The index: which files were read, their pieces, and a vector for each. All of it can be made again."""

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
        way TEXT NOT NULL,          -- in which it was read and cut
        problem TEXT NOT NULL       -- why there is no text in it
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
        probe BLOB NOT NULL         -- its vector of one text, to tell it from another of that name
    );
    CREATE TABLE vectors (
        digest BLOB NOT NULL,       -- of a text: what two files say alike is embedded once
        model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
        vector BLOB NOT NULL,
        PRIMARY KEY (digest, model)
    ) WITHOUT ROWID;
    """,
)
_PUT_FILE = """
    INSERT INTO files (path, source, name, size, modified, digest, way, problem)
    VALUES (:path, :source, :name, :size, :modified, :digest, :way, :problem)
"""
_PUT_CHUNK = "INSERT INTO chunks (file, place, start, text, digest) VALUES (?, ?, ?, ?, ?)"
_PUT_VECTOR = "INSERT INTO vectors (digest, model, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_UNEMBEDDED = """
    SELECT DISTINCT text FROM chunks
    WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?)
"""
_VECTORS = "SELECT chunks.id, vector FROM chunks JOIN vectors USING (digest) WHERE model = ? ORDER BY chunks.id"
_PASSAGES = """
    SELECT chunks.id, path, name, modified, place, start, text FROM chunks JOIN files ON files.id = file
    WHERE chunks.id IN ({})
"""
_UNUSED = "DELETE FROM vectors WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.digest = vectors.digest)"


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was read."""

    id: int
    source: str
    name: str
    size: int
    modified: int
    digest: str
    way: str
    problem: str
    """Why there is no text in it; empty where there is."""

    def is_unchanged(self, seen: FileStat, source: str, way: str) -> bool:
        """Whether the file looks as it did, so that it need not be read."""
        return (self.size, self.modified, self.source, self.way) == (seen.size, seen.modified, source, way)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file that was read, in pieces."""

    seen: FileStat
    source: str
    digest: str
    way: str
    chunks: Sequence[Chunk] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model that vectors are of."""

    id: int
    name: str
    probe: Vector


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file."""

    path: str
    name: str
    modified: int
    place: int
    start: int
    text: str


class FileIndex:
    """What is known of files. A file is replaced whole, in one transaction, so that no half of one is ever found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- files --

    def files(self) -> dict[str, IndexedFile]:
        """Every file by its path."""
        rows = self._rows("SELECT path, id, source, name, size, modified, digest, way, problem FROM files")
        return {row[0]: IndexedFile(*row[1:]) for row in rows}

    def put(self, files: Iterable[ParsedFile], vectors: Mapping[str, Vector], model: Model) -> None:
        """Put *files* in the place of what is known of them, with the new *vectors* of their texts."""
        with self._database.writing() as db:
            _put_vectors(db, vectors, model)
            for file in files:
                _put_file(db, file)

    def note(self, known: IndexedFile, seen: FileStat) -> None:
        """Note that a file was written again, and says the same."""
        with self._database.writing() as db:
            db.execute("UPDATE files SET size = ?, modified = ? WHERE id = ?", (seen.size, seen.modified, known.id))

    def remove(self, files: Iterable[IndexedFile]) -> None:
        """Forget *files*."""
        with self._database.writing() as db:
            db.executemany("DELETE FROM files WHERE id = ?", [(known.id,) for known in files])

    # -- vectors --

    def models(self) -> list[Model]:
        """The models that vectors are of, the newest first."""
        rows = self._rows("SELECT id, name, probe FROM models ORDER BY id DESC")
        return [Model(row[0], row[1], np.frombuffer(row[2], np.float32)) for row in rows]

    def add_model(self, name: str, probe: Vector) -> Model:
        """Note a model that vectors will be of."""
        with self._database.writing() as db:
            row = db.execute("INSERT INTO models (name, probe) VALUES (?, ?)", (name, probe.tobytes()))
            return Model(row.lastrowid or 0, name, probe)

    def embedded(self, texts: Iterable[str], model: Model) -> set[str]:
        """Which of *texts* have a vector."""
        sql = "SELECT 1 FROM vectors WHERE digest = ? AND model = ?"
        return {text for text in texts if self._rows(sql, (digest_of(text), model.id))}

    def unembedded(self, model: Model) -> list[str]:
        """The texts that have no vector."""
        return [row[0] for row in self._rows(_UNEMBEDDED, (model.id,))]

    def put_vectors(self, vectors: Mapping[str, Vector], model: Model) -> None:
        """Add the vectors of texts."""
        with self._database.writing() as db:
            _put_vectors(db, vectors, model)

    def vacuum(self, model: Model) -> None:
        """Forget the vectors of other models, and of texts that no file has any more."""
        with self._database.writing() as db:
            db.execute("DELETE FROM models WHERE id <> ?", (model.id,))
            db.execute(_UNUSED)

    # -- finding --

    def count(self) -> int:
        """How many pieces there are."""
        rows = self._rows("SELECT count(*) FROM chunks")
        return rows[0][0] if rows else 0

    def vectors(self, model: Model) -> tuple[list[int], Vector]:
        """The pieces and their vectors, shape (N, D)."""
        rows = self._rows(_VECTORS, (model.id,))
        flat = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
        return [row[0] for row in rows], flat.reshape(len(rows), -1) if rows else np.zeros((0, 0), np.float32)

    def passages(self, chunks: Sequence[int]) -> dict[int, Passage]:
        """The pieces with these numbers, those that are still there."""
        rows = self._rows(_PASSAGES.format(",".join("?" * len(chunks))), chunks)
        return {row[0]: Passage(*row[1:]) for row in rows}

    def version(self) -> int:
        """A number that is another one after another process wrote."""
        rows = self._rows("PRAGMA data_version")
        return rows[0][0] if rows else 0

    def check(self) -> None:
        """See whether the file is sound.

        Raises:
            MemoryStoreError: If it is not; the cause is SQLite's own error.
        """
        with self._database.writing() as db:
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(found)

    def close(self) -> None:
        """Close the file; it is opened again when used again."""
        self._database.close()

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._database.reading() as db:
            return db.execute(sql, values).fetchall() if db else []


def digest_of(text: str) -> bytes:
    """What a text is known by."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _put_file(db: sqlite3.Connection, file: ParsedFile) -> None:
    db.execute("DELETE FROM files WHERE path = ?", (str(file.seen.path),))
    row = {
        "path": str(file.seen.path),
        "source": file.source,
        "name": file.seen.name,
        "size": file.seen.size,
        "modified": file.seen.modified,
        "digest": file.digest,
        "way": file.way,
        "problem": file.problem,
    }
    number = db.execute(_PUT_FILE, row).lastrowid
    chunks = [
        (number, place, piece.start, piece.text, digest_of(piece.text)) for place, piece in enumerate(file.chunks)
    ]
    db.executemany(_PUT_CHUNK, chunks)


def _put_vectors(db: sqlite3.Connection, vectors: Mapping[str, Vector], model: Model) -> None:
    db.executemany(_PUT_VECTOR, [(digest_of(text), model.id, vector.tobytes()) for text, vector in vectors.items()])
