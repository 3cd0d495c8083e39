"""PostgresStorage: memories in PostgreSQL, for several machines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memgraph.errors import RevisionConflictError
from memgraph.models import Scope
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    DocumentCache,
    initial_memory,
    is_deleted,
    is_tombstone,
    load_with_fallback,
    next_revision,
    require_not_deleted,
    serialize,
    was_deleted,
)
from memgraph.storage.episode_sql import EpisodeTable
from memgraph.storage.episodes import EpisodeCache
from memgraph.storage.postgres_pool import MAX_CONNECTIONS, WAIT_SECONDS, PostgresDatabase
from memgraph.storage.postgres_traces import find_in_postgres
from memgraph.storage.revision_sql import RevisionTable
from memgraph.storage.revisions import next_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memgraph.models import Episode, MemoryDocument, Revision
    from memgraph.policy import Policy
    from memgraph.storage.episode_sql import Execute
    from memgraph.storage.postgres_pool import Connection
    from memgraph.storage.traces import TraceCount

MIGRATIONS = (
    # json keeps the text unchanged, \u0000 included; jsonb would reorder keys and reject \u0000
    """
    CREATE TABLE memgraph_memory (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,  -- '' is the memory that all agents share
        revision bigint NOT NULL,
        document json NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE memgraph_episode (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        number bigint NOT NULL,  -- in the order in which they were appended
        id text COLLATE "C" NOT NULL,
        written_at text COLLATE "C" NOT NULL,  -- '' is unknown
        document json NOT NULL,
        PRIMARY KEY (user_id, agent_name, number),
        UNIQUE (user_id, agent_name, id)
    )
    """,
    "CREATE INDEX memgraph_episode_by_age ON memgraph_episode (user_id, agent_name, written_at, number)",
    """
    CREATE TABLE memgraph_episode_log (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        appended bigint NOT NULL,  -- how many there ever were
        removals bigint NOT NULL,  -- how often some were removed
        total bigint NOT NULL,  -- how many there are
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE memgraph_revision (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        revision bigint NOT NULL,
        written_at text COLLATE "C" NOT NULL,
        document json NOT NULL,
        PRIMARY KEY (user_id, agent_name, revision)
    )
    """,
    "CREATE INDEX memgraph_revision_by_age ON memgraph_revision (user_id, agent_name, written_at)",
)
EPISODES = EpisodeTable("memgraph_", r"%(\1)s")
REVISIONS = RevisionTable("memgraph_", r"%(\1)s")
SELECT = """
    SELECT revision, document::text FROM memgraph_memory
    WHERE user_id = %(user_id)s AND agent_name = %(agent_name)s
"""
SELECT_SCOPES = """
    SELECT user_id, agent_name, revision,
        CASE WHEN document::text LIKE '%"forgotten"%' THEN document::text END
    FROM memgraph_memory
"""
INSERT = """
    INSERT INTO memgraph_memory (user_id, agent_name, revision, document)
    VALUES (%(user_id)s, %(agent_name)s, %(revision)s, %(document)s)
    ON CONFLICT DO NOTHING
"""
UPDATE = """
    UPDATE memgraph_memory SET revision = %(revision)s, document = %(document)s
    WHERE user_id = %(user_id)s AND agent_name = %(agent_name)s AND revision = %(revision)s - 1
"""

WRITE_NOTHING = """
    WITH updated AS (UPDATE memgraph_memory SET revision = revision, document = document WHERE FALSE)
    INSERT INTO memgraph_memory SELECT * FROM memgraph_memory WHERE FALSE
"""
"""Fails if the server is read-only, as a standby is, or the user lacks a privilege that `save` needs."""


class PostgresStorage(MemoryStorage):
    """One row per user, episode and revision, in a PostgreSQL database, for any number of machines.

    The revision is compared and incremented in a single statement, so two writers can race and exactly one of
    them wins. If the connection breaks before a save is confirmed, the retry first checks whether that save
    arrived, so it is neither lost nor reported as a conflict with itself. Tables are created at first use, in the
    first schema of the search path. Deleted text is removed from the tables; how long it remains in free pages,
    the write-ahead log and backups depends on the server.

    Args:
        location: The part after `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE`.
        wait_seconds: Seconds to wait for a connection while the server is unavailable or all are in use.
        max_connections: Maximum number of connections per process.
    """

    def __init__(
        self, location: str = "", *, wait_seconds: float = WAIT_SECONDS, max_connections: int = MAX_CONNECTIONS
    ) -> None:
        self._database = PostgresDatabase(
            location,
            part="memory",
            migrations=MIGRATIONS,
            wait_seconds=wait_seconds,
            max_connections=max_connections,
        )
        self.name = self._database.name
        self._cache = DocumentCache()
        self._episodes: EpisodeCache = EpisodeCache()

    def load(self, scope: Scope) -> MemoryDocument:
        return self._database.run(lambda db, _: load_with_fallback(scope, lambda each: self._read(db, each)))

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        return self._database.run(lambda db, is_retry: self._save(db, scope, memory, is_retry=is_retry))

    def check_writable(self, scope: Scope) -> None:  # noqa: ARG002 - one table for all
        self._database.run(lambda db, _: db.execute(WRITE_NOTHING))

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,  # noqa: ARG002 - always durable
    ) -> None:
        def append(db: Connection, _: bool) -> None:  # noqa: FBT001 - as run calls it
            with db.transaction():
                EPISODES.lock(_execute(db), scope)
                if revision is not None:
                    require_not_deleted(scope, self._read(db, scope), revision)
                EPISODES.append(_execute(db), scope, episodes, policy)

        if episodes:
            self._database.run(append)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        return self._database.run(
            lambda db, _: self._episodes.visible(
                scope, partial(self._read_episodes, db), was_deleted=lambda: was_deleted(self._read(db, scope))
            )
        )

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        def remove(db: Connection, _: bool) -> int:  # noqa: FBT001
            with db.transaction():
                return EPISODES.remove(_execute(db), scope, ids)

        removed = self._database.run(remove)
        self._episodes.clear()
        return removed

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        return self._database.run(lambda db, _: REVISIONS.read(_execute(db), scope, limit=limit, before=before))

    def scopes(self) -> Iterator[Scope]:
        found, rows = self._database.run(
            lambda db, _: (EPISODES.scopes(_execute(db)), db.execute(SELECT_SCOPES.encode()).fetchall())
        )
        for user_id, agent_name, revision, document in rows:
            read = partial(self._decode, Scope(user_id, agent_name), revision, document)
            if not document or not is_deleted(read):
                found.add((user_id, agent_name))
        yield from (Scope(*pair) for pair in sorted(found))

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        return find_in_postgres(self._database, user_id, fragments)

    def close(self) -> None:
        self._database.close()

    def _save(self, db: Connection, scope: Scope, memory: MemoryDocument, *, is_retry: bool) -> MemoryDocument:
        stored = self._read(db, scope)
        if is_retry and stored and _is_saved(stored, memory):
            return stored
        for _ in range(2):
            written = self._write(db, scope, next_revision(scope, stored, memory), stored)
            if written:
                return written
            stored = self._read(db, scope)  # another writer was faster: next_revision decides what that means
        raise RevisionConflictError(scope, memory.revision)

    def _read_episodes(self, db: Connection, scope: Scope) -> tuple[Episode, ...]:
        return self._episodes.refresh(scope, partial(EPISODES.read, _execute(db), scope))

    def _read(self, db: Connection, scope: Scope) -> MemoryDocument | None:
        row = db.execute(SELECT, _key(scope)).fetchone()
        return self._decode(scope, *row) if row else None

    def _write(
        self, db: Connection, scope: Scope, memory: MemoryDocument, known: MemoryDocument | None
    ) -> MemoryDocument | None:
        """Write *memory* over *known*, with a revision; a tombstone also removes episodes and the history.

        Returns:
            The memory as it was stored, or None if another writer was faster.
        """
        from psycopg import Rollback

        written = None
        before = known or initial_memory(scope, lambda shared: self._read(db, shared))
        with db.transaction() as transaction:
            if is_tombstone(memory):
                EPISODES.delete(_execute(db), scope)
            written = self._write_document(db, scope, memory)
            if written is None:
                raise Rollback(transaction)
            REVISIONS.append(_execute(db), scope, next_entry(before, written))
        if is_tombstone(memory):
            self._episodes.clear()
        return written

    def _write_document(self, db: Connection, scope: Scope, memory: MemoryDocument) -> MemoryDocument | None:
        stored, data = self._cache.serialize(memory, self._document_name(scope))
        row = _key(scope) | {"revision": stored.revision, "document": data.decode()}
        if not db.execute(UPDATE if stored.revision > 1 else INSERT, row).rowcount:
            return None
        return stored

    def _decode(self, scope: Scope, revision: int, document: str) -> MemoryDocument:
        memory = self._cache.decode(document.encode(), self._document_name(scope))
        return memory.model_copy(update={"revision": revision})


def _execute(db: Connection) -> Execute:
    return lambda statement, values: db.execute(statement.encode(), values)


def _key(scope: Scope) -> dict[str, Any]:
    return {"user_id": scope.user_id, "agent_name": scope.agent_name or ""}


def _is_saved(stored: MemoryDocument, memory: MemoryDocument) -> bool:
    """Whether *stored* is the result of saving *memory*."""
    update = {"revision": memory.revision + 1, "forgotten": stored.forgotten}
    return stored == serialize(memory.model_copy(update=update))[0]
