"""SQL databases: transactions, migrations, errors, lost connections and time limits."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from memgraph import OutboxError
from memgraph._concurrency import time_limit
from memgraph._postgres import PostgresDatabase
from memgraph._sql import Database, Migration, Schema, SqliteDatabase, Transaction

if TYPE_CHECKING:
    from postgres_server import PostgresServer

CREATE = Migration("{p}note.text", "CREATE TABLE {p}note (id {id}, text {text} NOT NULL)")
ADD_TIME = Migration("{p}note.at", "ALTER TABLE {p}note ADD COLUMN at double precision NOT NULL DEFAULT 0")
SCHEMA = Schema("notes", (CREATE, ADD_TIME), 2, 2)
OLD = Schema("notes", (CREATE,), 1, 1)
Open = Callable[..., Database]


@pytest.fixture(params=["sqlite", "memory", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same database of each kind again, with another schema or limit."""
    databases: list[Database] = []
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""

    def open_database(schema: Schema = SCHEMA) -> Database:
        if url:
            databases.append(PostgresDatabase(url.removeprefix("postgresql:"), schema, OutboxError, wait_seconds=5))
        else:
            path = None if request.param == "memory" else tmp_path / "new" / "notes.db"
            databases.append(SqliteDatabase(path, schema, OutboxError, name="notes"))
        return databases[-1]

    yield open_database
    for database in databases:
        database.close()


@pytest.fixture
def opened_again(opened: Open, request: pytest.FixtureRequest) -> Open:
    """The same without the database in RAM, which cannot be opened again."""
    if "memory" in request.node.callspec.id:
        pytest.skip("a database in RAM ends with its connection")
    return opened


def insert(database: Database, text: str) -> None:
    database.run(lambda db: db.execute("INSERT INTO {p}note (text) VALUES (:text)", {"text": text}))


def texts(database: Database) -> list[str]:
    return [text for (text,) in database.run(lambda db: db.rows("SELECT text FROM {p}note ORDER BY id"), reads=True)]


