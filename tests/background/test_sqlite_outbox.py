"""The outbox in an SQLite file: URLs, permissions and faults."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, ConfigError, OutboxError, Scope, Settings, open_outbox, open_storage
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.background.sql_outbox import SqliteOutbox

KEY = ConversationKey(Scope("ada"), "t1")
TIMING = DebouncePolicy(5, 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "outbox.db"


def enqueue(outbox: Any, messages: str = "[]") -> None:
    outbox.enqueue(KEY, messages, now=0, timing=TIMING, max_jobs=1_000)


def texts(outbox: Any) -> list[str]:
    (claim,) = outbox.claim(now=100, lease_seconds=0)
    return [submission.messages for submission in claim.submissions]


def pragma(outbox: SqliteOutbox, setting: str) -> None:
    """Change a setting of its connection."""
    outbox._database.run(lambda db: db.execute(f"PRAGMA {setting}"), reads=True)


# -- location ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sqlite:{0}", "sqlite:///{0}", "{0}"])
def test_url_forms_of_a_path(path: Path, form: str) -> None:
    assert open_outbox(form.format(path)).name == f"sqlite:{path}"


def test_open_outbox_returns_an_outbox_unchanged() -> None:
    outbox = open_outbox("memory:")

    assert open_outbox(outbox) is outbox


def test_default_file_is_in_the_user_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert open_outbox().name == f"sqlite:{tmp_path}/memgraph/outbox.db"


def test_each_storage_has_its_own_default_outbox(tmp_path: Path) -> None:
    """A job does not name its storage, so it must never be run with another one."""
    names = [open_outbox(storage=open_storage(f"file:{tmp_path / folder}")).name for folder in ("a", "b", "a")]

    assert names[0] != names[1]
    assert names[0] == names[2]


def test_default_outbox_of_memory_storage_is_in_memory() -> None:
    """The memories are gone at the next start, so their jobs need not survive either."""
    assert open_outbox(storage=open_storage("memory:")).name.startswith("memory:")


def test_explicit_url_overrides_the_storage_default(tmp_path: Path) -> None:
    """It does not depend on the storage."""
    opened = open_outbox(f"sqlite:{tmp_path}/mine.db", storage=open_storage("memory:"))

    assert opened.name == f"sqlite:{tmp_path}/mine.db"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://host", "unknown outbox scheme 'redis'; available: .*memory, .*sqlite"),
        ("sqlite://host/file", "names a host"),
        ("sqlite::memory:", "use memory: for an outbox in RAM"),
        ("memory:name", "takes no name"),
    ],
)
def test_invalid_url_is_rejected(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_outbox(url)


def test_reading_creates_no_file(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        assert (outbox.pending(now=0), outbox.dead_letters(), outbox.next_due(now=0)) == ((), (), None)

    assert not path.parent.exists()


def test_files_are_private(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        enqueue(outbox)
        modes = {oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}

    assert modes == {"0o600"}
    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"


# -- faults ---------------------------------------------------------------------------------------


def test_full_disk_raises_and_loses_nothing(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        enqueue(outbox, "kept")
        pragma(outbox, "max_page_count = 1")
        with pytest.raises(OutboxError, match=r"outbox\.db: database or disk is full"):
            enqueue(outbox, "x" * 100_000)
        pragma(outbox, "max_page_count = 100000")

        enqueue(outbox, "later")
        assert texts(outbox) == ["kept", "later"]


@pytest.mark.parametrize("step", ["claim", "complete", "failed", "dead_letter"])
def test_full_disk_at_any_step_loses_nothing(
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
    """The job runs again when its lease has expired, and is learned once."""
    with SqliteOutbox(path) as outbox:
        runner = make_runner(outbox=outbox)
        runner.add(say(1))
        clock.sleep(5)
        with monkeypatch.context() as disk_full:

            def fail(*_: object, **__: object) -> None:
                raise OutboxError("disk is full")

            disk_full.setattr(outbox, step, fail)
            if step == "claim":
                with pytest.raises(OutboxError):
                    runner.run_due()
            elif step == "complete":
                runner.run_due()
            else:
                disk_full.setattr(type(storage), "load", fail)
                if step == "dead_letter":
                    disk_full.setattr("memgraph.background.runner.MAX_ATTEMPTS", 1)
                runner.run_due()
        clock.sleep(31)

        assert runner.run_due() == 1
        assert learned() == ["turn-1"]
        assert outbox.pending(now=clock.now()) == ()


def test_unwritable_folder_raises(tmp_path: Path) -> None:
    """A file stands in for the folder, since root may write to any folder."""
    (tmp_path / "folder").write_text("")

    with pytest.raises(OutboxError, match="folder"):
        enqueue(SqliteOutbox(tmp_path / "folder" / "outbox.db"))


def test_read_only_folder_raises(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is simulated, since root may write to any folder."""

    def refuse(file: Path) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    outbox = SqliteOutbox(path)
    with monkeypatch.context() as read_only:
        read_only.setattr("memgraph._sql.create_private", refuse)
        with pytest.raises(OutboxError, match=r"outbox\.db: Permission denied"):
            enqueue(outbox)
    enqueue(outbox, "later")

    assert texts(outbox) == ["later"]
    outbox.close()


