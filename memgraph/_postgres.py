"""PostgreSQL behind `memgraph._sql`: URLs, time limits, migrations and clock skew."""

from __future__ import annotations

import re
import time
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import quote

from memgraph._concurrency import seconds_left
from memgraph._sql import Database, make_engine
from memgraph.errors import ConfigError, MemgraphError, StorageError
from memgraph.storage.traces import TraceCount, text_variants

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping

    from sqlalchemy import Connection, Engine

    from memgraph._sql import Schema, Transaction

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise ImportError(f"postgresql: needs psycopg ({error}): pip install 'langgraph-memgraph[postgres]'") from error

T = TypeVar("T")

WAIT_SECONDS = 10.0
MAX_CONNECTIONS = 4
IDLE_SECONDS = 30
"""The server ends a transaction that does nothing for so long, as that of a machine that vanished."""
GRACE_SECONDS = 0.2
"""The client waits longer than the server works, since the server's error is more precise."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "application_name": "memgraph",
        "connect_timeout": "10",
        # detect a server that vanished within 30 s instead of 15 minutes
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "4",
        "tcp_user_timeout": "30000",
    }
)
"""Connection options that a URL can override."""

_MIGRATION_LOCK = 0x6D656D6772617068
"""The advisory lock that serializes migrations: "memgraph" in ASCII."""
_SEARCH_PATH = re.compile(r"search_path\s*=\s*([\w$,\"-]+)")

_HAS_COLUMN = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"
_SELECT_VERSION = "SELECT version FROM memgraph_schema WHERE part = %s"
_CREATE_VERSIONS = """
    CREATE TABLE IF NOT EXISTS memgraph_schema (
        part text PRIMARY KEY,  -- the feature that owns the tables
        version integer NOT NULL
    )
"""
_SET_VERSION = """
    INSERT INTO memgraph_schema (part, version) VALUES (%s, %s)
    ON CONFLICT (part) DO UPDATE SET version = excluded.version
"""


_SEARCH_SECONDS = 600.0
_SELECT_TEXT_COLUMNS = """
    SELECT table_name, column_name, EXISTS (
        SELECT 1 FROM information_schema.columns AS other
        WHERE other.table_schema = own.table_schema AND other.table_name = own.table_name AND column_name = 'user_id'
    )
    FROM information_schema.columns AS own
    WHERE table_schema = current_schema() AND table_name LIKE :tables AND data_type IN ('text', 'json')
"""


class PostgresDatabase(Database):
    """A PostgreSQL database. No statements are prepared on the server, so connections may go through a pooler.

    Args:
        location: A URL without its scheme and colon; see `parse_location`.
        schema: The tables.
        error_class: Class of the errors that are raised.
        wait_seconds: Limit of a transaction; also how long to wait while the server is down or all connections are
            in use.
        max_connections: Maximum number of connections per process.

    Raises:
        ConfigError: If *location* is not a valid database URL.
    """

    words: ClassVar[Mapping[str, str]] = {
        "p": "memgraph_",
        "text": 'text COLLATE "C"',
        "id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "json": "json",  # keeps the text unchanged, \u0000 included; jsonb would reorder keys and reject \u0000
        "document": "CAST(document AS text)",
        "lock": "FOR UPDATE",
        "skip_locked": "FOR UPDATE SKIP LOCKED",
    }

    def __init__(
        self,
        location: str,
        schema: Schema,
        error_class: type[MemgraphError],
        *,
        wait_seconds: float = WAIT_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._options = parse_location(location)
        name = format_name(self._options)
        super().__init__(name, schema, error_class, seconds=wait_seconds, connections=max_connections)

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the rows of all tables.

        Deleted rows are not searched: how long they remain in free pages, the write-ahead log and backups depends on
        the server.
        """
        variants = {variant: fragment for fragment in fragments for variant in text_variants(fragment)}
        if not variants:
            return TraceCount()
        rows = self.run(lambda db: _matching_rows(db, user_id, list(variants)), reads=True, seconds=_SEARCH_SECONDS)
        own = {variants[variant] for variant, is_own in rows if is_own}
        return TraceCount(len(own), len({variants[variant] for variant, _ in rows} - own))

    def _open(self) -> Engine:
        connect = partial(_connect, dict(self._options))
        return make_engine(
            "postgresql+psycopg://", connect, _begin, connections=self._connections, use_native_hstore=False
        )

    def _prepare(self, engine: Engine) -> float:
        with engine.connect() as db:
            encoding = db.exec_driver_sql("SHOW server_encoding").scalar_one()
            if encoding != "UTF8":
                raise StorageError(
                    f"{self.name}: the encoding of the database is {encoding}; create one with the encoding UTF8"
                )
            known = self._schema.postgres_version
            if not (_has_column(db, "memgraph_schema", "version") and self._version(db) == known):
                self._migrate_locked(db, known)
            return _measure_skew(db)

    def _migrate_locked(self, db: Connection, known: int) -> None:
        db.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        db.exec_driver_sql(_CREATE_VERSIONS)
        found = self._version(db)
        if found > known:
            raise StorageError(
                f"{self.name}: its tables have version {found}, but this memgraph supports {known}: upgrade memgraph"
            )
        self._migrate(db, partial(_has_column, db), is_sqlite=False)
        db.exec_driver_sql(_SET_VERSION, (self._schema.part, known))
        db.commit()

    def _version(self, db: Connection) -> int:
        return db.exec_driver_sql(_SELECT_VERSION, (self._schema.part,)).scalar() or 0

    def _reason(self, error: BaseException) -> str:
        """Return the message in one line, without the server's details, since they quote rows."""
        primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return primary or " ".join(str(error).split()) or type(error).__name__


