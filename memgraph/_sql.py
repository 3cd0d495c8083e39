"""SQL over SQLAlchemy Core: one transaction, one migration, one retry and one time limit; SQLite files.

Statements are texts with named parameters, the same for SQLite and PostgreSQL. A field in braces stands for what
differs, see `Database.words`. A parameter after `IN` is a sequence, as in `id IN :ids`.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from sqlalchemy import bindparam, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool
from sqlalchemy.types import NullType

from memgraph._concurrency import FairSemaphore, seconds_left, time_limit
from memgraph.errors import MemgraphError, StorageError
from memgraph.storage.atomic_file import create_private, locked, make_folder
from memgraph.storage.traces import TraceCount, find_in_files, find_in_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, CursorResult, Engine, TextClause
T = TypeVar("T")
Values = Mapping[str, object]

BUSY_TIMEOUT_SECONDS = 10.0
WAL_PAGES = 4_000
"""Pages of 4 kB in the write-ahead log before SQLite checkpoints them into the file, which delays one writer."""

FORK_SECONDS = 30.0
"""Maximum seconds that a fork waits for the transactions of other threads."""
_RECONNECT_SECONDS = 0.1
_SEQUENCE = re.compile(r"\bIN :(\w+)")
_NO_SHARED_MEMORY = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMMAP})

_DAMAGED = "; move the file away, with those that have its name and an ending such as -wal, and restore a copy of it"
_NEXT_STEPS: Mapping[int, str] = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_READONLY: "; allow writing to the file and its folder, which SQLite needs for reading, too",
}
"""What a user can do about an error, by its primary code."""


class Migration(NamedTuple):
    """A change of the tables. The one that creates a table creates its present shape; the others change older ones."""

    column: str
    """As `{p}table.column`: the change, which adds it, is due if the database does not have it."""
    sql: str
    """Statements, separated by semicolons."""
    sqlite: str | None = None
    """What SQLite runs instead."""
    removes: bool = False
    """Whether it removes the column, so that it is due if the database has it."""


class Schema(NamedTuple):
    """The tables of one feature."""

    part: str
    """The feature."""
    migrations: Sequence[Migration]
    """In the order in which they run."""
    sqlite_version: int
    """Increases with each change of the tables, so that an older release refuses a file that it does not know."""
    postgres_version: int


class Transaction:
    """Runs the statements of one transaction."""

    def __init__(self, connection: Connection, database: Database, *, is_retry: bool) -> None:
        self.connection = connection
        self.is_retry = is_retry
        """Whether the connection broke in an earlier attempt, which may have been committed unnoticed."""
        self._compile = database.compile

    def execute(self, statement: str, values: Values | Sequence[Values] | None = None) -> CursorResult[Any]:
        """Run *statement* once, or once for each of several *values*."""
        given = _without_empty(values) if isinstance(values, Mapping) else values
        return self.connection.execute(self._compile(statement), given)

    def rows(self, statement: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Run *statement* and return its rows."""
        return [tuple(row) for row in self.execute(statement, values)]

    def row(self, statement: str, values: Values | None = None) -> tuple[Any, ...] | None:
        """Run *statement* and return its first row; None if there is none."""
        found = self.execute(statement, values).first()
        return None if found is None else tuple(found)

    def one(self, statement: str, values: Values | None = None) -> tuple[Any, ...]:
        """Run *statement*, which always has one row, such as an aggregate, and return it."""
        return tuple(self.execute(statement, values).one())


