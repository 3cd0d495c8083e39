"""Exclusive access to one memory in a LangGraph store, as far as the store supports it.

A BaseStore has no compare-and-set, so a lock has to cover reading and writing.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import threading
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph.errors import StorageError
from memgraph.storage.atomic_file import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Mapping
    from contextlib import AbstractContextManager

    from langgraph.store.base import BaseStore
    from langgraph.store.postgres import AsyncPostgresStore, PostgresStore
    from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

T = TypeVar("T")

ADVISORY_LOCK = "SELECT pg_advisory_xact_lock(%s)"
FILE_OF_DATABASE = "SELECT file FROM pragma_database_list WHERE name = 'main'"
WAIT_SECONDS = 30.0

_IN_PROCESS = tuple(threading.Lock() for _ in range(64))
"""By label, not by store, since two store objects may use the same database."""


@contextmanager
def exclusive(store: BaseStore, label: str) -> Generator[BaseStore]:
    """Hold the lock called *label*, and yield the store to use meanwhile.

    It excludes other threads of this process, and other processes if LOCKS has an entry for the store.
    """
    lock = next((LOCKS[name] for name in map(_class_path, type(store).__mro__) if name in LOCKS), None)
    with _IN_PROCESS[_lock_number(label) % len(_IN_PROCESS)]:
        if lock is None:
            yield store
        else:
            with lock(store, label) as own:
                yield own


@contextmanager
def _in_postgres(store: PostgresStore, label: str) -> Generator[BaseStore]:
    """Hold an advisory lock in the transaction that also reads and writes, so one connection is enough."""
    from langgraph.store.postgres import PostgresStore
    from psycopg import Connection

    with ExitStack() as stack:
        if isinstance(store.conn, Connection):
            stack.enter_context(store.lock)  # or other threads would join the transaction
            db = store.conn
        else:
            db = stack.enter_context(store.conn.connection())
        stack.enter_context(db.transaction())
        db.execute(ADVISORY_LOCK, (_lock_number(label),))
        yield PostgresStore(db)


@contextmanager
def _in_async_postgres(store: AsyncPostgresStore, label: str) -> Generator[BaseStore]:
    """Do the same on the store's event loop, called from another thread."""
    from langgraph.store.postgres import AsyncPostgresStore
    from psycopg import AsyncConnection

    stack = AsyncExitStack()

    async def enter() -> BaseStore:
        if isinstance(store.conn, AsyncConnection):
            await stack.enter_async_context(store.lock)
            db = store.conn
        else:
            db = await stack.enter_async_context(store.conn.connection())
        await stack.enter_async_context(db.transaction())
        await db.execute(ADVISORY_LOCK, (_lock_number(label),))
        return AsyncPostgresStore(db)

    try:
        yield _run_on_loop(store.loop, enter())
    except BaseException as error:
        _run_on_loop(store.loop, stack.__aexit__(type(error), error, error.__traceback__))
        raise
    else:
        _run_on_loop(store.loop, stack.aclose())


@contextmanager
def _in_sqlite(store: SqliteStore, label: str) -> Generator[BaseStore]:
    """Hold a lock file next to the database. A database in RAM belongs to this process and needs none."""
    del label
    with store.lock:
        found = store.conn.execute(FILE_OF_DATABASE).fetchone()
    with _locked_file(found):
        yield store


@contextmanager
def _in_async_sqlite(store: AsyncSqliteStore, label: str) -> Generator[BaseStore]:
    del label

    async def find() -> sqlite3.Row | None:
        async with store.lock, store.conn.execute(FILE_OF_DATABASE) as cursor:
            return await cursor.fetchone()

    with _locked_file(_run_on_loop(store.loop, find())):
        yield store


LOCKS: Mapping[str, Callable[[Any, str], AbstractContextManager[BaseStore]]] = {
    "langgraph.store.postgres.base.PostgresStore": _in_postgres,
    "langgraph.store.postgres.aio.AsyncPostgresStore": _in_async_postgres,
    "langgraph.store.sqlite.base.SqliteStore": _in_sqlite,
    "langgraph.store.sqlite.aio.AsyncSqliteStore": _in_async_sqlite,
}
"""The lock that excludes other processes, by class path of the store, so that no store has to be imported."""


@contextmanager
def _locked_file(row: tuple[Any, ...] | sqlite3.Row | None) -> Generator[None]:
    if row is None or not row[0]:
        yield
    else:
        path = Path(row[0])
        with locked(path.with_name(f"{path.name}.memgraph"), WAIT_SECONDS):
            yield


def _run_on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    try:
        is_inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_inside = False
    if is_inside:
        work.close()
        raise StorageError("the storage would block the event loop of its own store; call it from another thread")
    return asyncio.run_coroutine_threadsafe(work, loop).result()


def _class_path(of: type) -> str:
    return f"{of.__module__}.{of.__qualname__}"


def _lock_number(label: str) -> int:
    """Return the same number for *label* in every process: 64 bits, signed, as advisory locks require."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], signed=True)
