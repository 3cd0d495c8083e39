"""SQLite handling: migrations, transactions, private files and errors."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memgraph import OutboxError, StorageError
from memgraph._sqlite import Database, connect, create_file, migrate, schema_version, wrap_errors
from memgraph.storage.sql import SqliteStorage

MIGRATIONS = ("CREATE TABLE note (text TEXT)", "ALTER TABLE note ADD COLUMN at REAL")


def open_database(path: Path | None, *migrations: str) -> Database:
    return Database(path, name="notes", migrations=migrations or MIGRATIONS, error_class=OutboxError)


def insert(database: Database, text: str) -> None:
    with database.writing() as db:
        db.execute("INSERT INTO note (text) VALUES (?)", (text,))


def texts(database: Database) -> list[str]:
    with database.reading() as db:
        return [text for (text,) in db.execute("SELECT text FROM note")] if db else []


def test_missing_migrations_are_run(tmp_path: Path) -> None:
    """A file of an earlier version keeps its rows."""
    path = tmp_path / "notes.db"
    old = open_database(path, MIGRATIONS[0])
    insert(old, "old")
    old.close()

    new = open_database(path)

    insert(new, "new")
    assert texts(new) == ["old", "new"]
    with new.reading() as db:
        assert db
        assert schema_version(db) == 2
    new.close()


def test_failed_migration_changes_nothing(tmp_path: Path) -> None:
    """All missing migrations are one transaction."""
    path = tmp_path / "notes.db"
    with pytest.raises(OutboxError, match="notes: "):
        insert(open_database(path, MIGRATIONS[0], "no SQL"), "lost")

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
        assert schema_version(db) == 0


def test_file_of_a_later_version_is_rejected(tmp_path: Path) -> None:
    """An older memgraph must not write tables that it does not know."""
    path = tmp_path / "memory.db"
    create_file(path)
    with closing(connect(path, busy_timeout=1, pragmas={"user_version": 99})) as db:
        with pytest.raises(StorageError, match="later version of memgraph"):
            migrate(db, path, MIGRATIONS, busy_timeout=1)
        assert schema_version(db) == 99


def test_storage_rejects_a_file_of_a_later_version(tmp_path: Path) -> None:
    """It uses the same migrations as the outbox."""
    from memgraph import MemoryDocument, Scope

    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(StorageError, match="later version of memgraph"):
        SqliteStorage(path).save(Scope("ada"), MemoryDocument())


def test_failed_transaction_is_rolled_back() -> None:
    """In RAM as in a file."""
    database = open_database(None)
    insert(database, "kept")

    def fail() -> None:
        with database.writing() as db:
            db.execute("INSERT INTO note (text) VALUES ('lost')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert texts(database) == ["kept"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (sqlite3.OperationalError("database is locked"), "notes: database is locked"),
        (OSError(28, "No space left on device", "notes.db"), "notes.db: No space left on device"),
        (OSError(28, "No space left on device"), "notes: No space left on device"),
        (StorageError("notes.db.lock was held"), "notes.db.lock was held"),
    ],
)
def test_errors_are_wrapped(error: Exception, message: str) -> None:
    """Callers handle one class, and its message names the file."""
    with pytest.raises(OutboxError) as caught, wrap_errors("notes", OutboxError):
        raise error

    assert str(caught.value) == message
    assert caught.value.__cause__ is error


def test_a_dropped_database_is_closed() -> None:
    """Since Python 3.13, sqlite3 warns about a connection that nobody closed."""
    database = open_database(None)
    with database.writing() as db:
        connection = db

    del database, db
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
