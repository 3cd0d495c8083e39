"""One SQLite file, or one in RAM, held open by one connection that all threads take turns with."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memgraph.errors import OutboxError, StorageError
from memgraph.storage.atomic_file import create_private, locked, make_folder

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

IN_RAM = ":memory:"
BUSY_TIMEOUT_SECONDS = 10.0
LOG_PAGES = 4_000
"""Pages of 4 kB that are written before SQLite moves them from its log into the file. Whoever writes then waits."""


class Database:
    """A connection that is opened at first use and kept: closing the last one of a file makes SQLite tidy up.

    Args:
        path: The file; None is a database in RAM.
        migrations: Statements that make the tables, in the order in which they came to be. The file's user_version is
            how many of them were done. One that was released is never changed; the next change is a new one.
        busy_timeout: Seconds to wait for other processes.
        durable: Whether what was written outlasts a power cut at once. If not, it does with the next that is.
        lock: Of another connection of this process to the same file, to take turns with it too.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        migrations: Sequence[str],
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
        durable: bool = True,
        lock: threading.Lock | None = None,
    ) -> None:
        self.path = path
        self.lock = lock or threading.Lock()
        self._synchronous = "FULL" if durable else "NORMAL"
        self._migrations = migrations
        self._busy_timeout = busy_timeout
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._inherited: list[sqlite3.Connection] = []

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A transaction that ends with everything or nothing written.

        Raises:
            OutboxError: If it could not be written; it says why.
        """
        with self._reported(), self.lock:
            db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            with db:
                yield db

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """The connection, for a single statement; None where there is no file."""
        with self._reported(), self.lock:
            yield self._connection() if self._exists() else None

    def close(self) -> None:
        """Close the connection; it is opened again when used again."""
        with self._reported(), self.lock:
            self._disconnect()

    def after_fork(self, lock: threading.Lock) -> None:
        """In the child: use *lock*, since a thread of the parent may hold the other, and not the connection.

        The connection is kept, unused, since closing it is use too.
        """
        self.lock = lock
        if self._db:
            self._inherited.append(self._db)
        self._db = self._file = None

    def _exists(self) -> bool:
        return self._db is not None if self.path is None else self.path.exists()

    def _connection(self) -> sqlite3.Connection:
        """The open connection, unless the file it is of was removed: what went there would be lost."""
        if self._db and self.path and self._file != _identity(self.path):
            self._disconnect()
        if self._db is None:
            self._connect()
        assert self._db  # noqa: S101 - _connect made it
        return self._db

    def _connect(self) -> None:
        if self.path:
            make_folder(self.path.parent)
            create_private(self.path)
        # threads take turns by the lock, so the connection may be used by all of them
        db = sqlite3.connect(self.path or IN_RAM, self._busy_timeout, isolation_level=None, check_same_thread=False)
        try:
            db.execute(f"PRAGMA synchronous = {self._synchronous}")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            if _version(db) != len(self._migrations):
                self._set_up(db)
        except BaseException:
            db.close()
            raise
        self._db, self._file = db, _identity(self.path) if self.path else None

    def _set_up(self, db: sqlite3.Connection) -> None:
        """Make the tables. SQLite does not wait for others where the journal mode changes, so a lock file does."""
        if self.path is None:
            db.executescript(";".join(self._migrations))
            return
        with locked(self.path, self._busy_timeout):
            done, known = _version(db), len(self._migrations)
            if done > known:
                raise OutboxError(f"{self.path} was written by a later version of memgraph (its tables are {done})")
            db.execute("PRAGMA journal_mode = WAL")
            missing = ";".join(
                ("BEGIN IMMEDIATE", *self._migrations[done:], f"PRAGMA user_version = {known}", "COMMIT")
            )
            db.executescript(missing)

    def _disconnect(self) -> None:
        if self._db:
            self._db.close()
        self._db = self._file = None

    @contextmanager
    def _reported(self) -> Generator[None]:
        """Turn what SQLite and the operating system refuse into an OutboxError that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise OutboxError(f"{self.path or 'the outbox in RAM'}: {error}") from error
        except OSError as error:
            raise OutboxError(f"{error.filename or self.path}: {error.strerror or error}") from error
        except StorageError as error:
            raise OutboxError(str(error)) from error


def _version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, at every submission
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
