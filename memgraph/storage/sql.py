"""SqliteStorage and PostgresStorage: memories in tables, by one set of statements."""
# ruff: noqa: S608 - the statements are constants, and values are parameters

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, cast

from memgraph._sql import Database, Migration, Schema, SqliteDatabase, Transaction
from memgraph.analysis.normalize import clean
from memgraph.errors import StorageError
from memgraph.models import Episode, Revision, Scope
from memgraph.storage.atomic_file import check_writable
from memgraph.storage.document import encode_episode, excess_of, oldest_allowed
from memgraph.storage.log import NOTHING, Backend, Change, LogStorage, Rows, Stored
from memgraph.storage.paths import VECTORS, absolute, default_folder, sqlite_path
from memgraph.storage.revisions import encode_revision, horizon

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from memgraph.policy import Policy
    from memgraph.storage.traces import TraceCount

BUSY_TIMEOUT_SECONDS = 30.0
WAIT_SECONDS = 10.0
MAX_CONNECTIONS = 4
DATABASE = "memory.db"

_KEY = "user_id {text} NOT NULL, agent_name {text} NOT NULL"
SCHEMA = Schema(
    "memory",
    (
        Migration(
            "{p}memory.revision",
            f"""
            CREATE TABLE {{p}}memory (
                {_KEY},  -- the agent '' is the memory that all agents share
                revision bigint NOT NULL,
                document {{json}} NOT NULL,
                PRIMARY KEY (user_id, agent_name)
            )
            """,
        ),
        Migration(
            "{p}episode.number",
            f"""
            CREATE TABLE {{p}}episode (
                {_KEY},
                number bigint NOT NULL,  -- in the order in which they were appended
                id {{text}} NOT NULL,
                written_at {{text}} NOT NULL,  -- '' is unknown
                document {{json}} NOT NULL,
                PRIMARY KEY (user_id, agent_name, number),
                UNIQUE (user_id, agent_name, id)
            );
            CREATE INDEX {{p}}episode_by_age ON {{p}}episode (user_id, agent_name, written_at, number)
            """,
        ),
        Migration(
            "{p}episode_log.total",
            f"""
            CREATE TABLE {{p}}episode_log (
                {_KEY},
                appended bigint NOT NULL,  -- how many there ever were
                removals bigint NOT NULL,  -- how often some were removed
                total bigint NOT NULL,  -- how many there are
                PRIMARY KEY (user_id, agent_name)
            )
            """,
        ),
        Migration(
            "{p}revision.revision",
            f"""
            CREATE TABLE {{p}}revision (
                {_KEY},
                revision bigint NOT NULL,
                written_at {{text}} NOT NULL,
                document {{json}} NOT NULL,
                PRIMARY KEY (user_id, agent_name, revision)
            );
            CREATE INDEX {{p}}revision_by_age ON {{p}}revision (user_id, agent_name, written_at)
            """,
        ),
    ),
    sqlite_version=3,
    postgres_version=6,
)

_SCOPE = "user_id = :user_id AND agent_name = :agent_name"
_SELECT = f"SELECT {{document}}, revision FROM {{p}}memory WHERE {_SCOPE}"
_SELECT_LOCKED = f"{_SELECT} {{lock}}"
_INSERT = """
    INSERT INTO {p}memory (user_id, agent_name, revision, document)
    VALUES (:user_id, :agent_name, :revision, :document) ON CONFLICT DO NOTHING
"""
_UPDATE = f"UPDATE {{p}}memory SET revision = :revision, document = :document WHERE {_SCOPE}"
_SELECT_SCOPES = """
    SELECT user_id, agent_name, CASE WHEN CAST(document AS text) LIKE '%"forgotten"%' THEN {document} END
    FROM {p}memory
"""
_WRITE_NOTHING = (
    "UPDATE {p}memory SET revision = revision, document = document WHERE FALSE",
    "INSERT INTO {p}memory SELECT * FROM {p}memory WHERE FALSE",
)
"""Fails if the database is read-only, as a standby is, or the user lacks a privilege that a save needs."""

