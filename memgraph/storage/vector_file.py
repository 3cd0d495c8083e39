"""The SQLite file of vectors next to a file of memories. It holds digests of texts, never texts.

Vectors can be made again, so a damaged file is replaced by an empty one, and a failure is logged, not raised.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memgraph._sql import Migration, Schema, SqliteDatabase, Transaction
from memgraph.errors import StorageError
from memgraph.models import Scope
from memgraph.retrieval.vector_store import ModelIdentity, Vector
from memgraph.storage.atomic_file import locked, remove_file

if TYPE_CHECKING:
    from pathlib import Path

BUSY_TIMEOUT_SECONDS = 1.0
"""Seconds to wait for another process. A recall waits for it, so it is short; what is not stored is embedded again."""
DELETE_TIMEOUT_SECONDS = 30.0

TABLES = (
    Migration(
        "vector_model.probe",
        """
        CREATE TABLE vector_model (
            user_id TEXT NOT NULL,
            agent_name TEXT NOT NULL,
            name TEXT NOT NULL,
            probe BLOB NOT NULL,  -- its vector of a fixed sentence
            PRIMARY KEY (user_id, agent_name)
        )
        """,
    ),
    Migration(
        "text_vector.numbers",
        """
        CREATE TABLE text_vector (
            user_id TEXT NOT NULL,
            agent_name TEXT NOT NULL,
            digest TEXT NOT NULL,  -- sha256 of the text, in hex
            numbers BLOB NOT NULL,  -- float32, normalized
            PRIMARY KEY (user_id, agent_name, digest)
        )
        """,
    ),
)
SCHEMA = Schema("vectors", TABLES, sqlite_version=1, postgres_version=0)

SELECT_MODEL = "SELECT name, probe FROM vector_model WHERE user_id = :user_id AND agent_name = :agent_name"
REPLACE_MODEL = "INSERT OR REPLACE INTO vector_model VALUES (:user_id, :agent_name, :name, :probe)"
DELETE_MODEL = "DELETE FROM vector_model WHERE user_id = :user_id AND agent_name = :agent_name"
SELECT_VECTORS = """
    SELECT digest, numbers FROM text_vector
    WHERE user_id = :user_id AND agent_name = :agent_name AND digest IN (SELECT value FROM json_each(:digests))
"""
REPLACE_VECTOR = "INSERT OR REPLACE INTO text_vector VALUES (:user_id, :agent_name, :digest, :numbers)"
DELETE_VECTOR = "DELETE FROM text_vector WHERE user_id = :user_id AND agent_name = :agent_name AND digest = :digest"
PRUNE = """
    DELETE FROM text_vector
    WHERE user_id = :user_id AND agent_name = :agent_name AND digest NOT IN (SELECT value FROM json_each(:digests))
"""
DELETE_VECTORS = "DELETE FROM text_vector WHERE user_id = :user_id AND agent_name = :agent_name"

logger = logging.getLogger(__name__)

T = TypeVar("T")


def is_damage(error: BaseException | None) -> bool:
    """Return whether *error* of SQLite is about what is in the file."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


class VectorTable:
    """The vectors of one memory in the tables of a database, of one model at a time; each method is part of *db*.

    Args:
        user_id: Whose memory, in a database of several.
        agent_name: Of the memory.
    """

    def __init__(self, user_id: str = "", agent_name: str = "") -> None:
        self._scope = {"user_id": user_id, "agent_name": agent_name}

    def load(self, db: Transaction, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those of *digests* that *model* embedded."""
        if not self._is_current(db, model):
            return {}
        rows = db.rows(SELECT_VECTORS, {**self._scope, "digests": json.dumps(list(digests))})
        size = model.probe.nbytes
        return {digest: np.frombuffer(numbers, np.float32) for digest, numbers in rows if len(numbers) == size}

    def save(self, db: Transaction, model: ModelIdentity, vectors: Mapping[str, Vector]) -> bool:
        """Store *vectors*, delete those of any other model, and return whether there were any."""
        is_other = False
        if not self._is_current(db, model):
            is_other = self.clear(db)
            db.execute(REPLACE_MODEL, {**self._scope, "name": model.name, "probe": model.probe.tobytes()})
        rows = [{**self._scope, "digest": digest, "numbers": vector.tobytes()} for digest, vector in vectors.items()]
        if rows:
            db.execute(REPLACE_VECTOR, rows)
        return is_other

    def delete(self, db: Transaction, digests: Collection[str]) -> None:
        """Delete the vectors of *digests*."""
        if digests:
            db.execute(DELETE_VECTOR, [{**self._scope, "digest": digest} for digest in digests])

    def prune(self, db: Transaction, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        db.execute(PRUNE, {**self._scope, "digests": json.dumps(list(digests))})

    def clear(self, db: Transaction) -> bool:
        """Delete all vectors and their model, and return whether there was one."""
        db.execute(DELETE_VECTORS, self._scope)
        return db.execute(DELETE_MODEL, self._scope).rowcount > 0

    def _is_current(self, db: Transaction, model: ModelIdentity) -> bool:
        row = db.row(SELECT_MODEL, self._scope)
        if row is None or len(row[1]) != model.probe.nbytes:
            return False
        return model.is_same(ModelIdentity(row[0], np.frombuffer(row[1], np.float32)))


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
        return self._try(lambda db: self._table.load(db, model, digests), reads=True) or {}

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        """Store *vectors*, and delete those of any other model."""

        def write(db: Transaction) -> None:
            # in the transaction: a deletion that comes later waits for it, and deletes what it wrote
            if not self.is_deleted():
                self._table.save(db, model, vectors)

        self._try(write, create=True)

    def prune(self, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        self._try(lambda db: self._table.prune(db, digests))

    def delete(self) -> None:
        """Delete all vectors, also from the write-ahead log.

        Raises:
            StorageError: If they could not be deleted.
        """
        self._run(self._table.clear, busy_timeout=DELETE_TIMEOUT_SECONDS)

    @property
    def _table(self) -> VectorTable:
        return VectorTable(self.scope.user_id, self.scope.agent_name or "")

    def _try(self, run: Callable[[Transaction], T], *, reads: bool = False, create: bool = False) -> T | None:
        """Return what *run* returns; None if there is no file, or if it fails, which is logged."""
        try:
            return self._run(run, reads=reads, create=create)
        except StorageError as error:
            logger.warning("vectors of %s are not kept: %s", self.scope.log_name, error)
            return None

    def _run(
        self,
        run: Callable[[Transaction], T],
        *,
        reads: bool = False,
        create: bool = False,
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
    ) -> T | None:
        """Return what *run* returns; None if there is no file, or a damaged one, which is logged and removed."""
        database = SqliteDatabase(self.path, SCHEMA, StorageError, busy_timeout=busy_timeout)
        try:
            # what a power cut loses is embedded again
            return database.run(run, reads=reads, durable=False) if create or database.exists() else None
        except StorageError as error:
            if not is_damage(error.__cause__):
                raise
            logger.warning("%s is damaged, and is removed: %s", self.path, error.__cause__)
        finally:
            database.close()  # which empties the write-ahead log, unless another process has the file open
        with locked(self.path, BUSY_TIMEOUT_SECONDS):
            for suffix in ("", "-wal", "-shm"):
                remove_file(self.path.with_name(f"{self.path.name}{suffix}"))
        return None
