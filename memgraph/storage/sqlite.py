"""SqliteStorage: memories in one SQLite file."""

from __future__ import annotations

from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Self

from memgraph._sqlite import connect, create_file, migrate, open_reader, schema_version, transaction, wrap_errors
from memgraph.errors import ConfigError, RevisionConflictError, StorageError
from memgraph.models import Scope
from memgraph.storage.atomic_file import check_writable, wrap_os_errors
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    DocumentCache,
    initial_memory,
    is_deleted,
    is_tombstone,
    load_with_fallback,
    next_revision,
    require_not_deleted,
    tombstone,
    was_deleted,
)
from memgraph.storage.episode_sql import EpisodeTable
from memgraph.storage.episodes import EpisodeCache
from memgraph.storage.paths import VECTORS, absolute, default_folder, path_of_url
from memgraph.storage.revision_sql import RevisionTable
from memgraph.storage.revisions import next_entry
from memgraph.storage.traces import TraceCount, find_in_sqlite

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memgraph.models import Episode, MemoryDocument, Revision
    from memgraph.policy import Policy
    from memgraph.storage.vector_file import VectorFile

BUSY_TIMEOUT_SECONDS = 30.0
DATABASE = "memory.db"

PRAGMAS = {"secure_delete": "ON"}  # a deleted memory must not remain in the file

MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS memory (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,  -- '' is the memory that all agents share
        revision INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE episode (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        number INTEGER NOT NULL,  -- in the order in which they were appended
        id TEXT NOT NULL,
        written_at TEXT NOT NULL,  -- '' is unknown
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, number),
        UNIQUE (user_id, agent_name, id)
    );
    CREATE INDEX episode_by_age ON episode (user_id, agent_name, written_at, number);
    CREATE TABLE episode_log (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        appended INTEGER NOT NULL,  -- how many there ever were
        removals INTEGER NOT NULL,  -- how often some were removed
        total INTEGER NOT NULL,  -- how many there are
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE revision (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        revision INTEGER NOT NULL,
        written_at TEXT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, revision)
    );
    CREATE INDEX revision_by_age ON revision (user_id, agent_name, written_at)
    """,
)
EPISODES = EpisodeTable()
REVISIONS = RevisionTable()
SELECT = "SELECT revision, CAST(document AS BLOB) FROM memory WHERE user_id = :user_id AND agent_name = :agent_name"
SELECT_SCOPES = "SELECT user_id, agent_name FROM memory"
INSERT = """
    INSERT INTO memory (user_id, agent_name, revision, document)
    VALUES (:user_id, :agent_name, :revision, :document)
    ON CONFLICT DO NOTHING
"""
UPDATE = """
    UPDATE memory SET revision = :revision, document = :document
    WHERE user_id = :user_id AND agent_name = :agent_name AND revision = :revision - 1
