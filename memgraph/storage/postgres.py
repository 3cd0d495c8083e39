"""Memories in PostgreSQL, for several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgraph.errors import DamagedMemoryError, RevisionConflictError
from memgraph.models import Scope
from memgraph.storage.base import MemoryStorage, is_tombstone, load_with_fallback, next_revision
from memgraph.storage.postgres_pool import MAX_CONNECTIONS, WAIT_SECONDS, PostgresDatabase
from memgraph.storage.serialization import DocumentCache, serialize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memgraph.models import Memory
    from memgraph.storage.postgres_pool import Connection

MIGRATIONS = (
    # json keeps the text as it was written, \u0000 too; jsonb would order the keys anew and refuse \u0000
    """
    CREATE TABLE memgraph_memory (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,  -- '' is the memory that all agents share
        revision bigint NOT NULL,
        document json NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    )
    """,
)
SELECT = """
    SELECT revision, document::text FROM memgraph_memory
    WHERE user_id = %(user_id)s AND agent_name = %(agent_name)s
"""
SELECT_SCOPES = """
    SELECT user_id, agent_name, revision,
        CASE WHEN document::text LIKE '%"forgotten"%' THEN document::text END
    FROM memgraph_memory ORDER BY user_id, agent_name
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


class PostgresStorage(MemoryStorage):
    """One database, any number of machines.

    The revision is compared and raised in a single statement, so two writers can race and exactly one of them
    wins. A save whose connection broke before the answer came is looked for before it is tried again, so it
    neither gets lost nor fails because of itself. Tables are made at first use, in the first schema of the
    search path. What is deleted is gone from the tables; how long it stays in the server's free pages, log and
    backups is for the server to say.

    Args:
        location: What follows `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE`.
        wait_seconds: How long to wait for a connection while the server is away, or all are in use.
        max_connections: Of each process.
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
        self._parsed = DocumentCache()

    @property
    def name(self) -> str:
        return self._database.name

    def load(self, scope: Scope) -> Memory:
        return self._database.run(lambda db, _: load_with_fallback(scope, lambda wanted: self._read(db, wanted)))

    def save(self, scope: Scope, memory: Memory) -> Memory:
        return self._database.run(lambda db, again: self._save(db, scope, memory, again=again))

    def scopes(self) -> Iterator[Scope]:
        rows = self._database.run(lambda db, _: db.execute(SELECT_SCOPES.encode()).fetchall())
        for user_id, agent_name, revision, document in rows:
            scope = Scope(user_id, agent_name)
            if not document or not self._is_deleted(scope, revision, document):
                yield scope

    def close(self) -> None:
        self._database.close()

    def _save(self, db: Connection, scope: Scope, memory: Memory, *, again: bool) -> Memory:
        stored = self._read(db, scope)
        if again and stored and _is_saved(stored, memory):
            return stored
        for _ in range(2):
            written = self._write(db, scope, next_revision(scope, stored, memory))
            if written:
                return written
            stored = self._read(db, scope)  # another writer was faster: what it did says how this ends
        raise RevisionConflictError(scope, memory.revision)

    def _read(self, db: Connection, scope: Scope) -> Memory | None:
        row = db.execute(SELECT, _key(scope)).fetchone()
        return self._decoded(scope, *row) if row else None

    def _write(self, db: Connection, scope: Scope, memory: Memory) -> Memory | None:
        stored, data = serialize(memory)
        row = _key(scope) | {"revision": stored.revision, "document": data.decode()}
        if not db.execute(UPDATE if stored.revision > 1 else INSERT, row).rowcount:
            return None
        self._parsed.put(data, self._place(scope), stored)
        return stored

    def _decoded(self, scope: Scope, revision: int, document: str) -> Memory:
        memory = self._parsed.decode(document.encode(), self._place(scope))
        return memory.model_copy(update={"revision": revision})

    def _is_deleted(self, scope: Scope, revision: int, document: str) -> bool:
        """Whether a document is a tombstone. A damaged one is not: somebody has to look at it."""
        try:
            return is_tombstone(self._decoded(scope, revision, document))
        except DamagedMemoryError:
            return False

    def _place(self, scope: Scope) -> str:
        return f"{self.name}, memory of {scope}"


def _key(scope: Scope) -> dict[str, Any]:
    return {"user_id": scope.user_id, "agent_name": scope.agent_name or ""}


def _is_saved(stored: Memory, memory: Memory) -> bool:
    """Whether *stored* is what became of saving *memory*."""
    update = {"revision": memory.revision + 1, "forgotten": stored.forgotten}
    return stored == serialize(memory.model_copy(update=update))[0]
