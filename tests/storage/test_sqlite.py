"""SqliteStorage: the file, locks and damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.errors import DamagedMemoryError, StorageError
from memgraph.models import Fact, Memory, Scope
from memgraph.storage.sqlite import SqliteStorage

if TYPE_CHECKING:
    from pathlib import Path

ADA = Scope("ada")
KNOWN = Memory(facts=(Fact(content="Works on engines."),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "memory.db"


@pytest.fixture
def storage(path: Path) -> SqliteStorage:
    return SqliteStorage(path)


def execute(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db, db:
        return db.execute(statement, values).fetchall()


def test_a_document_can_be_read_with_any_client(storage: SqliteStorage, path: Path) -> None:
    storage.save(ADA, KNOWN)
    storage.save(Scope("ada", "bot"), KNOWN)

    query = "SELECT user_id, agent_name, revision, document ->> '$.facts[0].content' FROM memory ORDER BY 2"

    assert execute(path, query) == [("ada", "", 1, "Works on engines."), ("ada", "bot", 1, "Works on engines.")]


def test_the_journal_is_a_write_ahead_log(storage: SqliteStorage, path: Path) -> None:
    """So readers do not wait for writers."""
    storage.save(ADA, KNOWN)

    assert execute(path, "PRAGMA journal_mode") == [("wal",)]


def test_the_file_is_private(storage: SqliteStorage, path: Path) -> None:
    storage.save(ADA, KNOWN)

    assert {oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()} == {"0o600"}
    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"


def test_readers_do_not_wait_for_writers(storage: SqliteStorage, path: Path) -> None:
    saved = storage.save(ADA, KNOWN)

    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert storage.load(ADA) == saved


def test_a_lock_timeout_is_an_error(storage: SqliteStorage, path: Path) -> None:
    saved = storage.save(ADA, KNOWN)

    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"memory\.db: database is locked"):
            SqliteStorage(path, busy_timeout=0.05).save(ADA, saved)

    assert storage.load(ADA) == saved


def test_a_file_that_is_not_a_database_is_an_error_and_left_unchanged(storage: SqliteStorage, path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious notes " * 100)

    for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, KNOWN), lambda: list(storage.scopes())):
        with pytest.raises(StorageError, match=r"memory\.db: file is not a database"):
            act()

    assert path.read_text() == "precious notes " * 100


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open"):
        SqliteStorage(tmp_path).load(ADA)


def test_a_path_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="file"):
        SqliteStorage(tmp_path / "file" / "memory.db").save(ADA, KNOWN)


def test_a_failed_write_is_an_error(storage: SqliteStorage, path: Path) -> None:
    """SQLite's own switch, since root may write anything."""
    saved = storage.save(ADA, KNOWN)
    execute(path, "CREATE TRIGGER full BEFORE UPDATE ON memory BEGIN SELECT RAISE(FAIL, 'disk is full'); END")

    with pytest.raises(StorageError, match="disk is full"):
        storage.save(ADA, saved)

    assert storage.load(ADA) == saved


@pytest.mark.parametrize("damage", ["", "oops", "[]", b"\xff"])
def test_a_damaged_document_is_an_error_and_left_unchanged(storage: SqliteStorage, path: Path, damage: object) -> None:
    loaded = storage.save(ADA, KNOWN)
    execute(path, "UPDATE memory SET document = ?", damage)

    for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, loaded), lambda: storage.delete(ADA)):
        with pytest.raises(DamagedMemoryError, match=r"memory\.db, memory of 'ada'"):
            act()

    assert execute(path, "SELECT document FROM memory") == [(damage,)]
    assert list(storage.scopes()) == [ADA]


def test_other_tables_are_not_changed(storage: SqliteStorage, path: Path) -> None:
    path.parent.mkdir()
    execute(path, "CREATE TABLE theirs (x)")

    storage.save(ADA, KNOWN)

    assert execute(path, "SELECT count(*) FROM theirs") == [(0,)]


@pytest.mark.parametrize("remove", ["delete", "rewrite"])
def test_removed_text_is_overwritten_in_the_file(
    storage: SqliteStorage, path: Path, monkeypatch: pytest.MonkeyPatch, remove: str
) -> None:
    """Even if SQLite is built to leave it in free pages. Debian's is not, so its default is switched off here."""
    connect = sqlite3.connect

    def connect_without_secure_delete(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        db.execute("PRAGMA secure_delete = OFF")
        return db

    monkeypatch.setattr(sqlite3, "connect", connect_without_secure_delete)
    saved = storage.save(ADA, Memory(facts=(Fact(content="engine " * 5_000),)))
    assert b"engine engine" in path.read_bytes()

    _ = storage.delete(ADA) if remove == "delete" else storage.save(ADA, saved.with_facts(()))

    assert b"engine" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