_LOCK_LOG = """
    INSERT INTO {p}episode_log (user_id, agent_name, appended, removals, total) VALUES (:user_id, :agent_name, 0, 0, 0)
    ON CONFLICT (user_id, agent_name) DO UPDATE SET total = {p}episode_log.total
    RETURNING appended, removals, total
"""
"""Also keeps an append and a deletion apart, until the transaction ends."""
_SELECT_LOG = f"SELECT appended, removals FROM {{p}}episode_log WHERE {_SCOPE}"
_UPDATE_LOG = f"""
    UPDATE {{p}}episode_log SET appended = :appended, removals = :removals, total = :total WHERE {_SCOPE}
"""
_SELECT_LOGS = "SELECT user_id, agent_name FROM {p}episode_log WHERE total > 0"
_SELECT_EPISODES = f"SELECT {{document}} FROM {{p}}episode WHERE {_SCOPE} AND number > :after ORDER BY number"
_INSERT_EPISODE = """
    INSERT INTO {p}episode (user_id, agent_name, number, id, written_at, document)
    VALUES (:user_id, :agent_name, :number, :id, :written_at, :document) ON CONFLICT DO NOTHING
"""
_DELETE_EPISODES = f"DELETE FROM {{p}}episode WHERE {_SCOPE}"
_DELETE_SOME = f"DELETE FROM {{p}}episode WHERE {_SCOPE} AND id IN :ids"
_EXPIRE = f"DELETE FROM {{p}}episode WHERE {_SCOPE} AND written_at > '' AND written_at < :limit"
_EVICT = f"""
    DELETE FROM {{p}}episode WHERE {_SCOPE} AND number IN (
        SELECT number FROM {{p}}episode WHERE {_SCOPE} ORDER BY written_at, number LIMIT :excess
    )
"""

_INSERT_REVISION = """
    INSERT INTO {p}revision (user_id, agent_name, revision, written_at, document)
    VALUES (:user_id, :agent_name, :revision, :written_at, :document)
"""
_SELECT_REVISIONS = f"""
    SELECT {{document}} FROM {{p}}revision WHERE {_SCOPE} AND revision < :below ORDER BY revision DESC LIMIT :limit
"""
_DELETE_REVISIONS = f"DELETE FROM {{p}}revision WHERE {_SCOPE}"
_EVICT_REVISIONS = f"""
    DELETE FROM {{p}}revision WHERE {_SCOPE} AND (revision <= :oldest OR written_at < :limit OR revision > :newest)
"""
_NO_LIMIT = 2**62


