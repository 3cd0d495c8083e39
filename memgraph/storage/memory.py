"""InMemoryStorage: memories in RAM, for tests, experiments and runs that must leave nothing on disk."""

from __future__ import annotations

import secrets
from typing import Self

from memgraph.errors import ConfigError, StorageError
from memgraph.storage.log import LogStorage


class InMemoryStorage(LogStorage):
    """One document per user in this process, lost when it ends: a SQLite database in RAM, which behaves like a file."""

    def __init__(self) -> None:
        from memgraph._sql import SqliteDatabase  # imports SQLAlchemy, which takes long
        from memgraph.storage.sql import SCHEMA, SqlBackend

        name = f"memory:{secrets.token_hex(4)}"
        super().__init__(SqlBackend(name, SqliteDatabase(None, SCHEMA, StorageError, name=name)))

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each call opens a new, empty storage")
        return cls()
