"""The SQLite file, or the database in RAM, of an attachable memory, and the vectors in it."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph._sql import Migration, Schema, SqliteDatabase, Transaction, driver_of
from memgraph.errors import MemoryStoreError
from memgraph.importers.chatdev import is_json_file
from memgraph.retrieval.vector_store import digest_of
from memgraph.storage.paths import absolute, folder_name
from memgraph.storage.vector_file import TABLES, VectorTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

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
        return self.run(lambda db: db.rows(statement, values), reads=True) if self.exists() else []

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


def is_damage(error: BaseException | None) -> bool:
    """Return whether *error* of SQLite is about what is in the file."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


class MemoryVectors:
    """The vectors of the texts in a database: see `VectorStore`. A failure is raised."""

    table = VectorTable()

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self.saved = 0
        """How many vectors were made."""

    def load(self, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        if not self._database.exists():
            return {}
        return self._database.run(lambda db: self.table.load(db, model, digests), reads=True)

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        if self._database.run(lambda db: self.table.save(db, model, vectors)):
            _log.warning("%s: the embedding model has changed, so all texts are embedded again", self._database.name)
        self.saved += len(vectors)

    def prune(self, digests: Collection[str]) -> None:
        self._database.run(lambda db: self.table.prune(db, digests))


def delete_vectors(db: Transaction, texts: Iterable[str]) -> None:
    """Delete the vectors of *texts*; if another item has the text as well, it is embedded again."""
    MemoryVectors.table.delete(db, [digest_of(text) for text in texts])
