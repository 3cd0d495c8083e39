"""SqliteStorage: the file, locks and damage."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.errors import DamagedMemoryError, StorageError
from memgraph.models import ChangeOrigin, Episode, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage.revisions import recorded_as
from memgraph.storage.sql import SqliteStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADA = Scope("ada")
KNOWN = MemoryDocument(facts=(Fact(content="Works on engines."),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "memory.db"


@pytest.fixture
def storage(path: Path) -> SqliteStorage:
    return SqliteStorage(path)


def execute(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db, db:
        return db.execute(statement, values).fetchall()


def test_an_unreadable_episode_is_reported_of_each_memory(
    storage: SqliteStorage, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for scope in (ADA, Scope("bob")):
        storage.append_episodes(scope, [Episode(id="e1", text="Rowing is on.")], Policy())
    execute(path, "UPDATE episode SET document = '[]'")

    for scope in (ADA, Scope("bob")):
        assert storage.episodes(scope) == ()

    reports = [record.getMessage() for record in caplog.records]
    assert [scope.log_name in report for scope, report in zip((ADA, Scope("bob")), reports, strict=True)] == [
        True,
        True,
    ]


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
        with pytest.raises(StorageError, match=r"memory\.db: file is not a database; .* restore a copy of it"):
            act()

    assert path.read_text() == "precious notes " * 100


def test_a_file_that_only_others_may_write_is_an_error_with_a_remedy(
    storage: SqliteStorage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that refuses to write stands in for the other user, since root may write to any file."""
    storage.save(ADA, KNOWN)
    connect = sqlite3.connect

    def connect_to_read(file: Path, **options: Any) -> sqlite3.Connection:
        db = connect(file, **options)
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr(sqlite3, "connect", connect_to_read)
    with pytest.raises(StorageError, match=r"memory\.db: attempt to write a readonly database; allow writing to "):
        SqliteStorage(path).save(ADA, storage.load(ADA))


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open"):
        SqliteStorage(tmp_path).load(ADA)


def test_a_path_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="file"):
        SqliteStorage(tmp_path / "file" / "memory.db").save(ADA, KNOWN)


@pytest.mark.parametrize("path_below", ["memory.db", "new/memory.db"])
def test_a_check_for_writability_finds_an_unwritable_folder(tmp_path: Path, path_below: str) -> None:
    """A file stands in for the folder, since root may write to any folder."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="file: Not a directory"):
        SqliteStorage(tmp_path / "file" / path_below).check_writable(ADA)


def test_a_check_for_writability_finds_a_read_only_database(
    storage: SqliteStorage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own switch, since root may write anything."""
    storage.save(ADA, KNOWN)
    connect = sqlite3.connect

    def connect_for_queries(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr(sqlite3, "connect", connect_for_queries)

    with pytest.raises(StorageError, match=r"memory\.db: attempt to write a readonly database"):
        SqliteStorage(path).check_writable(ADA)


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
    saved = storage.save(ADA, MemoryDocument(facts=(Fact(content="engine " * 5_000),)))
    assert b"engine engine" in path.read_bytes()

    with recorded_as(ChangeOrigin(), Policy(max_revisions=0)):  # a history keeps what was removed
        _ = storage.delete(ADA) if remove == "delete" else storage.save(ADA, saved.with_facts(()))

    assert b"engine" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_a_file_from_before_episodes_is_upgraded(storage: SqliteStorage, path: Path) -> None:
    """Its memories stay; only reading it is enough."""
    saved = storage.save(ADA, KNOWN)
    storage.close()
    execute(path, "DROP TABLE episode")
    execute(path, "DROP TABLE episode_log")
    execute(path, "DROP TABLE revision")
    execute(path, "PRAGMA user_version = 1")

    assert list(storage.episodes(ADA)) == []
    storage.append_episodes(ADA, [Episode(id="e", text="Hello.")], Policy())

    assert [episode.id for episode in storage.episodes(ADA)] == ["e"]
    assert storage.load(ADA) == saved


def test_a_file_of_a_later_version_is_left_unchanged(storage: SqliteStorage, path: Path) -> None:
    """It may have columns and rules that this version does not know."""
    saved = storage.save(ADA, KNOWN)
    storage.close()
    execute(path, "PRAGMA user_version = 99")
    before = path.read_bytes()

    acts = (
        lambda: storage.load(ADA),
        lambda: storage.save(ADA, saved),
        lambda: storage.delete(ADA),
        lambda: list(storage.scopes()),
        lambda: storage.episodes(ADA),
        lambda: storage.append_episodes(ADA, [Episode(id="e", text="Hello.")], Policy()),
        lambda: storage.remove_episodes(ADA, ["e"]),
    )
    for act in acts:
        with pytest.raises(StorageError, match="later version of memgraph"):
            act()

    assert execute(path, "PRAGMA user_version") == [(99,)]
    assert path.read_bytes() == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB, which takes a mount: only root may do that."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_memories_are_read_while_the_disk_is_full(small_disk: Path) -> None:
    """What was saved is there, and a failed save changes nothing."""
    with SqliteStorage(small_disk / "memory.db") as storage:
        saved = storage.save(ADA, KNOWN)
        fill(small_disk / "filler")
        large = saved.with_facts(tuple(Fact(content="x" * 1_000) for _ in range(100)))

        for _ in range(2):
            assert storage.load(ADA) == saved
            assert list(storage.scopes()) == [ADA]
            with pytest.raises(StorageError):
                storage.save(ADA, large)

        (small_disk / "filler").unlink()
        assert storage.save(ADA, large).revision == saved.revision + 1


def test_a_memory_whose_first_save_found_a_full_disk_is_empty(small_disk: Path) -> None:
    """The file exists, but nothing could be written to it."""
    fill(small_disk / "filler")
    with SqliteStorage(small_disk / "memory.db") as storage:
        with pytest.raises(StorageError):
            storage.save(ADA, KNOWN)

        assert storage.load(ADA) == MemoryDocument()
        assert list(storage.scopes()) == []


def test_memories_are_read_without_shared_memory(
    storage: SqliteStorage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's error on a full disk; connections that need no shared memory work."""
    saved = storage.save(ADA, KNOWN)
    storage.close()
    modes: list[str] = []

    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            (mode,) = self.connection.execute("PRAGMA locking_mode").fetchone()
            if mode == "normal":
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
                raise error
            modes.append(mode)
            return super().execute(sql, *values)

    class FullDisk(sqlite3.Connection):
        def cursor(self, *_: Any) -> sqlite3.Cursor:  # pyright: ignore[reportIncompatibleMethodOverride]
            return Cursor(self)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=FullDisk))

    assert storage.load(ADA) == saved
    assert list(storage.scopes()) == [ADA]
    assert "exclusive" in modes


def fill(path: Path) -> None:
    """Write to *path* until the disk is full."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
