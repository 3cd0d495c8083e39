"""SQLite files: private modes, pragmas, schema migrations, a connection that threads share, and error messages."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING

from memgraph.errors import MemgraphError, StorageError
from memgraph.storage.atomic_file import create_private, locked, make_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence
    from pathlib import Path

    from memgraph.storage.traces import TraceCount

IN_MEMORY = ":memory:"
BUSY_TIMEOUT_SECONDS = 10.0
WAL_PAGES = 4_000
"""Pages of 4 kB in the write-ahead log before SQLite checkpoints them into the file, which delays one writer."""

_NO_SHARED_MEMORY = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMMAP})


def create_file(path: Path) -> None:
    """Create an empty private file at *path*, and its folder, unless they exist."""
    make_folder(path.parent)
    create_private(path)


def connect(
    path: Path | None,
    *,
    busy_timeout: float,
    pragmas: Mapping[str, object],
    shared_by_threads: bool = False,
) -> sqlite3.Connection:
    """Open a connection in autocommit mode, so that transactions begin where `transaction` begins them.

    Args:
        path: The file; None is a new database in RAM.
        busy_timeout: Seconds to wait for a lock that another connection holds.
        pragmas: Settings of the connection, by name.
        shared_by_threads: Whether other threads than this one use it; the caller serializes them.
    """
    db = sqlite3.connect(
        path or IN_MEMORY, timeout=busy_timeout, isolation_level=None, check_same_thread=not shared_by_threads
    )
    try:
        for name, value in pragmas.items():
            db.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def open_reader(path: Path, *, busy_timeout: float) -> Generator[sqlite3.Connection]:
    """Open a connection that only reads, also if the disk is full.

    In WAL mode, SQLite creates an index of 32 kB in shared memory, next to the file, for the first connection. If there
    is not enough space, this connection keeps the index in its own memory. That needs the file for itself, so
    such readers take turns.
    """
    with ExitStack() as stack:
        db = stack.enter_context(closing(connect(path, busy_timeout=busy_timeout, pragmas={})))
        if not _has_shared_memory(db):
            db.close()
            stack.enter_context(locked(path.with_name(f"{path.name}-reader"), busy_timeout))
            exclusive = connect(path, busy_timeout=busy_timeout, pragmas={"locking_mode": "EXCLUSIVE"})
            db = stack.enter_context(closing(exclusive))
        yield db


def _has_shared_memory(db: sqlite3.Connection) -> bool:
    try:
        schema_version(db)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode in _NO_SHARED_MEMORY:
            return False
        raise
    return True


def schema_version(db: sqlite3.Connection) -> int:
    """Return how many migrations the file has seen; 0 for a new one."""
    return db.execute("PRAGMA user_version").fetchone()[0]


def migrate(db: sqlite3.Connection, path: Path | None, migrations: Sequence[str], *, busy_timeout: float) -> None:
    """Run the *migrations* that are missing, in one transaction, and switch the file to WAL mode.

    SQLite ignores the busy timeout while the journal mode changes, so processes wait for a lock file instead.

    Args:
        db: A connection to the database.
        path: Its file; None if it is in RAM.
        migrations: Statements that create or change the tables, the oldest first. A released one never changes; the
            next change is appended. The file's user_version counts those that ran, unless release 0.1 wrote to the
            file again and reset it: so the tables decide.
        busy_timeout: Seconds to wait for another process that migrates.

    Raises:
        StorageError: If a later version of memgraph wrote the file, or another process migrates it for too long.
    """
    if path is None:
        db.executescript(";".join(migrations))
        return
    with locked(path, busy_timeout):
        done, known = schema_version(db), len(migrations)
        if done > known:
            raise StorageError(f"{path} was written by a later version of memgraph (its tables are {done})")
        db.execute("PRAGMA journal_mode = WAL")
        missing = migrations[_count_applied(db, migrations) :]
        db.executescript(";".join(("BEGIN IMMEDIATE", *missing, f"PRAGMA user_version = {known}", "COMMIT")))


def _count_applied(db: sqlite3.Connection, migrations: Sequence[str]) -> int:
    """Return how many of *migrations* made the columns that the database has."""
    columns = _columns(db)
    with closing(sqlite3.connect(IN_MEMORY)) as model:
        found = [0]
        for count, migration in enumerate(migrations, 1):
            model.executescript(migration)
            if _columns(model) <= columns:
                found.append(count)
    return found[-1]


def _columns(db: sqlite3.Connection) -> set[tuple[str, str]]:
    return set(db.execute("SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c"))


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[sqlite3.Connection]:
    """Run a transaction that locks out other writers from its start and writes all or nothing."""
    db.execute("BEGIN IMMEDIATE")
    with db:
        yield db


@contextmanager
def wrap_errors(name: object, error_class: type[MemgraphError]) -> Generator[None]:
    """Raise errors of SQLite, the operating system and lock files as *error_class*, naming the database."""
    try:
        yield
    except sqlite3.Error as error:
        raise error_class(f"{name}: {error}") from error
    except OSError as error:
        raise error_class(f"{error.filename or name}: {error.strerror or error}") from error
    except StorageError as error:
        if issubclass(error_class, StorageError):
            raise
        raise error_class(str(error)) from error


class Database:
    """One connection to a database, shared by all threads, opened at first use and kept open.

    It is kept since closing the last connection of a file makes SQLite checkpoint and remove the write-ahead log.

    Args:
        path: The file; None is a database in RAM.
        name: Name of the database in error messages.
        migrations: See `migrate`.
        error_class: Class of the errors that `reading` and `writing` raise.
        busy_timeout: Seconds to wait for other processes.
        durable: Whether a commit survives a power cut at once. If not, it does together with the next one that is.
        secure_delete: Whether deleted rows are overwritten with zeros in the file.
        lock: Lock of another connection to the same file in this process, to take turns with it.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        name: str,
        migrations: Sequence[str],
        error_class: type[MemgraphError],
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
        durable: bool = True,
        secure_delete: bool = False,
        lock: threading.Lock | None = None,
    ) -> None:
        self.path = path
        self.name = name
        self.lock = lock or threading.Lock()
        self._pragmas = {
            "synchronous": "FULL" if durable else "NORMAL",
            "foreign_keys": "ON",
            "wal_autocheckpoint": WAL_PAGES,
            **({"secure_delete": "ON"} if secure_delete else {}),
        }
        self._migrations = migrations
        self._error_class = error_class
        self._busy_timeout = busy_timeout
        self._db: sqlite3.Connection | None = None
        self._file_id: tuple[int, int] | None = None
        self._inherited: list[sqlite3.Connection] = []

    def __del__(self) -> None:
        """Close the connection of a database that was dropped: since Python 3.13, sqlite3 warns if nothing does."""
        if db := getattr(self, "_db", None):
            db.close()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Run a transaction that writes all or nothing."""
        with self._wrap_errors(), self.lock, transaction(self._connection()) as db:
            yield db

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """Yield the connection, for a single statement; None if there is no file."""
        with self._wrap_errors(), self.lock:
            yield self._connection() if self.exists() else None

    def truncate_log(self) -> None:
        """Move the write-ahead log into the file and empty it, since deleted rows stay readable in it.

        It is left as it is if another process uses it at the moment, or the disk is full.
        """
        with self._wrap_errors(), self.lock:
            if not (self._db and self.path):
                return
            self._db.execute("PRAGMA busy_timeout = 0")
            with suppress(sqlite3.OperationalError):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute(f"PRAGMA busy_timeout = {round(self._busy_timeout * 1000)}")

    def find_traces(self, fragments: Collection[str]) -> TraceCount:
        """Search the file, or the rows in RAM, for texts that were deleted; see `find_in_sqlite`."""
        from memgraph.storage.traces import TraceCount, find_in_rows, find_in_sqlite

        if self.path:
            with self._wrap_errors():
                return find_in_sqlite(self.path, fragments)
        with self.reading() as db:
            return TraceCount(of_others=len(find_in_rows(db, fragments))) if db else TraceCount()

    def exists(self) -> bool:
        """Whether there is a file; a database in RAM exists from its first use on."""
        return self._db is not None if self.path is None else self.path.exists()

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._wrap_errors(), self.lock:
            self._disconnect()

    def after_fork(self, lock: threading.Lock) -> None:
        """Start over in a forked child, with *lock*: a thread of the parent may have held the old one.

        SQLite forbids any use of an inherited connection, closing included, so it is kept but never used.
        """
        self.lock = lock
        if self._db:
            self._inherited.append(self._db)
        self._db = self._file_id = None

    def _connection(self) -> sqlite3.Connection:
        """Return the open connection; reopen it if its file was removed, since writes to that would be lost."""
        if self._db and self.path and self._file_id != _file_id(self.path):
            self._disconnect()
        return self._db or self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self.path:
            create_file(self.path)
        db = connect(self.path, busy_timeout=self._busy_timeout, pragmas=self._pragmas, shared_by_threads=True)
        try:
            if schema_version(db) != len(self._migrations):
                self._migrate(db)
        except BaseException:
            db.close()
            raise
        self._db, self._file_id = db, _file_id(self.path) if self.path else None
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        migrate(db, self.path, self._migrations, busy_timeout=self._busy_timeout)

    def _disconnect(self) -> None:
        if self._db:
            self._db.close()
        self._db = self._file_id = None

    @contextmanager
    def _wrap_errors(self) -> Generator[None]:
        with wrap_errors(self.name, self._error_class):
            yield


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, at every submission
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
