"""A pool of PostgreSQL connections that survives server restarts and forks, and the URL it is opened from."""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from memgraph.errors import ConfigError, StorageError
from memgraph.storage.postgres_migrations import migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

try:
    import psycopg
    import psycopg_pool
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise ImportError(f"postgresql: needs psycopg ({error}): pip install 'langgraph-memgraph[postgres]'") from error

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
Pool = psycopg_pool.ConnectionPool[Connection]

WAIT_SECONDS = 10.0
MAX_CONNECTIONS = 4

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

_SEARCH_PATH = re.compile(r"search_path\s*=\s*([\w$,\"-]+)")


class PostgresDatabase:
    """A small connection pool, opened at first use; one per process, so that forks never share a connection.

    If a connection is broken, for example since the server restarted, it is replaced and the operation is retried
    once. No statements are prepared on the server, so connections may go through a pooler.

    Args:
        location: A URL without its scheme and colon; see `parse_location`.
        part: The feature that owns the tables.
        migrations: Statements that create the tables; see `migrate`.
        wait_seconds: Seconds to wait for a connection while the server is unavailable or all are in use.
        max_connections: Maximum number of connections per process.

    Raises:
        ConfigError: If *location* is not a valid database URL.
    """

    def __init__(
        self,
        location: str,
        *,
        part: str,
        migrations: Sequence[str],
        wait_seconds: float = WAIT_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._options = parse_location(location)
        self.name = format_name(self._options)
        self._part = part
        self._migrations = migrations
        self._wait_seconds = wait_seconds
        self._max_connections = max_connections
        self._states: dict[int, _ProcessState] = {}

    def run(self, operation: Callable[[Connection, bool], T]) -> T:
        """Run *operation* on a connection of its own, in autocommit mode, and return its result.

        Its second argument is whether this is a retry; the first attempt may have succeeded unnoticed.

        Raises:
            StorageError: If the server is unavailable or reports an error.
        """
        try:
            pool = self._pool()
            with pool.connection() as db:
                try:
                    return operation(db, False)  # noqa: FBT003 - operations name the parameter
                except psycopg.OperationalError:
                    if not db.closed:
                        raise
            pool.check()  # the other connections are as old, so they are broken, too
            with pool.connection() as db:
                return operation(db, True)  # noqa: FBT003
        except psycopg_pool.PoolTimeout:
            raise StorageError(f"{self.name} gave no connection within {self._wait_seconds:g} s") from None
        except psycopg.Error as error:
            raise StorageError(f"{self.name}: {_reason(error)}") from error

    def skew(self) -> float:
        """Return the seconds by which the server's clock is ahead; 0 if below one. Measured before the first `run`."""
        return self._state().skew

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        self._state().close()

    def _state(self) -> _ProcessState:
        """Return the state of this process. Connections inherited by a fork are never touched: closing is use, too."""
        state = self._states.get(os.getpid())
        if state is None:
            state = self._states.setdefault(os.getpid(), _ProcessState())
            # an open pool would hold up the exit of Python 3.13: its threads can no longer be joined when it is deleted
            weakref.finalize(self, state.close)
        return state

    def _pool(self) -> Pool:
        state = self._state()
        with state.lock:
            if state.pool is None:
                state.skew = self._prepare()
                state.pool = self._open_pool()
            return state.pool

    def _prepare(self) -> float:
        """Run migrations and measure clock skew on a separate connection, so a bad URL fails immediately."""
        with psycopg.connect(**self._options, autocommit=True, prepare_threshold=None) as db:
            try:
                migrate(db, self._part, self._migrations)
            except StorageError as error:
                raise StorageError(f"{self.name}: {error}") from None
            return _measure_skew(db)

    def _open_pool(self) -> Pool:
        return psycopg_pool.ConnectionPool(
            connection_class=Connection,
            kwargs={**self._options, "autocommit": True, "prepare_threshold": None},
            min_size=0,
            max_size=self._max_connections,
            open=True,
            name=self.name,
            timeout=self._wait_seconds,
            reconnect_timeout=self._wait_seconds,  # a longer wait would delay the next attempt
            num_workers=2,
        )


class _ProcessState:
    """The pool of one process."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self.lock = threading.Lock()
        self.pool: Pool | None = None
        self.skew = 0.0

    def close(self) -> None:
        """Close the connections, in the process that opened them."""
        if os.getpid() != self._process:
            return
        with self.lock:
            if self.pool:
                self.pool.close()
            self.pool = None


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


def _measure_skew(db: Connection) -> float:
    before = time.time()
    row = db.execute("SELECT extract(epoch FROM clock_timestamp())::double precision").fetchone()
    skew: float = row[0] - (before + time.time()) / 2 if row else 0.0
    return skew if abs(skew) >= 1 else 0.0


def _reason(error: psycopg.Error) -> str:
    """Return the error message in one line, without the server's details, since they quote rows."""
    return error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