def test_a_failed_transaction_is_rolled_back(opened: Open) -> None:
    database = opened()
    insert(database, "kept")

    def fail(db: Transaction) -> None:
        db.execute("INSERT INTO {p}note (text) VALUES ('lost')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.run(fail)

    assert texts(database) == ["kept"]


@pytest.mark.parametrize(("ids", "found"), [([], []), (["a", "c"], ["a", "c"])])
def test_a_parameter_may_be_a_sequence(opened: Open, ids: list[str], found: list[str]) -> None:
    database = opened()
    for text in "abc":
        insert(database, text)

    rows = database.run(lambda db: db.rows("SELECT text FROM {p}note WHERE text IN :ids ORDER BY id", {"ids": ids}))

    assert [text for (text,) in rows] == found


def test_missing_migrations_are_run(opened_again: Open) -> None:
    """A database of an earlier version keeps its rows."""
    insert(opened_again(OLD), "old")

    new = opened_again()
    insert(new, "new")

    assert texts(new) == ["old", "new"]
    assert new.run(lambda db: db.row("SELECT max(at) FROM {p}note")) == (0,)


def test_migrations_run_again_if_the_version_was_set_back(opened_again: Open) -> None:
    """Release 0.1 sets the version of a file back that a later release wrote, and leaves its tables."""
    database = opened_again()
    insert(database, "kept")
    set_version(database, 1)
    database.close()

    assert texts(database) == ["kept"]


def test_a_failed_migration_changes_nothing(opened_again: Open) -> None:
    """All missing migrations are one transaction."""
    broken = Schema("notes", (CREATE, Migration("{p}note.at", "no SQL")), 2, 2)
    with pytest.raises(OutboxError, match="syntax"):
        insert(opened_again(broken), "lost")

    assert texts(opened_again()) == []


def test_tables_of_a_later_version_are_refused(opened_again: Open) -> None:
    """An older memgraph must not write tables that it does not know."""
    insert(opened_again(), "kept")
    old = opened_again(OLD)

    with pytest.raises(OutboxError, match=r"later version of memgraph|upgrade memgraph"):
        insert(old, "lost")

    assert texts(opened_again()) == ["kept"]


def set_version(database: Database, version: int) -> None:
    is_file = isinstance(database, SqliteDatabase)
    statement = f"PRAGMA user_version = {version}" if is_file else f"UPDATE memgraph_schema SET version = {version}"  # noqa: S608
    database.run(lambda db: db.execute(statement))


def test_an_error_names_the_database_and_quotes_no_row(opened: Open) -> None:
    database = opened()
    statement = "INSERT INTO {p}note (id, text) VALUES (1, :text), (1, :text)"
    override = statement.replace("VALUES", "OVERRIDING SYSTEM VALUE VALUES")

    with pytest.raises(OutboxError) as caught:
        database.run(
            lambda db: db.execute(
                statement if isinstance(database, SqliteDatabase) else override, {"text": "a secret of Ada's"}
            )
        )

    assert str(caught.value).startswith(f"{database.name}: ")
    assert "secret" not in str(caught.value)


def test_a_dropped_database_is_closed() -> None:
    """Since Python 3.13, sqlite3 warns about a connection that was not closed."""
    database = SqliteDatabase(None, SCHEMA, OutboxError)
    connection = cast("Any", database.run(lambda db: db.connection.connection.driver_connection))

    del database
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_removed_file_is_made_again(tmp_path: Path) -> None:
    """Writes to the removed one would be lost without an error."""
    path = tmp_path / "notes.db"
    database = SqliteDatabase(path, SCHEMA, OutboxError)
    insert(database, "gone")
    for file in tmp_path.iterdir():
        file.unlink()

    insert(database, "kept")
    database.close()

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT text FROM note").fetchall() == [("kept",)]


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_each_transaction_says_whether_it_waits_for_the_disk(tmp_path: Path, *, durable: bool, level: int) -> None:
    database = SqliteDatabase(tmp_path / "notes.db", SCHEMA, OutboxError)
    insert(database, "before")

    found = database.run(lambda db: db.row("PRAGMA synchronous"), durable=durable)

    assert found == (level,)


# -- PostgreSQL -----------------------------------------------------------------------------------


def open_server(url: str) -> PostgresDatabase:
    return PostgresDatabase(url.removeprefix("postgresql:"), SCHEMA, OutboxError)


def test_a_broken_connection_is_replaced(postgres: PostgresServer) -> None:
    database = open_server(postgres.url)
    insert(database, "kept")
    seen: list[bool] = []

    def disconnect(db: Transaction) -> None:
        seen.append(db.is_retry)
        if not db.is_retry:
            db.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    database.run(disconnect)

    assert seen == [False, True]
    assert texts(database) == ["kept"]


def test_a_server_that_does_not_answer_is_given_up(postgres: PostgresServer) -> None:
    """Whether the connection is open, or is being opened; afterwards it works again."""
    database, other = open_server(postgres.url), open_server(postgres.url)
    insert(database, "kept")
    with stopped(postgres):
        for each in (database, other, database):
            started = time.monotonic()
            with pytest.raises(OutboxError, match=each.name):
                each.run(lambda db: db.row("SELECT 1"), seconds=1)
            assert time.monotonic() - started < 30

    assert texts(database) == ["kept"]


@contextmanager
def stopped(postgres: PostgresServer) -> Iterator[None]:
    """Stop the server and the processes of its connections, which stay open."""
    server = int((postgres._data / "postmaster.pid").read_text().split()[0])
    children = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True, check=True)
    processes = [server, *map(int, children.stdout.split())]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def test_a_lock_that_another_holds_is_given_up(postgres: PostgresServer) -> None:
    database, other = open_server(postgres.url), open_server(postgres.url)
    insert(database, "kept")
    insert(other, "also")

    def hold(db: Transaction) -> None:
        db.execute("LOCK TABLE {p}note IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(OutboxError, match="timeout"):
            other.run(lambda db: db.rows("SELECT text FROM {p}note"), seconds=0.2)

    database.run(hold)

    assert texts(other) == ["kept", "also"]


def test_an_outer_time_limit_holds_for_all_transactions_in_it(postgres: PostgresServer) -> None:
    """As at an exit, which asks several times."""
    database = open_server(postgres.url)
    insert(database, "kept")
    started = time.monotonic()

    with stopped(postgres), time_limit(1):
        for _ in range(20):
            with pytest.raises(OutboxError):
                texts(database)

    assert time.monotonic() - started < 30
    assert texts(database) == ["kept"]


def test_a_transaction_ends_if_its_process_is_silent(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a machine that vanished, whose locks others wait for."""
    monkeypatch.setattr("memgraph._postgres.IDLE_SECONDS", 1)
    database = open_server(postgres.url)

    found = database.run(lambda db: db.row("SHOW idle_in_transaction_session_timeout"))

    assert found == ("1s",)


FORK_IN_A_TRANSACTION = """
import os, sys, threading
from pathlib import Path
from test_sql import SCHEMA, OutboxError, SqliteDatabase, insert

database = SqliteDatabase(Path(sys.argv[1]), SCHEMA, OutboxError, busy_timeout=3)
begun, may_end = threading.Event(), threading.Event()


def write(transaction):
    transaction.execute("INSERT INTO {p}note (text) VALUES ('parent')", {})
    begun.set()
    may_end.wait(1)


thread = threading.Thread(target=database.run, args=(write,))
thread.start()
begun.wait(60)
child = os.fork()
if not child:
    insert(database, "child")
    os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_a_process_that_forks_during_a_transaction_of_another_thread_leaves_its_child_able_to_write(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK_IN_A_TRANSACTION, str(tmp_path / "notes.db")]

    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
