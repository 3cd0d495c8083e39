"""The SQLite file, or the RAM, that a memory keeps its items in."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.background.database import Database
from memgraph.errors import MemoryStoreError, OutboxError, StorageError
from memgraph.storage.paths import absolute, folder_name

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

AUTO = "auto"
BUSY_TIMEOUT_SECONDS = 30.0

SELECT_STATE = """
    SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id
    FROM pragma_user_version, pragma_application_id
"""


def file_of(memory_path: str | None, name: str, folder: Path | str | None) -> Path | None:
    """Return the file of the memory called *name*; None is RAM.

    Args:
        memory_path: A file, relative to *folder*; `auto` is NAME.db in it, the name encoded; None or "" is RAM.
        name: Of the memory.
        folder: None is the working folder.
    """
    if not memory_path:
        return None
    path = Path(f"{folder_name(name)}.db" if memory_path == AUTO else memory_path).expanduser()
    return absolute(Path(folder or ".") / path)


class MemoryDatabase(Database):
    """A database that is of one kind of memory, and leaves alone a file that is not.

    Args:
        path: The file; None is RAM.
        migrations: Statements that make the tables, in the order in which they came to be.
        kind: A number of the kind of memory, kept in the file's application_id.
        what: The kind in words.
    """

    def __init__(self, path: Path | None, *, migrations: Sequence[str], kind: int, what: str) -> None:
        marked = (f"PRAGMA application_id = {kind};{migrations[0]}", *migrations[1:])
        super().__init__(path, migrations=marked, busy_timeout=BUSY_TIMEOUT_SECONDS)
        self.name = str(path) if path else f"the {what} in RAM"
        self.opened = 0
        """How often it was: what was read before the last time may be of a file that is gone."""
        self._kind, self._what = kind, what
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_renew, weakref.ref(self)))

    def _connect(self) -> None:
        super()._connect()
        assert self._db  # noqa: S101 - the line above made it
        if self._db.execute(SELECT_STATE).fetchone()[2] != self._kind:
            self._disconnect()
            raise self._foreign()
        self.opened += 1

    def _set_up(self, db: sqlite3.Connection) -> None:
        tables, version, kind = db.execute(SELECT_STATE).fetchone()
        if tables and (kind != self._kind or not version):
            raise self._foreign()
        super()._set_up(db)

    def _foreign(self) -> MemoryStoreError:
        return MemoryStoreError(f"{self.name} is no {self._what}. It was left as it is; name another memory_path")

    @contextmanager
    def _reported(self) -> Generator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise MemoryStoreError(f"{self.name}: {error}") from error
        except sqlite3.Error as error:
            raise MemoryStoreError(f"{self.name}: {error}. It was left as it is; repair or remove it") from error
        except OSError as error:
            raise MemoryStoreError(f"{error.filename or self.name}: {error.strerror or error}") from error
        except (StorageError, OutboxError) as error:
            raise MemoryStoreError(str(error)) from error


def _renew(database: weakref.ref[MemoryDatabase]) -> None:
    """In a child process: the connection is the parent's, and a thread of it may have held the lock."""
    if found := database():
        found.after_fork(threading.Lock())