class Database(ABC):
    """A database that threads share, opened at first use.

    If a connection is broken, for example since the server restarted, the transaction is tried once more on a new one.

    Args:
        name: Name of the database in error messages, without secrets.
        schema: The tables.
        error_class: Class of the errors that are raised.
        seconds: Default limit of a transaction, which includes the wait for a connection.
        connections: Maximum number of connections per process.
    """

    words: ClassVar[Mapping[str, str]]
    """What stands for the fields in braces: `{p}` is the prefix of tables, `{text}`, `{id}` and `{json}` are types of
    columns, `{document}` is the JSON in a column of that name, `{lock}` and `{skip_locked}` lock rows."""

    def __init__(
        self, name: str, schema: Schema, error_class: type[MemgraphError], *, seconds: float, connections: int
    ) -> None:
        self.name = name
        self._schema = schema
        self._error_class = error_class
        self._seconds = seconds
        self._connections = connections
        self._states: dict[int, _ProcessState] = {}

    def run(
        self,
        operation: Callable[[Transaction], T],
        *,
        reads: bool = False,
        durable: bool = True,
        seconds: float | None = None,
    ) -> T:
        """Run *operation* in a transaction of its own, which writes all or nothing, and return its result.

        Args:
            operation: Runs the statements. It may be called twice, see `Transaction.is_retry`.
            reads: Whether it writes nothing, so that SQLite need not lock out writers.
            durable: Whether the commit survives a power cut at once. If not, in SQLite, it does together with the
                next one that is.
            seconds: Limit of this transaction; None is the one of the database.

        Raises:
            MemgraphError: Of the class of the database, if it is unavailable or reports an error.
        """
        limit = self._seconds if seconds is None else seconds
        with time_limit(limit), self.wrap_errors(), self._slot() as state:
            return self._attempt(state, operation, {"reads": reads, "durable": durable})

    def read(self, default: T, operation: Callable[[Transaction], T]) -> T:
        """Return what *operation* reads; *default* if there is nothing to read."""
        return self.run(operation, reads=True) if self.exists() else default

    def compile(self, statement: str) -> TextClause:
        """Return *statement* in the words of this database."""
        compiled = text(statement.format_map(self.words))
        for name in set(_SEQUENCE.findall(statement)):
            compiled = compiled.bindparams(bindparam(name, expanding=True, type_=NullType()))
        return compiled

    def exists(self) -> bool:
        """Whether there may be anything to read."""
        return True

    def skew(self) -> float:
        """Return the seconds by which the server's clock is ahead; 0 if below one. Known from the first `run` on."""
        return self._state().skew

    @abstractmethod
    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search for texts of a user whose rows were deleted.

        Raises:
            MemgraphError: Of the class of the database, if it is unavailable or reports an error.
        """

    def truncate_log(self) -> None:  # noqa: B027 - only files have a log to empty
        """Remove deleted rows from the write-ahead log, as far as possible."""

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        with self.wrap_errors():
            self._state().close()

    @abstractmethod
    def _open(self) -> Engine:
        """Return an engine; its pool must not refer to this object, which is closed when it is dropped."""

    @abstractmethod
    def _prepare(self, engine: Engine) -> float:
        """Migrate the tables, and return the seconds by which the server's clock is ahead."""

    def _reason(self, error: BaseException) -> str:
        """Return the message of an error of the database, without secrets and rows."""
        return str(error)

    def _attempt(self, state: _ProcessState, operation: Callable[[Transaction], T], options: Mapping[str, bool]) -> T:
        is_retry = False
        while True:
            is_connected = False
            try:
                with self._engine(state).connect() as connection:
                    is_connected = True
                    with connection.execution_options(**options).begin():
                        return operation(Transaction(connection, self, is_retry=is_retry))
            except DBAPIError as error:
                is_late = seconds_left() < _RECONNECT_SECONDS
                if is_late or not state.is_ready or (is_connected and (is_retry or not error.connection_invalidated)):
                    raise
            is_retry = is_retry or is_connected
            if not is_connected:
                time.sleep(_RECONNECT_SECONDS)

    @contextmanager
    def _slot(self) -> Generator[_ProcessState]:
        """Wait for one of the connections to be free."""
        state, limit = self._state(), max(0.0, seconds_left())
        if not limit or not state.free.acquire(timeout=limit):
            raise self._error_class(f"{self.name} gave no connection within {limit:.1f} s")
        try:
            yield state
        finally:
            state.free.release()

    def _engine(self, state: _ProcessState) -> Engine:
        """Return the engine of this process; the first call migrates the tables."""
        if not state.lock.acquire(timeout=max(0.0, seconds_left())):
            raise self._error_class(f"{self.name} is still being opened by another thread")
        try:
            if state.engine is None:
                state.engine = self._open()
            if not state.is_ready:
                state.skew = self._prepare(state.engine)
                state.is_ready = True
            return state.engine
        finally:
            state.lock.release()

    def _state(self) -> _ProcessState:
        """Return the state of this process. Connections inherited by a fork are never touched: closing is use, too."""
        state = self._states.get(os.getpid())
        if state is None:
            state = self._states.setdefault(os.getpid(), _ProcessState(self._connections))
            weakref.finalize(self, state.close)
        return state

    def _migrate(self, db: Connection, has_column: Callable[[str, str], bool], *, is_sqlite: bool) -> None:
        """Run the migrations that are due, within a transaction of the caller: the tables decide."""
        for migration in self._schema.migrations:
            if has_column(*migration.column.format_map(self.words).split(".")) == migration.removes:
                own = migration.sqlite if is_sqlite and migration.sqlite is not None else migration.sql
                for statement in own.format_map(self.words).split(";"):
                    db.exec_driver_sql(statement)

    @contextmanager
    def wrap_errors(self) -> Generator[None]:
        """Raise errors of the database, the operating system and lock files as the class of this database."""
        try:
            yield
        except DBAPIError as error:
            cause = error.orig or error
            raise self._error_class(f"{self.name}: {self._reason(cause)}") from cause
        except sqlite3.Error as error:
            raise self._error_class(f"{self.name}: {self._reason(error)}") from error
        except OSError as error:
            raise self._error_class(f"{error.filename or self.name}: {error.strerror or error}") from error
        except StorageError as error:
            if issubclass(self._error_class, StorageError):
                raise
            raise self._error_class(str(error)) from error


