"""Memories in PostgreSQL: the tables, and what happens when the server is away, or comes back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memgraph import MemoryClient
from memgraph.errors import ConfigError, DamagedMemoryError, StorageError
from memgraph.models import Episode, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import open_storage
from memgraph.storage.sql import PostgresStorage

if TYPE_CHECKING:
    from postgres_server import PostgresServer

ADA = Scope("ada")
KNOWN = MemoryDocument(facts=(Fact(id="f", content="Works on engines."),))


def location_of(url: str) -> str:
    return url.removeprefix("postgresql:")


@pytest.fixture
def storage(postgres_url: str) -> Iterator[PostgresStorage]:
    with PostgresStorage(location_of(postgres_url), wait_seconds=60) as opened:
        yield opened


def test_a_client_on_a_langgraph_server_remembers_in_the_next_container(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waited there, too. Nothing is configured, and nothing of the first one's disk is left."""
    monkeypatch.setenv("LANGSERVE_GRAPHS", "{}")
    monkeypatch.setenv("DATABASE_URI", postgres_url)
    learned = dict[str, list[str]]()
    for container in ("first", "second"):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / container))
        memory = MemoryClient(user_id="ada", model="offline")
        if container == "first":
            memory.add("I keep bees in Ghent.", thread_id="t")
            memory.add("I am allergic to walnuts.", thread_id="u", background=True)
        else:
            memory.flush()
        learned[container] = [fact.content for fact in memory.facts()]
        memory.close(wait=False)

    assert learned == {"first": ["Keeps bees in Ghent."], "second": ["Keeps bees in Ghent.", "Is allergic to walnuts."]}


# -- the tables -----------------------------------------------------------------------------------


def test_a_document_can_be_read_with_any_client(storage: PostgresStorage, postgres: PostgresServer) -> None:
    storage.save(ADA, KNOWN)
    storage.save(Scope("ada", "bot"), KNOWN)

    query = "SELECT user_id, agent_name, revision, document #>> '{facts,0,content}' FROM memgraph_memory ORDER BY 2"

    assert postgres.execute(query) == [("ada", "", 1, "Works on engines."), ("ada", "bot", 1, "Works on engines.")]


def test_a_document_is_stored_unchanged(storage: PostgresStorage, postgres: PostgresServer) -> None:
    """With the order of keys, and NUL, which jsonb rejects."""
    storage.save(ADA, MemoryDocument.model_validate({"zoo": 1, "ape": "\0"}))

    [(document,)] = postgres.execute("SELECT document::text FROM memgraph_memory")

    assert document.endswith('"zoo": 1,\n  "ape": "\\u0000"\n}\n')


def test_8_processes_create_the_tables_once(
    postgres_url: str, start_learner: Callable[..., subprocess.Popen[str]]
) -> None:
    learners = [start_learner(postgres_url, f"p{number}", 1) for number in range(8)]
    for learner in learners:
        learner.communicate()

    assert [learner.returncode for learner in learners] == [0] * 8
    with open_storage(postgres_url) as storage:
        assert len(storage.load(ADA).facts) == 8


def test_tables_from_before_episodes_are_upgraded(postgres: PostgresServer, storage: PostgresStorage) -> None:
    """Their memories stay."""
    saved = storage.save(ADA, KNOWN)
    storage.close()
    postgres.execute("DROP TABLE memgraph_episode, memgraph_episode_log, memgraph_revision")
    postgres.execute("UPDATE memgraph_schema SET version = 1")

    storage.append_episodes(ADA, [Episode(id="e", text="Hello.")], Policy())

    assert [episode.id for episode in storage.episodes(ADA)] == ["e"]
    assert storage.load(ADA) == saved


def test_tables_of_a_later_version_are_not_changed(postgres: PostgresServer, storage: PostgresStorage) -> None:
    storage.save(ADA, KNOWN)
    postgres.execute("UPDATE memgraph_schema SET version = 7")

    with PostgresStorage(location_of(postgres.url)) as older, pytest.raises(StorageError, match="upgrade memgraph"):
        older.load(ADA)


def test_a_failed_migration_changes_nothing(postgres: PostgresServer, storage: PostgresStorage) -> None:
    postgres.execute("CREATE TABLE memgraph_memory (theirs text)")

    with pytest.raises(StorageError, match="already exists"):
        storage.load(ADA)

    assert postgres.execute("SELECT to_regclass('memgraph_schema')") == [(None,)]


