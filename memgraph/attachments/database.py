"""The SQLite file, or the database in RAM, of an attachable memory, and the vectors in it."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memgraph._sqlite import Database
from memgraph.errors import MemoryStoreError
from memgraph.retrieval.vector_store import ModelIdentity, Vector, digest_of
from memgraph.storage.paths import absolute, folder_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

AUTO = "auto"
BUSY_TIMEOUT_SECONDS = 30.0

VECTORS = """
    CREATE TABLE models (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        probe BLOB NOT NULL         -- its vector of a fixed text, to recognise the model
    );
    CREATE TABLE vectors (
        digest BLOB NOT NULL,       -- of a text: equal texts are embedded once
        model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
        vector BLOB NOT NULL,       -- float32, normalized
        PRIMARY KEY (digest, model)
    ) WITHOUT ROWID;
"""

SELECT_MODEL = "SELECT id, name, probe FROM models ORDER BY id DESC LIMIT 1"
INSERT_MODEL = "INSERT INTO models (name, probe) VALUES (?, ?)"
SELECT_VECTOR = "SELECT vector FROM vectors WHERE model = ? AND digest = ?"
REPLACE_VECTOR = "INSERT OR REPLACE INTO vectors (digest, model, vector) VALUES (?, ?, ?)"
PRUNE = "DELETE FROM vectors WHERE lower(hex(digest)) NOT IN (SELECT value FROM json_each(?))"
DELETE_VECTOR = "DELETE FROM vectors WHERE digest = ?"

SELECT_STATE = """
    SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id
    FROM pragma_user_version, pragma_application_id
"""


def file_of(memory_path: str | None, name: str, folder: Path | str | None) -> Path | None:
    """Return the file of the memory called *name*; None is RAM.

    Args:
        memory_path: A file, relative to *folder*; `auto` is NAME.db in it, the name encoded; None or "" is RAM.
        name: Name of the memory.
        folder: Base of a relative path; None is the working folder.
    """
    if not memory_path:
        return None
    path = Path(f"{folder_name(name)}.db" if memory_path == AUTO else memory_path).expanduser()
    return absolute(Path(folder or ".") / path)


_log = logging.getLogger("memgraph.attachments")


class MemoryDatabase(Database):
    """The database of one type of memory, which refuses a file of another type and leaves it as it is.

    Args:
        path: The file; None is RAM.
        migrations: Statements that create the tables, the oldest first.
        kind: Number of the memory type, kept in the file's application_id.
        what: Name of the memory type in error messages.
        upgrade: Called after missing migrations ran, to convert what they cannot.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        migrations: Sequence[str],
        kind: int,
        what: str,
        upgrade: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        super().__init__(
            path,
            name=str(path) if path else f"the {what} in RAM",
            migrations=(f"PRAGMA application_id = {kind};{migrations[0]}", *migrations[1:]),
            error_class=MemoryStoreError,
            busy_timeout=BUSY_TIMEOUT_SECONDS,
            secure_delete=True,
        )
        self.opened = 0
        """How often it was opened: rows read before the last time may be of a deleted file."""
        self._kind, self._what, self._upgrade = kind, what, upgrade
        _OPENED.add(self)

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        if db.execute(SELECT_STATE).fetchone()[2] != self._kind:
            self._disconnect()
            raise self._wrong_type()
        self.opened += 1
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        tables, version, kind = db.execute(SELECT_STATE).fetchone()
        if tables and (kind != self._kind or not version):
            raise self._wrong_type()
        super()._migrate(db)
        if self._upgrade:
            self._upgrade(db)

    def _wrong_type(self) -> MemoryStoreError:
        return MemoryStoreError(f"{self.name} is not a {self._what}. It was left unchanged; set another memory_path")

    @contextmanager
    def _wrap_errors(self) -> Generator[None]:
        with super()._wrap_errors():
            try:
                yield
            except sqlite3.OperationalError:
                raise
            except sqlite3.Error as error:  # the file is damaged
                raise MemoryStoreError(f"{self.name}: {error}. It was left unchanged; repair or remove it") from error


class VectorTable:
    """The vectors of the texts in a database, of one model at a time: see `VectorStore`. A failure is raised."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self.saved = 0
        """How many vectors were made."""

    def load(self, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those of *digests* that *model* embedded."""
        with self._database.reading() as db:
            number = _find_model(db, model) if db else None
            if db is None or number is None:
                return {}
            keys = ((digest, (number, bytes.fromhex(digest))) for digest in digests)
            rows = ((digest, db.execute(SELECT_VECTOR, key).fetchone()) for digest, key in keys)
            return {digest: np.frombuffer(row[0], np.float32) for digest, row in rows if row}

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        """Store *vectors*, and delete those of any other model."""
        with self._database.writing() as db:
            number = _find_model(db, model)
            if number is None:
                if db.execute("DELETE FROM models").rowcount:
                    _log.warning(
                        "%s: the embedding model has changed, so all texts are embedded again", self._database.name
                    )
                number = db.execute(INSERT_MODEL, (model.name, model.probe.tobytes())).lastrowid
            rows = ((bytes.fromhex(digest), number, vector.tobytes()) for digest, vector in vectors.items())
            db.executemany(REPLACE_VECTOR, rows)
        self.saved += len(vectors)

    def prune(self, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        with self._database.writing() as db:
            db.execute(PRUNE, (json.dumps(list(digests)),))


def delete_vectors(db: sqlite3.Connection, texts: Iterable[str]) -> None:
    """Delete the vectors of *texts*; if another item has the text as well, it is embedded again."""
    db.executemany(DELETE_VECTOR, [(bytes.fromhex(digest_of(text)),) for text in texts])


def _find_model(db: sqlite3.Connection, model: ModelIdentity) -> int | None:
    row = db.execute(SELECT_MODEL).fetchone()
    return row[0] if row and model.is_same(ModelIdentity(row[1], np.frombuffer(row[2], np.float32))) else None


_OPENED = weakref.WeakSet[MemoryDatabase]()
"""The databases of this process. The interpreter keeps a fork handler for ever, so they share one."""


def _reset_after_fork() -> None:
    for database in _OPENED:
        database.after_fork(threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