"""

WRITE_NOTHING = "DELETE FROM memory WHERE FALSE"
"""Fails if the database is read-only."""


class SqliteStorage(MemoryStorage):
    """One row per user, episode and revision, in a SQLite file, for any number of threads and processes on one machine.

    The revision is compared and incremented in a single statement, inside a transaction that also reads the
    last deletion, so two writers can race and exactly one of them wins. A connection lives for one operation:
    none is shared by threads or inherited by a fork. Vectors are in a separate file next to it, `memory.vectors.db`.

    Args:
        path: The file. None is `memory.db` in the platform's folder for user data.
        busy_timeout: Seconds to wait for another writer.
    """

    def __init__(self, path: str | Path | None = None, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._path = absolute(path or default_folder() / DATABASE)
        self.name = f"sqlite:{self._path}"
        self._busy_timeout = busy_timeout
        self._cache = DocumentCache()
        self._episodes: EpisodeCache = EpisodeCache()

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open the path after `sqlite:`; as in SQLAlchemy, `///FILE` is relative and `////FILE` absolute."""
        if location == ":memory:":
            raise ConfigError("sqlite::memory: would be empty at every load; write memory:")
        return cls(path_of_url("sqlite", location).removeprefix("/") if location.startswith("//") else location)

    def load(self, scope: Scope) -> MemoryDocument:
        if not self._has_content():
            return initial_memory(scope, lambda _: None)
        with self._reading() as db:
            return load_with_fallback(scope, lambda each: self._read(db, each))

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        return self._save(scope, memory, lambda _: None)

    def save_with_episodes(
        self, scope: Scope, memory: MemoryDocument, episodes: Sequence[Episode], policy: Policy
    ) -> MemoryDocument:
        def append(db: sqlite3.Connection) -> None:
            if episodes:
                EPISODES.append(db.execute, scope, episodes, policy)

        return self._save(scope, memory, append)

    def _save(
        self, scope: Scope, memory: MemoryDocument, write_also: Callable[[sqlite3.Connection], None]
    ) -> MemoryDocument:
        with self._writing() as db:
            stored = self._read(db, scope)
            saved = self._write(db, scope, next_revision(scope, stored, memory), stored)
            write_also(db)
        if is_tombstone(saved):
            self.vectors(scope).delete()
        return saved

    def delete(self, scope: Scope) -> MemoryDocument:
        self.vectors(scope).delete()  # first, since a process may be killed in between
        with self._writing() as db:
            stored = self._read(db, scope)
            deleted = self._write(db, scope, tombstone(stored), stored)
        self.vectors(scope).delete()  # again: those that a recall has stored meanwhile
        return deleted

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,
    ) -> None:
        if not episodes:
            return
        with self._writing(durable=durable) as db:
            if revision is not None:
                require_not_deleted(scope, self._read(db, scope), revision)
            EPISODES.append(db.execute, scope, episodes, policy)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        if not self._has_content():
            return ()
        with self._reading() as db:
            return self._episodes.visible(
                scope, partial(self._read_episodes, db), was_deleted=lambda: was_deleted(self._read(db, scope))
            )

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        if not self._has_content():
            return 0
        with self._writing() as db:
            removed = EPISODES.remove(db.execute, scope, ids)
        self._episodes.clear()
        return removed

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        if not self._has_content():
            return []
        with self._reading() as db:
            return REVISIONS.read(db.execute, scope, limit=limit, before=before)

    def vectors(self, scope: Scope) -> VectorFile:
        from memgraph.storage.vector_file import VectorFile

        path = self._path.with_name(f"{self._path.stem}.{VECTORS}")
        return VectorFile(path, scope, partial(self._has_tombstone, scope))

    def check_writable(self, scope: Scope) -> None:  # noqa: ARG002 - one file for all
        check_writable(self._path.parent)
        if self._has_content():
            with self._writing() as db:
                db.execute(WRITE_NOTHING)

    def scopes(self) -> Iterator[Scope]:
        if not self._has_content():
            return
        with self._reading() as db:
            found = EPISODES.scopes(db.execute)
            stored = set(db.execute(SELECT_SCOPES)) - found
            found |= {pair for pair in stored if not is_deleted(partial(self._read, db, Scope(*pair)))}
        yield from (Scope(*pair) for pair in sorted(found))

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:  # noqa: ARG002 - one file for all
        with wrap_errors(self._path, StorageError):
            return find_in_sqlite(self._path, fragments)

    def _read(self, db: sqlite3.Connection, scope: Scope) -> MemoryDocument | None:
        row = db.execute(SELECT, _key(scope)).fetchone()
        if row is None:
            return None
        memory = self._cache.decode(row[1], self._document_name(scope))
        return memory.model_copy(update={"revision": row[0]})

    def _has_tombstone(self, scope: Scope) -> bool:
        if not self._has_content():
            return False
        with self._reading() as db:
            memory = self._read(db, scope)
            return memory is not None and is_tombstone(memory)

    def _read_episodes(self, db: sqlite3.Connection, scope: Scope) -> tuple[Episode, ...]:
        return self._episodes.refresh(scope, partial(EPISODES.read, db.execute, scope))

    def _write(
        self, db: sqlite3.Connection, scope: Scope, memory: MemoryDocument, known: MemoryDocument | None
    ) -> MemoryDocument:
        """Write *memory* over *known*, with a revision; a tombstone also removes what the memory had."""
        stored, data = self._cache.serialize(memory, self._document_name(scope))
        row = _key(scope) | {"revision": stored.revision, "document": data.decode()}
        if not db.execute(UPDATE if stored.revision > 1 else INSERT, row).rowcount:
            raise RevisionConflictError(scope, memory.revision - 1)
        before = known or initial_memory(scope, lambda shared: self._read(db, shared))
        REVISIONS.append(db.execute, scope, next_entry(before, stored))
        if is_tombstone(memory):
            EPISODES.delete(db.execute, scope)
            self._episodes.clear()
        return stored

    # -- the file ---------------------------------------------------------------------------------

    def _has_content(self) -> bool:
        """Whether the file exists and is not empty, as the first save leaves it if the disk is full."""
        with wrap_os_errors(self._path):
            return self._path.exists() and self._path.stat().st_size > 0

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Generator[sqlite3.Connection]:
        pragmas = {**PRAGMAS, "synchronous": "FULL" if durable else "NORMAL"}
        with wrap_os_errors(self._path):
            create_file(self._path)
        with (
            self._connected(
                lambda: closing(connect(self._path, busy_timeout=self._busy_timeout, pragmas=pragmas))
            ) as db,
            transaction(db),
        ):
            yield db

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._connected(partial(open_reader, self._path, busy_timeout=self._busy_timeout))

    @contextmanager
    def _connected(
        self, open_connection: Callable[[], AbstractContextManager[sqlite3.Connection]]
    ) -> Generator[sqlite3.Connection]:
        with wrap_errors(self._path, StorageError), open_connection() as db:
            if schema_version(db) != len(MIGRATIONS):
                migrate(db, self._path, MIGRATIONS, busy_timeout=self._busy_timeout)
            yield db


def _key(scope: Scope) -> dict[str, str | int]:
    return {"user_id": scope.user_id, "agent_name": scope.agent_name or ""}