def test_a_database_without_utf8_is_rejected(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0")
    try:
        storage = PostgresStorage(location_of(postgres.url).replace("/postgres", "/latin"))
        with pytest.raises(StorageError, match=r"/latin: the encoding of the database is LATIN1"):
            storage.load(ADA)
        storage.close()
    finally:
        postgres.execute("DROP DATABASE latin")


def test_a_check_for_writability_finds_a_read_only_server(storage: PostgresStorage, postgres: PostgresServer) -> None:
    """As a standby is."""
    storage.save(ADA, KNOWN)

    with open_storage(f"{postgres.url}?options=-cdefault_transaction_read_only%3Don") as standby:
        assert standby.load(ADA).facts == KNOWN.facts
        with pytest.raises(StorageError, match="read-only transaction"):
            standby.check_writable(ADA)


@pytest.mark.parametrize("missing", ["INSERT", "UPDATE"])
def test_a_check_for_writability_finds_a_missing_privilege(
    storage: PostgresStorage, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    storage.save(ADA, KNOWN)
    postgres.execute(f"CREATE ROLE reader LOGIN PASSWORD '{postgres.password}'")
    try:
        postgres.execute("GRANT USAGE ON SCHEMA public TO reader")
        postgres.execute("GRANT SELECT ON memgraph_schema TO reader")
        postgres.execute("GRANT SELECT, INSERT, UPDATE ON memgraph_memory TO reader")
        postgres.execute(f"REVOKE {missing} ON memgraph_memory FROM reader")
        monkeypatch.setenv("PGUSER", "reader")
        with PostgresStorage(location_of(postgres.url)) as limited:
            assert limited.load(ADA).facts == KNOWN.facts
            with pytest.raises(StorageError, match="permission denied for table memgraph_memory"):
                limited.check_writable(ADA)
    finally:
        postgres.execute("DROP OWNED BY reader")
        postgres.execute("DROP ROLE reader")


def test_tables_are_created_in_the_search_path(postgres: PostgresServer) -> None:
    postgres.execute("CREATE SCHEMA ours")

    with open_storage(f"{postgres.url}?options=-csearch_path%3Dours") as storage:
        storage.save(ADA, KNOWN)

    assert storage.name == f"{postgres.url}?options=-csearch_path%3Dours"
    assert postgres.execute("SELECT count(*) FROM ours.memgraph_memory") == [(1,)]
    postgres.execute("DROP SCHEMA ours CASCADE")


@pytest.mark.parametrize("damage", ["[]", '"oops"', '{"facts": 7}'])
def test_a_damaged_document_is_an_error_and_left_unchanged(
    storage: PostgresStorage, postgres: PostgresServer, damage: str
) -> None:
    loaded = storage.save(ADA, KNOWN)
    postgres.execute("UPDATE memgraph_memory SET document = %s", damage)

    for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, loaded), lambda: storage.delete(ADA)):
        with pytest.raises(DamagedMemoryError, match=r"postgres, memory of 'ada'"):
            act()

    assert postgres.execute("SELECT document::text FROM memgraph_memory") == [(damage,)]
    assert list(storage.scopes()) == [ADA]


# -- the server comes and goes --------------------------------------------------------------------


def test_a_restart_of_the_server_is_not_noticed(storage: PostgresStorage, postgres: PostgresServer) -> None:
    """It breaks all pooled connections."""
    saved = storage.save(ADA, KNOWN)

    postgres.stop()
    postgres.start()

    assert storage.load(ADA) == saved
    assert storage.save(ADA, saved).revision == 2


def test_an_unavailable_server_is_an_error_and_nothing_is_lost(postgres: PostgresServer) -> None:
    with PostgresStorage(location_of(postgres.url), wait_seconds=0.2) as storage:
        saved = retry(lambda: storage.save(ADA, KNOWN))
        postgres.stop()

        for act in (lambda: storage.load(ADA), lambda: storage.save(ADA, saved), lambda: list(storage.scopes())):
            with pytest.raises(StorageError, match=storage.name):
                act()

        postgres.start()
        assert retry(lambda: storage.save(ADA, saved)).revision == 2


def retry(act: Callable[[], MemoryDocument]) -> MemoryDocument:
    """Call *act* for up to a minute, as callers do while the server is away. A busy machine is slow to connect, too."""
    for _ in range(1_200):
        try:
            return act()
        except StorageError:
            time.sleep(0.05)
    pytest.fail("the server is back, but the storage does not notice")