class SqliteStorage(LogStorage):
    """One row per user, episode and revision, in a SQLite file, for any number of threads and processes on one machine.

    A commit is a transaction that locks out other writers from its start. Vectors are in a separate file next to it,
    `memory.vectors.db`.

    Args:
        path: The file. None is `memory.db` in the platform's folder for user data.
        busy_timeout: Seconds to wait for another writer.
    """

    def __init__(self, path: str | Path | None = None, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        file = absolute(path or default_folder() / DATABASE)
        database = SqliteDatabase(file, SCHEMA, StorageError, busy_timeout=busy_timeout, connections=MAX_CONNECTIONS)
        super().__init__(SqlBackend(f"sqlite:{file}", database, file))

    @classmethod
    def from_url(cls, location: str) -> Self:
        return cls(sqlite_path(location, "memories"))


class PostgresStorage(LogStorage):
    """One row per user, episode and revision, in a PostgreSQL database, for any number of machines.

    A commit locks the rows of its memory, so two writers can race and exactly one of them wins. If the connection
    breaks before a commit is confirmed, the retry first checks whether it arrived, so it is neither lost nor reported
    as a conflict with itself. Tables are created at first use, in the first schema of the search path. Deleted text is
    removed from the tables; how long it remains in free pages, the write-ahead log and backups depends on the server.

    Args:
        location: The part after `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE`.
        wait_seconds: Limit of an operation; also how long to wait while the server is down or all connections are in
            use.
        max_connections: Maximum number of connections per process.
    """

    def __init__(
        self, location: str = "", *, wait_seconds: float = WAIT_SECONDS, max_connections: int = MAX_CONNECTIONS
    ) -> None:
        from memgraph._postgres import PostgresDatabase

        database = PostgresDatabase(
            location, SCHEMA, StorageError, wait_seconds=wait_seconds, max_connections=max_connections
        )
        super().__init__(SqlBackend(database.name, database))


class SqlBackend(Backend):
    """The tables of memories in a database.

    Args:
        name: Name of the storage.
        database: Where the tables are.
        path: The file of the database, if there is one. Vectors are in a file next to it.
    """

    def __init__(self, name: str, database: Database, path: Path | None = None) -> None:
        super().__init__(name)
        self._database = database
        self._path = path

    def read(self, scope: Scope) -> Stored:
        return self._database.read(NOTHING, lambda db: _select(db, scope))

    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:
        written = self._database.run(lambda db: _commit(db, scope, expected, change), durable=durable)
        if written and change.document is not None:
            self._database.truncate_log()  # which keeps what was replaced
        return written

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        if not self._database.exists():
            return 0
        removed = self._database.run(lambda db: _remove(db, scope, _DELETE_SOME, ids=[clean(each) for each in ids]))
        self._database.truncate_log()
        return removed

    def rows(self, scope: Scope, after: object) -> Rows:
        return self._database.read(Rows((0, 0), (), is_all=True), lambda db: _select_episodes(db, scope, after))

    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[str | bytes]:
        values = _key(scope, below=below, limit=_NO_LIMIT if limit is None else limit)
        return self._database.read((), lambda db: [document for (document,) in db.rows(_SELECT_REVISIONS, values)])

    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        logs, documents = self._database.read(([], []), lambda db: (db.rows(_SELECT_LOGS), db.rows(_SELECT_SCOPES)))
        found = {(user_id, agent_name): _bytes(document) for user_id, agent_name, document in documents}
        found |= dict.fromkeys(logs)
        yield from ((Scope(*pair), found[pair]) for pair in sorted(found))

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        return self._database.find_bytes(user_id, fragments)

    def vector_path(self, scope: Scope) -> Path | None:  # noqa: ARG002 - one file for all
        return self._path and self._path.with_name(f"{self._path.stem}.{VECTORS}")

    def check_writable(self, scope: Scope) -> None:  # noqa: ARG002 - one table for all
        if self._path:
            check_writable(self._path.parent)
        if self._database.exists():
            self._database.run(lambda db: [db.execute(statement) for statement in _WRITE_NOTHING])

    def close(self) -> None:
        self._database.close()


# -- within a transaction -----------------------------------------------------------------------------


def _select(db: Transaction, scope: Scope, statement: str = _SELECT) -> Stored:
    row = db.row(statement, _key(scope))
    return Stored(_bytes(row[0]), row[1]) if row else NOTHING


def _commit(db: Transaction, scope: Scope, expected: Stored | None, change: Change) -> bool:
    if db.is_retry and change.document is not None and _select(db, scope).data == change.document:
        return True  # the attempt whose confirmation was lost
    if change.episodes or change.is_deletion:
        db.row(_LOCK_LOG, _key(scope))
    if expected is not None and _select(db, scope, _SELECT_LOCKED) != expected:
        return False
    if change.is_deletion:
        _remove(db, scope, _DELETE_EPISODES)
        db.execute(_DELETE_REVISIONS, _key(scope))
    if change.document is not None and change.entry is not None:
        document = _key(scope, revision=change.entry.revision, document=change.document.decode())
        is_new = expected is None or expected.data is None
        if not db.execute(_INSERT if is_new else _UPDATE, document).rowcount:
            return False
        _append_revision(db, scope, change.entry, change.policy)
    if change.episodes:
        _append_episodes(db, scope, change.episodes, change.policy)
    return True


def _append_revision(db: Transaction, scope: Scope, entry: Revision, policy: Policy) -> None:
    allowed = horizon(policy, entry.revision)
    limits = {"oldest": allowed.revision, "limit": allowed.at, "newest": entry.revision - 1}
    db.execute(_EVICT_REVISIONS, _key(scope, **limits))
    if policy.max_revisions:
        row = _key(scope, revision=entry.revision, written_at=entry.at, document=encode_revision(entry))
        db.execute(_INSERT_REVISION, row)


def _append_episodes(db: Transaction, scope: Scope, episodes: Sequence[Episode], policy: Policy) -> None:
    appended, removals, total = db.one(_LOCK_LOG, _key(scope))
    first = appended
    for episode in episodes:
        names = {"id": clean(episode.id), "written_at": clean(episode.at), "document": encode_episode(episode)}
        appended += db.execute(_INSERT_EPISODE, _key(scope, number=appended + 1, **names)).rowcount
    total += appended - first
    evicted = 0
    if limit := oldest_allowed(policy, datetime.now(UTC)):
        evicted = db.execute(_EXPIRE, _key(scope, limit=limit)).rowcount
    if excess := excess_of(total - evicted, policy):
        evicted += db.execute(_EVICT, _key(scope, excess=excess)).rowcount
    if appended > first or evicted:
        counts = {"appended": appended, "removals": removals + bool(evicted), "total": total - evicted}
        db.execute(_UPDATE_LOG, _key(scope, **counts))


def _remove(db: Transaction, scope: Scope, statement: str, **values: object) -> int:
    """Run a *statement* that deletes episodes, and return how many it did."""
    appended, removals, total = db.one(_LOCK_LOG, _key(scope))
    removed = db.execute(statement, _key(scope, **values)).rowcount
    if removed:
        counts = {"appended": appended, "removals": removals + 1, "total": total - removed}
        db.execute(_UPDATE_LOG, _key(scope, **counts))
    return removed


def _select_episodes(db: Transaction, scope: Scope, after: object) -> Rows:
    position = db.row(_SELECT_LOG, _key(scope)) or (0, 0)
    if after == position:
        return Rows(position, (), is_all=False)
    number, removals = cast("tuple[int, int]", after or (0, -1))
    is_all = removals != position[1]
    rows = db.rows(_SELECT_EPISODES, _key(scope, after=0 if is_all else number))
    return Rows(position, [document for (document,) in rows], is_all)


def _key(scope: Scope, **values: object) -> dict[str, object]:
    return {"user_id": scope.user_id, "agent_name": scope.agent_name or "", **values}


def _bytes(document: str | bytes | None) -> bytes | None:
    return document.encode() if isinstance(document, str) else document
