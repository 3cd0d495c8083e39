"""What a `postgresql:` URL names: the options of a connection, and a name that holds no secret."""

from __future__ import annotations

import os
import re
import threading
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from memgraph.errors import ConfigError, StorageError
from memgraph.storage.postgres_migrations import set_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "application_name": "memgraph",
        "connect_timeout": "10",
        # a server that is gone without a word is noticed within 30 s, not within 15 minutes
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "4",
        "tcp_user_timeout": "30000",
    }
)
"""Unless the URL says otherwise."""

_SEARCH_PATH = re.compile(r"search_path\s*=\s*([\w$,\"-]+)")


def options_of(location: str) -> Mapping[str, Any]:
    """Return what *location*, the URL without its scheme and colon, says about connections.

    What it does not say, libpq finds in its environment, its service file and its password file.

    Raises:
        ConfigError: If it is no such URL. The message quotes nothing of it, since it may hold a password.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    rest = location or "//"
    try:
        options = conninfo_to_dict(f"postgresql:{rest}")
    except ProgrammingError:
        options = None
    if not rest.startswith("//") or options is None or _is_torn(rest, options):
        raise ConfigError(
            "this is no URL of a PostgreSQL database; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
            "with : / @ and % in user and password as %3A %2F %40 and %25"
        )
    return {**DEFAULTS, **options, "client_encoding": "utf8"}


def name_of(options: Mapping[str, Any]) -> str:
    """Return a URL of the same place, without user and password."""
    host = quote(str(options.get("host") or options.get("hostaddr") or ""), safe=":,[]")
    port = f":{options['port']}" if options.get("port") else ""
    path = _SEARCH_PATH.search(str(options.get("options") or ""))
    schema = f"?options=-csearch_path%3D{quote(path[1])}" if path else ""
    return f"postgresql://{host}{port}/{quote(str(options.get('dbname') or ''))}{schema}"


def _is_torn(rest: str, options: Mapping[str, Any]) -> bool:
    """Whether a password seems to have been cut by a character of its own, and so to be in the host's place."""
    authority, _, path = rest.removeprefix("//").partition("/")
    ports = str(options.get("port") or "")
    return authority.count("@") > 1 or "@" in path.partition("?")[0] or not re.fullmatch(r"[\d,]*", ports)


try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise ConfigError(f"postgresql: needs psycopg ({error}): pip install 'langgraph-memgraph[postgres]'") from None

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
Pool = psycopg_pool.ConnectionPool[Connection]

WAIT_SECONDS = 10.0
MAX_CONNECTIONS = 4


class PostgresDatabase:
    """A small pool of connections, opened at first use; one a process, so that a fork shares none.

    A connection found broken - the server was restarted, say - is replaced, and what was being done is
    done once more. Nothing is prepared on the server, so that a pooler may stand in between.

    Args:
        location: A URL without its scheme and colon; see `options_of`.
        part: Whose tables they are.
        migrations: What makes the tables, see `set_up`.
        wait_seconds: How long to wait for a connection while the server is away, or all are in use.
        max_connections: Of each process.

    Raises:
        ConfigError: If *location* is no URL of a database.
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
        self._options = options_of(location)
        self.name = name_of(self._options)
        self._part = part
        self._migrations = migrations
        self._wait_seconds = wait_seconds
        self._max_connections = max_connections
        self._states: dict[int, _State] = {}

    def run(self, act: Callable[[Connection, bool], T]) -> T:
        """Return what *act* does on a connection in autocommit mode, with nobody else on it.

        Its second argument says whether a try before this one may have been done without telling.

        Raises:
            StorageError: If the server is away, or refuses.
        """
        try:
            pool = self._pool()
            with pool.connection() as db:
                try:
                    return act(db, False)  # noqa: FBT003 - two callers, and both name it
                except psycopg.OperationalError:
                    if not db.closed:
                        raise
            pool.check()  # the others are as old, and as dead
            with pool.connection() as db:
                return act(db, True)  # noqa: FBT003
        except psycopg_pool.PoolTimeout:
            raise StorageError(f"{self.name} gave no connection within {self._wait_seconds:g} s") from None
        except psycopg.Error as error:
            raise StorageError(f"{self.name}: {_reason(error)}") from error

    def skew(self) -> float:
        """Seconds that the server's clock is ahead of this machine's; 0 where that is less than one. After a `run`."""
        return self._state().skew

    def close(self) -> None:
        """Close the connections; they are opened again when used again."""
        state = self._state()
        with state.lock:
            if state.pool:
                state.pool.close()
            state.pool = None

    def _state(self) -> _State:
        """This process's own. Those of its parents stay as they are: to close them would be to use them."""
        return self._states.setdefault(os.getpid(), _State())

    def _pool(self) -> Pool:
        state = self._state()
        with state.lock:
            if state.pool is None:
                state.skew = self._set_up()
                state.pool = self._opened()
            return state.pool

    def _set_up(self) -> float:
        """Look at the tables and the clock, on a connection of its own: what is wrong with the URL is told at once."""
        with psycopg.connect(**self._options, autocommit=True, prepare_threshold=None) as db:
            try:
                set_up(db, self._part, self._migrations)
            except StorageError as error:
                raise StorageError(f"{self.name}: {error}") from None
            return _skew(db)

    def _opened(self) -> Pool:
        return psycopg_pool.ConnectionPool(
            connection_class=Connection,
            kwargs={**self._options, "autocommit": True, "prepare_threshold": None},
            min_size=0,
            max_size=self._max_connections,
            open=True,
            name=self.name,
            timeout=self._wait_seconds,
            reconnect_timeout=self._wait_seconds,  # a try that waits longer would keep the next from starting
            num_workers=2,
        )


class _State:
    """What one process holds open."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: Pool | None = None
        self.skew = 0.0


def _skew(db: Connection) -> float:
    before = time.time()
    row = db.execute("SELECT extract(epoch FROM clock_timestamp())::double precision").fetchone()
    skew: float = row[0] - (before + time.time()) / 2 if row else 0.0
    return skew if abs(skew) >= 1 else 0.0


def _reason(error: psycopg.Error) -> str:
    """What went wrong in a line. The server's details are left out: they quote rows."""
    return error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
