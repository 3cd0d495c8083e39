"""The outbox in a file: what is in it, and what happens when the disk or others are in the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memgraph import BackgroundInvoker, ConfigError, OutboxError, Scope, Settings, open_outbox, open_storage
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.sqlite_outbox import SqliteOutbox

KEY = ConversationKey(Scope("ada"), "t1")
TIMING = DebouncePolicy(5, 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "outbox.db"


def put(outbox: Any, messages: str = "[]") -> None:
    outbox.enqueue(KEY, messages, now=0, timing=TIMING, max_jobs=10)


def texts(outbox: Any) -> list[str]:
    (claim,) = outbox.claim(now=100, lease_seconds=0)
    return [submission.messages for submission in claim.submissions]


# -- where it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sqlite:{0}", "sqlite:///{0}", "{0}"])
def test_a_path_is_named_in_several_ways(path: Path, form: str) -> None:
    assert open_outbox(form.format(path)).name == f"sqlite:{path}"


def test_an_outbox_is_opened_once() -> None:
    outbox = open_outbox("memory:")

    assert open_outbox(outbox) is outbox


def test_without_a_name_it_is_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert open_outbox().name == f"sqlite:{tmp_path}/memgraph/outbox.db"


def test_each_storage_has_an_outbox_of_its_own_where_none_is_named(tmp_path: Path) -> None:
    """A job does not name its storage: what waits for one must never be learned into another."""
    names = [open_outbox(storage=open_storage(f"file:{tmp_path / folder}")).name for folder in ("a", "b", "a")]

    assert names[0] != names[1]
    assert names[0] == names[2]


def test_what_is_remembered_in_ram_does_not_wait_on_disk() -> None:
    """It would be learned into nothing."""
    assert open_outbox(storage=open_storage("memory:")).name.startswith("memory:")


def test_a_named_outbox_is_the_one_that_is_used(tmp_path: Path) -> None:
    """Whatever the storage."""
    opened = open_outbox(f"sqlite:{tmp_path}/mine.db", storage=open_storage("memory:"))

    assert opened.name == f"sqlite:{tmp_path}/mine.db"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://host", "unknown outbox scheme 'redis'; available: .*memory, .*sqlite"),
        ("sqlite://host/file", "names a host"),
        ("sqlite::memory:", "use memory: for an outbox in RAM"),
        ("memory:name", "takes no name"),
    ],
)
def test_a_url_that_names_none_is_an_error(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        open_outbox(url)


def test_looking_makes_no_file(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        assert (outbox.pending(now=0), outbox.dead_letters(), outbox.next_due(now=0)) == ((), (), None)

    assert not path.parent.exists()


def test_nobody_else_may_read_it(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        put(outbox)
        modes = {oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}

    assert modes == {"0o600"}
    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"


def test_a_submission_is_written_through_to_the_disk(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        put(outbox)
        with outbox._durable.reading() as db:
            assert db
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)


# -- faults ---------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error_and_loses_nothing(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        put(outbox, "kept")
        with outbox._durable.writing() as db:
            db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(OutboxError, match=r"outbox\.db: database or disk is full"):
            put(outbox, "x" * 100_000)
        with outbox._durable.writing() as db:
            db.execute("PRAGMA max_page_count = 100000")

        put(outbox, "later")
        assert texts(outbox) == ["kept", "later"]


@pytest.mark.parametrize("step", ["claim", "complete", "failed", "dead_letter"])
def test_a_full_disk_at_any_step_loses_nothing(
    *,
    make_runner: Callable[..., Any],
    path: Path,
    clock: Any,
    storage: Any,
    say: Any,
    learned: Any,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    """The job is run again when its lease has expired, and what was learned stays learned once."""
    with SqliteOutbox(path) as outbox:
        runner = make_runner(outbox=outbox)
        runner.add(say(1))
        clock.sleep(5)
        with monkeypatch.context() as full:

            def fail(*_: object, **__: object) -> None:
                raise OutboxError("disk is full")

            full.setattr(outbox, step, fail)
            if step == "claim":
                with pytest.raises(OutboxError):
                    runner.run_due()
            elif step == "complete":
                runner.run_due()
            else:
                full.setattr(type(storage), "load", fail)
                if step == "dead_letter":
                    full.setattr("memgraph.background.runner.MAX_ATTEMPTS", 1)
                runner.run_due()
        clock.sleep(31)

        assert runner.run_due() == 1
        assert learned() == ["turn-1"]
        assert outbox.pending(now=clock.now()) == ()


def test_a_folder_that_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    """A file in its place, since root may write anything."""
    (tmp_path / "folder").write_text("")

    with pytest.raises(OutboxError, match="folder"):
        put(SqliteOutbox(tmp_path / "folder" / "outbox.db"))


def test_a_read_only_folder_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says to all but root."""

    def refuse(file: Path) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    outbox = SqliteOutbox(path)
    with monkeypatch.context() as read_only:
        read_only.setattr("memgraph._sqlite.create_private", refuse)
        with pytest.raises(OutboxError, match=r"outbox\.db: Permission denied"):
            put(outbox)
    put(outbox, "later")

    assert texts(outbox) == ["later"]
    outbox.close()