def test_a_wrong_address_fails_immediately() -> None:
    storage = PostgresStorage("//ada:secret@127.0.0.1:1/db")

    with pytest.raises(StorageError, match=r"postgresql://127\.0\.0\.1:1/db: .*refused") as caught:
        storage.load(ADA)

    assert "secret" not in str(caught.value)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Breaks the connection of the next commit, right before its confirmation."""

    def cut_next() -> None:
        commit = psycopg.Connection.commit

        def commit_and_break(db: psycopg.Connection[Any]) -> None:
            monkeypatch.setattr(psycopg.Connection, "commit", commit)
            commit(db)
            db.close()
            raise psycopg.OperationalError("the connection was cut")

        monkeypatch.setattr(psycopg.Connection, "commit", commit_and_break)

    return cut_next


def test_a_save_whose_confirmation_was_lost_happens_once(storage: PostgresStorage, cut: Callable[[], None]) -> None:
    storage.load(ADA)
    cut()

    saved = storage.save(ADA, KNOWN)

    assert saved == storage.load(ADA) == KNOWN.model_copy(update={"revision": 1})
    assert len(storage.revisions(ADA)) == 1


def test_so_does_a_save_that_replaces_a_document(storage: PostgresStorage, cut: Callable[[], None]) -> None:
    known = storage.save(ADA, storage.delete(ADA))
    cut()

    assert storage.save(ADA, known.with_facts(KNOWN.facts)) == storage.load(ADA)


def test_waiting_for_a_free_connection_times_out(postgres: PostgresServer) -> None:
    with PostgresStorage(location_of(postgres.url), wait_seconds=0.1, max_connections=1) as storage:
        retry(lambda: storage.save(ADA, KNOWN))

        with pytest.raises(StorageError, match=r"no connection within 0\.1 s"):
            storage._backend._database.run(lambda _: storage.load(ADA))  # pyright: ignore[reportAttributeAccessIssue]

        assert retry(lambda: storage.load(ADA)).facts == KNOWN.facts


def test_a_closed_storage_has_no_connection(postgres: PostgresServer, storage: PostgresStorage) -> None:
    storage.save(ADA, KNOWN)
    storage.close()

    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memgraph'"

    for _ in range(3_000):
        if postgres.execute(count) == [(0,)]:
            break
        time.sleep(0.02)
    assert postgres.execute(count) == [(0,)]


FORKER = """
import os, sys
from memgraph.models import MemoryDocument, Scope
from memgraph.storage import open_storage

storage, ada = open_storage(sys.argv[1]), Scope("ada")
saved = storage.save(ada, MemoryDocument())
for _ in range(3):
    child = os.fork()
    if not child:
        saved = storage.save(ada, saved)
        sys.exit(0 if saved == storage.load(ada) else 1)
    assert os.waitpid(child, 0)[1] == 0
    saved = storage.load(ada)
print(storage.save(ada, saved).revision)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_fork_shares_no_connection(postgres_url: str) -> None:
    # from Python 3.12 on, a fork warns of the threads of the connection pool; that they do no harm is the promise here
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", FORKER, postgres_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("5\n", "")


# -- URLs and secrets -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ada:secret@db.example:5433/app", "postgresql://db.example:5433/app"),
        ("postgres://ada:secret@db.example/app?sslmode=require", "postgresql://db.example/app"),
        ("postgresql:///app?host=/run/pg&password=secret", "postgresql://%2Frun%2Fpg/app"),
        ("postgresql://ada:secret%40%2F@one:1,two:2/app", "postgresql://one,two:1,2/app"),
        ("postgresql://ada:sec?ret@host/app", "postgresql://host/app"),
        ("postgresql:", "postgresql:///"),
        (
            "postgresql:///app?options=-csearch_path%3Dours%20-csome.key%3Dsecret",
            "postgresql:///app?options=-csearch_path%3Dours",
        ),
    ],
)
def test_the_name_contains_no_secret(url: str, name: str) -> None:
    storage = open_storage(url)

    assert storage.name == name
    assert not re.search("sec|ret", f"{storage} {storage!r}")


@pytest.mark.parametrize(
    "location",
    [
        *("app", "//ada:sec@ret@host/db", "//ada:sec/ret@host/db", "//ada:12/ret@host/db", "//ada:s?e/ret@host/db"),
        *(
            "//ada:secret@host/db?no_such=ret",
            "//ada:secret@[host/db",
            "//ada:%zzret@host/db",
            "//ada:sec#ret@host:x/db",
        ),
    ],
)
def test_an_invalid_url_is_not_quoted(location: str) -> None:
    """Otherwise the rest of a password with an unescaped `/` or `@` would be quoted as the host."""
    with pytest.raises(ConfigError, match=r"postgresql://USER:PASSWORD@HOST") as caught:
        open_storage(f"postgresql:{location}")

    assert "ret" not in str(caught.value)


def test_a_wrong_password_is_not_quoted(postgres: PostgresServer) -> None:
    storage = PostgresStorage(location_of(postgres.url).replace("//", "//memgraph:secret@"))

    with pytest.raises(StorageError, match="password authentication failed") as caught:
        storage.load(ADA)

    assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_without_psycopg_the_error_says_what_to_install() -> None:
    code = """
        import sys
        sys.modules["psycopg"] = None
        from memgraph.errors import ConfigError
        from memgraph.storage import open_storage
        try:
            open_storage("postgresql://host/db")
        except ConfigError as error:
            print(error)
    """
    script = "\n".join(line[8:] for line in code.splitlines())

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "pip install 'langgraph-memgraph[postgres]'" in done.stdout


def test_import_without_psycopg_is_an_import_error() -> None:
    """So that `pytest.importorskip` and optional imports work as with any package."""
    code = """
import sys
sys.modules["psycopg"] = None
try:
    import memgraph._postgres
except ImportError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install 'langgraph-memgraph[postgres]'" in done.stdout


def test_outbox_without_psycopg_is_a_config_error() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from memgraph import ConfigError, open_outbox
try:
    open_outbox("postgresql://host/db")
except ConfigError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install 'langgraph-memgraph[postgres]'" in done.stdout
