"""The SQLite file of vectors next to a file of memories. It holds digests of texts, never texts.

Vectors can be made again, so a damaged file is replaced by an empty one, and a failure is logged, not raised.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memgraph.errors import StorageError
from memgraph.models import Scope
from memgraph.retrieval.vector_store import ModelIdentity, Vector
from memgraph.storage.atomic_file import create_private, locked, make_folder, remove_file, wrap_os_errors

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

BUSY_TIMEOUT_SECONDS = 1.0
"""Seconds to wait for another process. A recall waits for it, so it is short; what is not stored is embedded again."""
DELETE_TIMEOUT_SECONDS = 30.0

CREATE_TABLES = """
    CREATE TABLE IF NOT EXISTS vector_model (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        name TEXT NOT NULL,
        probe BLOB NOT NULL,  -- its vector of a fixed sentence
        PRIMARY KEY (user_id, agent_name)
    );
    CREATE TABLE IF NOT EXISTS text_vector (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        digest TEXT NOT NULL,  -- sha256 of the text, in hex
        numbers BLOB NOT NULL,  -- float32, normalized
        PRIMARY KEY (user_id, agent_name, digest)
    )
"""
VERSION = 1
"""Increases with each change of the tables, so that an older release refuses a file that it does not know."""
PRAGMAS = (
    "PRAGMA synchronous = NORMAL",  # what a power cut loses is embedded again
    "PRAGMA secure_delete = ON",  # vectors of a deleted memory must not remain in the file
)

SELECT_MODEL = "SELECT name, probe FROM vector_model WHERE user_id = :user_id AND agent_name = :agent_name"
REPLACE_MODEL = "INSERT OR REPLACE INTO vector_model VALUES (:user_id, :agent_name, :name, :probe)"
DELETE_MODEL = "DELETE FROM vector_model WHERE user_id = :user_id AND agent_name = :agent_name"
SELECT_VECTORS = """
    SELECT digest, numbers FROM text_vector
    WHERE user_id = :user_id AND agent_name = :agent_name AND digest IN (SELECT value FROM json_each(:digests))
"""
REPLACE_VECTOR = "INSERT OR REPLACE INTO text_vector VALUES (:user_id, :agent_name, :digest, :numbers)"
PRUNE = """
    DELETE FROM text_vector
    WHERE user_id = :user_id AND agent_name = :agent_name AND digest NOT IN (SELECT value FROM json_each(:digests))
"""
DELETE_VECTORS = "DELETE FROM text_vector WHERE user_id = :user_id AND agent_name = :agent_name"
TRUNCATE_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"

logger = logging.getLogger(__name__)

T = TypeVar("T")


class _DamagedFileError(StorageError):
    """The file was damaged, and is removed."""


@dataclass(frozen=True)
class VectorFile:
    """The vectors of one memory in a SQLite file: see `VectorStore`.

    Any number of threads and processes may use the file. A connection lives for one operation.
    """

    path: Path
    scope: Scope
    is_deleted: Callable[[], bool] = field(compare=False)
    """Whether the memory is deleted: a recall that began before must not store its vectors again."""

    def load(self, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those of *digests* that *model* embedded."""

        def select(db: sqlite3.Connection) -> dict[str, Vector]:
            if not self._is_current(db, model):
                return {}
            rows = db.execute(SELECT_VECTORS, self._key(digests=json.dumps(list(digests)))).fetchall()
            size = model.probe.nbytes
            return {digest: np.frombuffer(numbers, np.float32) for digest, numbers in rows if len(numbers) == size}

        return self._try(select) or {}

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        """Store *vectors*, and delete those of any other model."""
        rows = [self._key(digest=digest, numbers=vector.tobytes()) for digest, vector in vectors.items()]

        def write(db: sqlite3.Connection) -> None:
            with _transaction(db):
                # in the transaction: a deletion that comes later waits for it, and deletes what it wrote
                if self.is_deleted():
                    return
                if not self._is_current(db, model):
                    db.execute(DELETE_VECTORS, self._key())
                    db.execute(REPLACE_MODEL, self._key(name=model.name, probe=model.probe.tobytes()))
                db.executemany(REPLACE_VECTOR, rows)

        self._try(write, create=True)

    def prune(self, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        self._try(lambda db: db.execute(PRUNE, self._key(digests=json.dumps(list(digests)))))

    def delete(self) -> None:
        """Delete all vectors, also from the write-ahead log.

        Raises:
            StorageError: If they could not be deleted.
        """
        with suppress(_DamagedFileError), self._connected(busy_timeout=DELETE_TIMEOUT_SECONDS) as db:
            if db is not None:
                with _transaction(db):
                    db.execute(DELETE_VECTORS, self._key())
                    db.execute(DELETE_MODEL, self._key())
                db.execute(TRUNCATE_LOG)

    def _is_current(self, db: sqlite3.Connection, model: ModelIdentity) -> bool:
        row = db.execute(SELECT_MODEL, self._key()).fetchone()
        return row is not None and len(row[1]) == model.probe.nbytes and model.is_same(_decode_model(*row))

    def _try(self, run: Callable[[sqlite3.Connection], T], *, create: bool = False) -> T | None:
        """Return what *run* returns; None if there is no file, or if it fails, which is logged."""
        try:
            with self._connected(create=create) as db:
                return None if db is None else run(db)
        except StorageError as error:
            logger.warning("vectors of %s are not kept: %s", self.scope.log_name, error)
            return None

    @contextmanager
    def _connected(
        self, *, create: bool = False, busy_timeout: float = BUSY_TIMEOUT_SECONDS
    ) -> Generator[sqlite3.Connection | None]:
        """Yield a connection; None if there is no file. A damaged file is removed, and a _DamagedFileError raised."""
        with wrap_os_errors(self.path), self._wrapping_errors():
            if create:
                make_folder(self.path.parent)
                create_private(self.path)
            elif not self.path.exists():
                yield None
                return
            with closing(sqlite3.connect(self.path, timeout=busy_timeout, isolation_level=None)) as db:
                for pragma in PRAGMAS:
                    db.execute(pragma)
                if _version(db) != VERSION:
                    self._create_tables(db, busy_timeout)
                yield db

    def _create_tables(self, db: sqlite3.Connection, busy_timeout: float) -> None:
        """Create them under a lock file: SQLite ignores the busy timeout while the journal mode changes."""
        with locked(self.path, busy_timeout):
            if _version(db) > VERSION:
                raise StorageError(f"{self.path} was written by a later version of memgraph")
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(f"BEGIN IMMEDIATE; {CREATE_TABLES}; PRAGMA user_version = {VERSION}; COMMIT")

    @contextmanager
    def _wrapping_errors(self) -> Generator[None]:
        """Raise errors of SQLite as StorageErrors, and remove a damaged file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            with locked(self.path, BUSY_TIMEOUT_SECONDS):
                for suffix in ("", "-wal", "-shm"):
                    remove_file(self.path.with_name(f"{self.path.name}{suffix}"))
            raise _DamagedFileError(f"{self.path} was damaged and is removed: {error}") from error

    def _key(self, **values: str | bytes) -> dict[str, str | bytes]:
        return {"user_id": self.scope.user_id, "agent_name": self.scope.agent_name or "", **values}


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    with db:
        yield


def _version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def _decode_model(name: str, probe: bytes) -> ModelIdentity:
    return ModelIdentity(name, np.frombuffer(probe, np.float32))