def test_a_file_that_may_only_be_read_is_an_error_until_it_may_be_written(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        put(outbox, "kept")
        with outbox._durable.writing() as db:
            db.execute("PRAGMA query_only = ON")
        with pytest.raises(OutboxError, match="readonly"):
            put(outbox, "lost")
        with outbox._durable.reading() as db:
            assert db
            db.execute("PRAGMA query_only = OFF")

        assert texts(outbox) == ["kept"]


def test_a_lock_held_too_long_is_an_error_and_then_it_goes_on(path: Path) -> None:
    with SqliteOutbox(path, busy_timeout=0.05) as outbox:
        put(outbox, "kept")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(OutboxError, match=r"outbox\.db: database is locked"):
                put(outbox, "lost")

        put(outbox, "later")
        assert texts(outbox) == ["kept", "later"]


def test_workers_wait_for_an_outbox_that_is_away(
    *, graph: Any, path: Path, say: Any, learned: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("memgraph.background.worker.ERROR_BACKOFF_SECONDS", 0.02)
    away, real = [True] * 3, SqliteOutbox.claim

    def claim(outbox: SqliteOutbox, **given: Any) -> Any:
        if away and away.pop():
            raise OutboxError("database is locked")
        return real(outbox, **given)

    monkeypatch.setattr(SqliteOutbox, "claim", claim)
    with BackgroundInvoker(graph, outbox=SqliteOutbox(path), settings=Settings(debounce_seconds=0)) as invoker:
        invoker.submit(say(1), KEY.scope, "t1")
        assert invoker.flush(20)

    assert learned() == ["turn-1"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "updates wait: database is locked"
    ]


def test_a_file_that_is_no_database_is_an_error_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious notes " * 100)

    with SqliteOutbox(path) as outbox, pytest.raises(OutboxError, match="file is not a database"):
        put(outbox)

    assert path.read_text() == "precious notes " * 100


def test_a_file_of_a_later_version_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    with SqliteOutbox(path) as outbox, pytest.raises(OutboxError, match="later version of memgraph"):
        put(outbox)


BEFORE_REVIEW = """
    CREATE TABLE job (
        id INTEGER PRIMARY KEY, user_id TEXT NOT NULL, agent_name TEXT NOT NULL, thread_id TEXT NOT NULL,
        aside INTEGER NOT NULL DEFAULT 0, first_at REAL NOT NULL, last_at REAL NOT NULL,
        retry_at REAL NOT NULL DEFAULT 0, due_at REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '', UNIQUE (user_id, agent_name, thread_id, aside)
    );
    CREATE INDEX job_due ON job (aside, due_at);
    CREATE TABLE submission (
        number INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
        at REAL NOT NULL, messages TEXT NOT NULL
    );
    CREATE INDEX submission_job ON submission (job_id, at);
    CREATE TABLE lease (
        user_id TEXT NOT NULL, agent_name TEXT NOT NULL, holder TEXT NOT NULL UNIQUE, until REAL NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    );
    INSERT INTO job (user_id, agent_name, thread_id, first_at, last_at, due_at) VALUES ('ada', '', 't1', 0, 0, 5);
    INSERT INTO submission (job_id, at, messages) VALUES (1, 0, 'said');
    PRAGMA user_version = 1;
"""


def test_a_file_of_before_there_was_review_is_brought_up_to_date(path: Path) -> None:
    """What waited when memgraph was upgraded waits on, and can be held."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(BEFORE_REVIEW)

    with SqliteOutbox(path) as outbox:
        (claim,) = outbox.claim(now=100, lease_seconds=30)
        held = outbox.hold_for_review(claim, "proposed", now=100)

    assert [entry.messages for entry in claim.submissions] == ["said"]
    assert held
    with SqliteOutbox(path) as outbox:
        assert [each.proposal for each in outbox.in_review()] == ["proposed"]


def test_a_file_that_was_removed_is_made_again(path: Path) -> None:
    """What went into the removed one would be lost without a word."""
    with SqliteOutbox(path) as outbox:
        put(outbox, "gone")
        for file in path.parent.iterdir():
            file.unlink()
        put(outbox, "kept")
        assert texts(outbox) == ["kept"]
    with SqliteOutbox(path) as outbox:
        assert texts(outbox) == ["kept"]