class _ProcessState:
    """The connections of one process."""

    def __init__(self, connections: int) -> None:
        self._process = os.getpid()
        self.lock = threading.Lock()
        self.free = FairSemaphore(connections)
        self.engine: Engine | None = None
        self.is_ready = False
        self.skew = 0.0

    def close(self) -> None:
        """Close the connections, in the process that opened them."""
        if os.getpid() == self._process:
            with self.lock:
                if self.engine:
                    self.engine.dispose()
                self.engine, self.is_ready = None, False


def _without_empty(values: Values) -> Values:
    """Return *values* with a NULL, which is in no column, in place of nothing: an empty sequence has no type."""
    return {name: [None] if value == [] else value for name, value in values.items()}


def make_engine(
    url: str,
    connect: Callable[[], object],
    begin: Callable[[Connection], None],
    *,
    connections: int,
    **options: object,
) -> Engine:
    """Return an engine whose transactions begin with *begin*: the connections of *connect* commit by themselves."""
    pool = {"poolclass": QueuePool, "pool_size": connections, "max_overflow": 0}
    engine = create_engine(url, creator=connect, hide_parameters=True, **pool, **options)
    event.listen(engine, "begin", begin)
    return engine


# -- SQLite ---------------------------------------------------------------------------------------


class SqliteDatabase(Database):
    """A SQLite file in WAL mode, or a database in RAM.

    A connection stays open, since closing the last one of a file makes SQLite remove the write-ahead log. If its file
    was removed, a new file is made: writes to the removed one would be lost.

    Args:
        path: The file; None is a database in RAM.
        schema: The tables.
        error_class: Class of the errors that are raised.
        name: Name of the database in error messages; None is the path.
        busy_timeout: Seconds to wait for other writers.
        connections: Maximum number of connections; threads take turns if there is one.
    """

    words: ClassVar[Mapping[str, str]] = {
        "p": "",
        "text": "TEXT",
        "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "json": "TEXT",
        "document": "CAST(document AS BLOB)",
        "lock": "",
        "skip_locked": "",
    }

    def __init__(
        self,
        path: Path | None,
        schema: Schema,
        error_class: type[MemgraphError],
        *,
        name: str | None = None,
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
        connections: int = 1,
    ) -> None:
        self.path = path
        self._pragmas = {
            "foreign_keys": "ON",
            "secure_delete": "ON",  # deleted rows are overwritten with zeros in the file
            "wal_autocheckpoint": WAL_PAGES,
        }
        self._file: tuple[int, int] | None = None
        super().__init__(
            name or str(path or "the database in RAM"),
            schema,
            error_class,
            seconds=busy_timeout,
            connections=connections if path else 1,
        )
        if path:
            _FORKS.files.add(self)

    def exists(self) -> bool:
        if self.path is None:
            return self._state().engine is not None
        with self.wrap_errors():
            return self.path.exists() and self.path.stat().st_size > 0

    def _reason(self, error: BaseException) -> str:
        code = error.sqlite_errorcode & 0xFF if isinstance(error, sqlite3.Error) and self.path else 0
        return super()._reason(error) + _NEXT_STEPS.get(code, "")

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:  # noqa: ARG002 - one file for all
        """Search the file with its logs, after its write-ahead log was moved into it and emptied.

        What is found but in no row is in a free page that an earlier version has left: then the file is rebuilt without
        free pages, and searched again. The rows are those of others: call it after the user's rows were deleted.
        """
        if not self.exists():
            return TraceCount()
        found = self._find_in_files(fragments)
        in_rows = self.run(lambda db: find_in_rows(driver_of(db.connection), found), reads=True)
        if found - in_rows and self.path:
            self._maintain(self.path, "VACUUM", self._seconds)
            found = self._find_in_files(found)
        return TraceCount(len(found - in_rows) if self.path else 0, len(found & in_rows))

    def truncate_log(self) -> None:
        """Move the write-ahead log into the file and empty it, since deleted rows stay readable in it.

        It is left as it is if another process uses it at the moment, or the disk is full.
        """
        if self.path and self.path.exists():
            self._maintain(self.path, "PRAGMA wal_checkpoint(TRUNCATE)", 0)

    def _maintain(self, path: Path, statement: str, seconds: float) -> None:
        """Run *statement* outside of a transaction, unless the file is in use for *seconds*, or the disk is full."""
        with (
            _FORKS.transaction(),
            self.wrap_errors(),
            closing(_connect(path, seconds, self._pragmas)) as db,
            suppress(sqlite3.OperationalError),
        ):
            db.execute(statement)

    def _find_in_files(self, fragments: Collection[str]) -> set[str]:
        """Return those of *fragments* that the file or one of its logs has; all of them may be in RAM."""
        if self.path is None:
            return set(fragments)
        self.truncate_log()
        names = (f"{self.path.name}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))
        with self.wrap_errors():
            return find_in_files(map(self.path.with_name, names), fragments)

    @contextmanager
    def _slot(self) -> Generator[_ProcessState]:
        with _FORKS.transaction(), super()._slot() as state:
            yield state

    def _attempt(self, state: _ProcessState, operation: Callable[[Transaction], T], options: Mapping[str, bool]) -> T:
        try:
            return super()._attempt(state, operation, options)
        except DBAPIError as error:
            cause = error.orig
            has_no_log = isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode in _NO_SHARED_MEMORY
            if not (options["reads"] and has_no_log and self.path):
                raise
            return self._read_alone(self.path, operation)

    def _engine(self, state: _ProcessState) -> Engine:
        if self.path and state.engine and self._file != _file_id(self.path):
            state.close()
        return super()._engine(state)

    def _open(self) -> Engine:
        if self.path:
            make_folder(self.path.parent)
            create_private(self.path)
            self._file = _file_id(self.path)
        return self._make_engine(self._pragmas)

    def _make_engine(self, pragmas: Mapping[str, object]) -> Engine:
        connect = partial(_connect, self.path, self._seconds, pragmas)
        return make_engine("sqlite://", connect, _begin, connections=self._connections)

    def _prepare(self, engine: Engine) -> float:
        """Migrate. SQLite ignores the busy timeout while the journal mode changes, so processes wait for a lock file.

        The user_version shows that nothing is missing, unless release 0.1 wrote to the file again and reset it.
        """
        known = self._schema.sqlite_version
        with engine.connect() as db:
            if self._version(db) == known:
                return 0.0
            with locked(self.path, self._seconds) if self.path else nullcontext():
                found = self._version(db)
                if found > known:
                    raise StorageError(
                        f"{self.path} was written by a later version of memgraph (its tables are {found})"
                    )
                driver_of(db).execute("PRAGMA journal_mode = WAL")
                with db.begin():
                    self._migrate(db, partial(_has_column, db), is_sqlite=True)
                    db.exec_driver_sql(f"PRAGMA user_version = {known}")
        return 0.0

    @staticmethod
    def _version(db: Connection) -> int:
        return driver_of(db).execute("PRAGMA user_version").fetchone()[0]

    def _read_alone(self, path: Path, operation: Callable[[Transaction], T]) -> T:
        """Read although the disk is full: with the index of the log in memory, which needs the file for itself."""
        with locked(path.with_name(f"{path.name}-reader"), self._seconds):
            engine = self._make_engine({"locking_mode": "EXCLUSIVE"})
            try:
                with engine.connect().execution_options(reads=True) as db, db.begin():
                    return operation(Transaction(db, self, is_retry=False))
            finally:
                engine.dispose()


class _ForkGate:
    """Lets a process fork between its transactions only, and without an open file.

    SQLite keeps which locks a process holds in its memory. A child that inherits one from another thread, which it does
    not have, would wait for it for ever.
    """

    def __init__(self) -> None:
        self.files = weakref.WeakSet[SqliteDatabase]()
        self._changed = threading.Condition()
        self._running = 0

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Keep forks out of this block."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Let no transaction begin, wait for those that run, unless one takes very long, and close the files."""
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._running, FORK_SECONDS)
        for file in tuple(self.files):
            with suppress(MemgraphError):
                file.close()

    def open(self) -> None:
        """Let transactions begin again."""
        self._changed.release()

    def reset(self) -> None:
        """Forget the threads that a child does not have."""
        self._changed, self._running = threading.Condition(), 0


