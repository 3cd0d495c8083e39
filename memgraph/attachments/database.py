"""The SQLite file, or the database in RAM, of an attachable memory."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph._sqlite import Database
from memgraph.errors import MemoryStoreError
from memgraph.importers.chatdev import is_json_file
from memgraph.storage.paths import absolute, folder_name

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

AUTO = "auto"
IMPORT_SUFFIX = ".db"
"""Suffix of the database next to a JSON file."""
BUSY_TIMEOUT_SECONDS = 30.0

SELECT_STATE = """
    SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id
    FROM pragma_user_version, pragma_application_id
"""


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


class MemoryDatabase(Database):
    """The database of one type of memory, which refuses a file of another type and leaves it as it is.

    Args:
        path: The file; None is RAM.
        migrations: Statements that create the tables, the oldest first.
        kind: Number of the memory type, kept in the file's application_id.
        what: Name of the memory type in error messages.
    """

    def __init__(self, path: Path | None, *, migrations: Sequence[str], kind: int, what: str) -> None:
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
        self._kind, self._what = kind, what
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


_OPENED = weakref.WeakSet[MemoryDatabase]()
"""The databases of this process. The interpreter keeps a fork handler for ever, so they share one."""


def _reset_after_fork() -> None:
    for database in _OPENED:
        database.after_fork(threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
