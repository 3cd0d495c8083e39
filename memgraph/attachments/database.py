"""The SQLite file, or the database in RAM, of an attachable memory, and the vectors in it."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from memgraph._sql import Migration, Schema, SqliteDatabase, Transaction, driver_of
from memgraph.errors import EditError, MemoryStoreError
from memgraph.importers.chatdev import ChatDevItem, is_json_file, read_chatdev_items
from memgraph.importers.documents import ExportDocument
from memgraph.retrieval.vector_store import ModelIdentity, Vector, digest_of
from memgraph.storage.paths import absolute, folder_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Engine

T = TypeVar("T")

AUTO = "auto"
IMPORT_SUFFIX = ".db"
"""Suffix of the database next to a JSON file."""
BUSY_TIMEOUT_SECONDS = 30.0

VECTORS = (
    Migration(
        column="{p}models.id",
        sql="""
        CREATE TABLE models (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            probe BLOB NOT NULL         -- its vector of a fixed text, to recognise the model
        )
        """,
    ),
    Migration(
        column="{p}vectors.digest",
        sql="""
        CREATE TABLE vectors (
            digest BLOB NOT NULL,       -- of a text: equal texts are embedded once
            model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
            vector BLOB NOT NULL,       -- float32, normalized
            PRIMARY KEY (digest, model)
        ) WITHOUT ROWID
        """,
    ),
)

SELECT_MODEL = "SELECT id, name, probe FROM models ORDER BY id DESC LIMIT 1"
INSERT_MODEL = "INSERT INTO models (name, probe) VALUES (:name, :probe)"
SELECT_VECTORS = "SELECT digest, vector FROM vectors WHERE model = :model AND digest IN :digests"
REPLACE_VECTOR = "INSERT OR REPLACE INTO vectors (digest, model, vector) VALUES (:digest, :model, :vector)"
SELECT_DIGESTS = "SELECT digest FROM vectors"
DELETE_VECTOR = "DELETE FROM vectors WHERE digest = :digest"
MAX_PARAMETERS = 5_000

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
        super()._migrate(db, has_column, is_sqlite=is_sqlite)

    def _reason(self, error: BaseException) -> str:
        is_damage = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        return f"{error}. It was left unchanged; repair or remove it" if is_damage else str(error)


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield *values* in parts that one statement may have as parameters."""
    yield from (values[start : start + MAX_PARAMETERS] for start in range(0, len(values), MAX_PARAMETERS))


class VectorTable:
    """The vectors of the texts in a database, of one model at a time: see `VectorStore`. A failure is raised."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self.saved = 0
        """How many vectors were made."""

    def load(self, model: ModelIdentity, digests: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those of *digests* that *model* embedded."""

        def select(db: Transaction) -> dict[str, Vector]:
            number = _find_model(db, model)
            found: dict[str, Vector] = {}
            for part in batches([bytes.fromhex(digest) for digest in digests if number]):
                rows = db.rows(SELECT_VECTORS, {"model": number, "digests": part})
                found.update((digest.hex(), np.frombuffer(vector, np.float32)) for digest, vector in rows)
            return found

        return self._database.run(select, reads=True) if self._database.exists() else {}

    def save(self, model: ModelIdentity, vectors: Mapping[str, Vector]) -> None:
        """Store *vectors*, and delete those of any other model."""

        def write(db: Transaction) -> None:
            number = _find_model(db, model)
            if number is None:
                if db.execute("DELETE FROM models").rowcount:
                    _log.warning(
                        "%s: the embedding model has changed, so all texts are embedded again", self._database.name
                    )
                number = db.execute(INSERT_MODEL, {"name": model.name, "probe": model.probe.tobytes()}).lastrowid
            insert_vectors(db, number, {digest: vector.tobytes() for digest, vector in vectors.items()})

        self._database.run(write)
        self.saved += len(vectors)

    def prune(self, digests: Collection[str]) -> None:
        """Delete all vectors but those of *digests*."""
        kept = set(digests)
        self._database.run(
            lambda db: _delete(db, [row[0] for row in db.rows(SELECT_DIGESTS) if row[0].hex() not in kept])
        )


def insert_vectors(db: Transaction, model: int, vectors: Mapping[str, bytes]) -> None:
    """Add or replace the vectors of a model, by digest."""
    rows = [{"digest": bytes.fromhex(digest), "model": model, "vector": vector} for digest, vector in vectors.items()]
    if rows:
        db.execute(REPLACE_VECTOR, rows)


def delete_vectors(db: Transaction, texts: Iterable[str]) -> None:
    """Delete the vectors of *texts*; if another item has the text as well, it is embedded again."""
    _delete(db, [bytes.fromhex(digest_of(text)) for text in texts])


def _delete(db: Transaction, digests: Sequence[bytes]) -> None:
    if digests:
        db.execute(DELETE_VECTOR, [{"digest": digest} for digest in digests])


def _find_model(db: Transaction, model: ModelIdentity) -> int | None:
    row = db.row(SELECT_MODEL)
    return row[0] if row and model.is_same(ModelIdentity(row[1], np.frombuffer(row[2], np.float32))) else None


def chatdev_file(database: Path | None) -> Path | None:
    """Return the JSON file that *database* is next to, if there is one."""
    if database is None or database.suffix != IMPORT_SUFFIX:
        return None
    source = database.with_suffix("")
    return source if is_json_file(source) else None


def read_items(source: Path) -> list[ChatDevItem]:
    """Return the items of a JSON file, the oldest first.

    Raises:
        MemoryStoreError: If it is not a memory of ChatDev.
    """
    try:
        return read_chatdev_items(ExportDocument(str(source), source.read_bytes()))
    except (EditError, OSError) as error:
        raise MemoryStoreError(f"{error}. It was left unchanged; set another memory_path") from error