class _LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes itself if the server has not answered at the end of the transaction's time."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:  # noqa: ANN401 - psycopg's
        return super().wait(self._limited(gen), *args, **options)

    def _limited(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """Pass on what *gen* waits for; psycopg asks again ten times a second."""
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and seconds_left() + GRACE_SECONDS < 0:
                    gen.close()
                    self.close()
                    raise psycopg.OperationalError("the server did not answer in time")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


def _connect(options: dict[str, Any]) -> psycopg.Connection[tuple[Any, ...]]:
    limit = min(float(options["connect_timeout"]) or seconds_left(), seconds_left())
    conninfo = make_conninfo("", **{**options, "connect_timeout": max(1, round(limit))})
    return _LimitedConnection.connect(conninfo, autocommit=True, prepare_threshold=None)


def _begin(db: Connection) -> None:
    """Begin a transaction with limits of its own, in one statement."""
    limit = max(1, round(seconds_left() * 1000))
    db.exec_driver_sql(
        f"BEGIN; SET LOCAL lock_timeout = {limit}; SET LOCAL statement_timeout = {limit}; "
        f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
    )


def _has_column(db: Connection, table: str, column: str) -> bool:
    return db.exec_driver_sql(_HAS_COLUMN, (table, column)).first() is not None


def _matching_rows(db: Transaction, user_id: str, variants: list[str]) -> list[tuple[str, bool]]:
    """Return each variant that a table has, and whether it is in a row of the user."""
    rows: list[tuple[str, bool]] = []
    for table, column, has_user in db.rows(_SELECT_TEXT_COLUMNS, {"tables": r"memgraph\_%"}):
        is_own = "user_id = :user_id" if has_user else "FALSE"
        statement = f"""
            SELECT variant, bool_or({is_own}) FROM "{table}" JOIN unnest(CAST(:variants AS text[])) AS variant
            ON strpos(CAST("{column}" AS text), variant) > 0 GROUP BY variant
        """  # noqa: S608 - names from the schema of the server
        values = {"variants": variants, **({"user_id": user_id} if has_user else {})}
        rows += [(variant, found) for variant, found in db.rows(statement, values)]
    return rows


def _measure_skew(db: Connection) -> float:
    before = time.time()
    now = db.exec_driver_sql("SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)").scalar_one()
    skew: float = now - (before + time.time()) / 2
    return skew if abs(skew) >= 1 else 0.0


# -- the URL --------------------------------------------------------------------------------------


def parse_location(location: str) -> Mapping[str, Any]:
    """Parse *location*, a URL without its scheme and colon, into connection options.

    For missing options, libpq reads environment variables, its service file and its password file.

    Raises:
        ConfigError: If the URL is invalid. The message never quotes it, since it may contain a password.
    """
    rest = location or "//"
    try:
        options = conninfo_to_dict(f"postgresql:{rest}")
    except psycopg.ProgrammingError:
        options = None
    if not rest.startswith("//") or options is None or _has_unescaped_password(rest, options):
        raise ConfigError(
            "not a valid PostgreSQL URL; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
            "with : / @ and % in user and password as %3A %2F %40 and %25"
        )
    return {**DEFAULTS, **options, "client_encoding": "utf8"}


def format_name(options: Mapping[str, Any]) -> str:
    """Return the URL of the same database, without user and password."""
    host = quote(str(options.get("host") or options.get("hostaddr") or ""), safe=":,[]")
    port = f":{options['port']}" if options.get("port") else ""
    path = _SEARCH_PATH.search(str(options.get("options") or ""))
    schema = f"?options=-csearch_path%3D{quote(path[1])}" if path else ""
    return f"postgresql://{host}{port}/{quote(str(options.get('dbname') or ''))}{schema}"


def _has_unescaped_password(rest: str, options: Mapping[str, Any]) -> bool:
    """Whether a `/` or `@` in a password seems to have cut it, which would make the rest of it part of the host."""
    authority, _, path = rest.removeprefix("//").partition("/")
    ports = str(options.get("port") or "")
    return authority.count("@") > 1 or "@" in path.partition("?")[0] or not re.fullmatch(r"[\d,]*", ports)