def test_read_only_file_raises_until_writable(path: Path) -> None:
    with SqliteOutbox(path) as outbox:
        enqueue(outbox, "kept")
        pragma(outbox, "query_only = ON")
        with pytest.raises(OutboxError, match="readonly"):
            enqueue(outbox, "lost")
        pragma(outbox, "query_only = OFF")

        assert texts(outbox) == ["kept"]


def test_lock_timeout_raises_once(path: Path) -> None:
    with SqliteOutbox(path, busy_timeout=0.05) as outbox:
        enqueue(outbox, "kept")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(OutboxError, match=r"outbox\.db: database is locked"):
                enqueue(outbox, "lost")

        enqueue(outbox, "later")
        assert texts(outbox) == ["kept", "later"]


def test_workers_wait_for_an_unavailable_outbox(
    *, graph: Any, path: Path, say: Any, learned: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("memgraph.background.worker.ERROR_BACKOFF_SECONDS", 0.02)
    failures, real_claim = [True] * 3, SqliteOutbox.claim

    def claim(outbox: SqliteOutbox, **kwargs: Any) -> Any:
        if failures and failures.pop():
            raise OutboxError("database is locked")
        return real_claim(outbox, **kwargs)

    monkeypatch.setattr(SqliteOutbox, "claim", claim)
    with BackgroundInvoker(graph, outbox=SqliteOutbox(path), settings=Settings(debounce_seconds=0)) as invoker:
        invoker.submit(say(1), KEY.scope, "t1")
        assert invoker.flush(120)

    assert learned() == ["turn-1"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "updates wait: database is locked"
    ]


def test_other_file_is_rejected_and_left_unchanged(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious notes " * 100)

    with SqliteOutbox(path) as outbox, pytest.raises(OutboxError, match="file is not a database"):
        enqueue(outbox)

    assert path.read_text() == "precious notes " * 100


def test_nothing_that_was_learned_is_readable_in_the_folder_of_the_outbox(tmp_path: Path) -> None:
    """Deleted rows would remain in the write-ahead log and in free pages of the file; secrets never get there."""
    secret = "sk-proj-" + "a1B2" * 10
    block = {"type": "text", "text": f"My PIN is 4821 and the key {secret}."}
    conversation = [HumanMessage("I live in Zanzibar. My wifi password is Sunshine42."), HumanMessage([block])]
    with SqliteOutbox(tmp_path / "outbox.db") as outbox:
        outbox.enqueue(KEY, dump_messages(conversation), now=0, timing=TIMING, max_jobs=1_000)
        waiting = _bytes_of(tmp_path)
        (claim,) = outbox.claim(now=100, lease_seconds=10)
        outbox.complete(claim, timing=TIMING)
        learned = _bytes_of(tmp_path)

    assert b"Zanzibar" in waiting
    assert not [word for word in (b"Sunshine42", b"4821", secret.encode()) if word in waiting]
    assert b"Zanzibar" not in learned


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