_FORKS = _ForkGate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORKS.close, after_in_parent=_FORKS.open, after_in_child=_FORKS.reset)


def _connect(path: Path | None, busy_timeout: float, pragmas: Mapping[str, object]) -> sqlite3.Connection:
    """Open a connection in autocommit mode, so that transactions begin where `_begin` begins them."""
    db = sqlite3.connect(path or ":memory:", timeout=busy_timeout, isolation_level=None, check_same_thread=False)
    try:
        for name, value in pragmas.items():
            db.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        db.close()
        raise
    return db


def _begin(db: Connection) -> None:
    """Begin a transaction that locks out other writers from its start, unless it only reads."""
    options = db.get_execution_options()
    if options.get("reads"):
        db.exec_driver_sql("BEGIN")
        return
    if "durable" in options:
        driver_of(db).execute(f"PRAGMA synchronous = {'FULL' if options['durable'] else 'NORMAL'}")
    db.exec_driver_sql("BEGIN IMMEDIATE")


def driver_of(db: Connection) -> sqlite3.Connection:
    """Return the connection of the driver, which begins no transaction."""
    return cast("sqlite3.Connection", db.connection.driver_connection)


def _has_column(db: Connection, table: str, column: str) -> bool:
    statement = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
    return db.exec_driver_sql(statement, (table, column)).first() is not None


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
