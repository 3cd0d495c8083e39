"""The outbox on PostgreSQL: concurrency, lost connections and clock skew."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.background import Outbox, open_outbox
from memgraph.background.outbox import Claim, ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.sql_outbox import PostgresOutbox
from memgraph.errors import OutboxError
from memgraph.models import Scope

if TYPE_CHECKING:
    from postgres_server import PostgresServer

    from memgraph._sql import Transaction

KEY = ConversationKey(Scope("ada"), "t1")
TIMING = DebouncePolicy(debounce=5, max_wait=10)


@pytest.fixture
def outbox(postgres_url: str) -> Iterator[Outbox]:
    with open_outbox(postgres_url) as opened:
        yield opened


def enqueue(outbox: Outbox, messages: str = "[]", key: ConversationKey = KEY, *, now: float = 0) -> None:
    outbox.enqueue(key, messages, now=now, timing=TIMING, max_jobs=1_000)


def claim_one(outbox: Outbox, *, now: float = 100) -> Claim:
    (claimed,) = outbox.claim(now=now, lease_seconds=30)
    return claimed


def texts(claimed: Claim) -> list[str]:
    return [submission.messages for submission in claimed.submissions]


def test_name_contains_no_secret() -> None:
    outbox = open_outbox("postgresql://ada:secret@host:5433/db")

    assert (outbox.name, repr(outbox)) == ("postgresql://host:5433/db", "<PostgresOutbox postgresql://host:5433/db>")


def test_outbox_and_memories_share_a_database(postgres_url: str, postgres: PostgresServer, outbox: Outbox) -> None:
    from memgraph.storage import open_storage

    enqueue(outbox)
    with open_storage(postgres_url) as storage:
        storage.load(Scope("ada"))

    assert postgres.execute("SELECT part FROM memgraph_schema ORDER BY part") == [("memory",), ("outbox",)]


TABLES_OF_0_1 = """
    CREATE TABLE memgraph_schema (part text PRIMARY KEY, version integer NOT NULL);
    CREATE TABLE memgraph_job (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        thread_id text COLLATE "C" NOT NULL,
        aside boolean NOT NULL,
        first_at double precision NOT NULL,
        last_at double precision NOT NULL,
        retry_at double precision NOT NULL DEFAULT 0,
        due_at double precision NOT NULL,
        tries integer NOT NULL DEFAULT 0,
        error text NOT NULL DEFAULT '',
        UNIQUE (user_id, agent_name, thread_id, aside)
    );
    CREATE INDEX memgraph_job_due ON memgraph_job (aside, due_at);
    CREATE TABLE memgraph_submission (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        job_id bigint NOT NULL REFERENCES memgraph_job (id),
        at double precision NOT NULL,
        messages text NOT NULL
    );
    CREATE INDEX memgraph_submission_job ON memgraph_submission (job_id, number);
    CREATE TABLE memgraph_lease (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        holder text NOT NULL UNIQUE,
        until double precision NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    );
    CREATE TABLE memgraph_review (
        job_id bigint PRIMARY KEY REFERENCES memgraph_job (id) ON DELETE CASCADE,
        id text COLLATE "C" NOT NULL UNIQUE,
        at double precision NOT NULL,
        held text NOT NULL,
        decision text
    );
    INSERT INTO memgraph_schema VALUES ('outbox', 6);
    INSERT INTO memgraph_job (user_id, agent_name, thread_id, aside, first_at, last_at, due_at)
        VALUES ('ada', '', 't1', false, 0, 0, 5), ('bob', '', 't1', false, 0, 0, 'Infinity');
    INSERT INTO memgraph_submission (job_id, at, messages) VALUES (1, 0, 'said'), (2, 0, 'proposed');
    INSERT INTO memgraph_review VALUES (2, 'r1', 0, '{}', NULL)
"""


def test_tables_of_release_0_1_are_migrated(postgres: PostgresServer, outbox: Outbox) -> None:
    """Whichever storage claims a pending job first owns it."""
    postgres.execute(TABLES_OF_0_1)
    mine = outbox.for_storage("mine")

    enqueue(mine, "new")

    assert outbox.for_storage("yours").claim(now=100, lease_seconds=30, scope=Scope("ada")) == ()
    (claimed,) = mine.claim(now=100, lease_seconds=30, scope=Scope("ada"))
    assert texts(claimed) == ["said", "new"]


def test_a_job_that_an_earlier_release_held_for_a_review_is_due(postgres: PostgresServer, outbox: Outbox) -> None:
    postgres.execute(TABLES_OF_0_1)

    (claimed,) = outbox.claim(now=100, lease_seconds=30, scope=Scope("bob"))

    assert texts(claimed) == ["proposed"]


def test_any_error_text_can_be_stored(outbox: Outbox) -> None:
    """An error may quote a model's response."""
    enqueue(outbox)

    outbox.failed(claim_one(outbox), error="bad: \0 \ud83d 😀", retry_at=1)

    assert outbox.pending(now=0)[0].error == "bad: \ufffd ? 😀"


def work(url: str, who: int, completed: list[str]) -> None:
    """Run all steps of an outbox in a random order."""
    rng = random.Random(who)  # noqa: S311 - a fixed seed
    keys = [ConversationKey(Scope(f"u{number % 3}"), f"t{number % 2}") for number in range(6)]
    with PostgresOutbox(url.removeprefix("postgresql:"), max_connections=1) as outbox:
        for step in range(40):
            enqueue(outbox, f"{who}-{step}", rng.choice(keys))
            for claimed in outbox.claim(now=100, lease_seconds=30, limit=2):
                completed += finish(outbox, claimed, rng.random())
            if step % 5 == who % 5:
                outbox.retry(now=100)
                outbox.expedite(now=100)
            outbox.pending(now=100)


def finish(outbox: Outbox, claimed: Claim, number: float) -> list[str]:
    """End a lease in one of four ways, and return the messages of a completed job."""
    if number < 0.2:
        assert outbox.dead_letter(claimed, error="x", timing=DebouncePolicy(0, 0))
    elif number < 0.4:
        assert outbox.failed(claimed, error="x", retry_at=0)
    elif number < 0.5:
        outbox.release(claimed)
    else:
        assert outbox.complete(claimed, timing=DebouncePolicy(0, 0))
        return texts(claimed)
    return []


def test_concurrent_steps_lose_and_repeat_nothing(postgres_url: str, outbox: Outbox) -> None:
    """Nor is there a deadlock."""
    completed: list[str] = []

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda who: work(postgres_url, who, completed), range(6)))
    outbox.retry(now=100)
    while claims := outbox.claim(now=100, lease_seconds=30, limit=10):
        for claimed in claims:
            completed += finish(outbox, claimed, 1)

    assert sorted(completed) == sorted(f"{who}-{step}" for who in range(6) for step in range(40))


WORKER = """
import sys
from memgraph.background import open_outbox
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.sql_outbox import PostgresOutbox

with open_outbox(sys.argv[1]) as outbox:
    while claims := outbox.claim(now=100, lease_seconds=30, limit=2):
        for claim in claims:
            assert outbox.complete(claim, timing=DebouncePolicy(5, 10))
            print(*(entry.messages for entry in claim.submissions), sep="\\n")
"""


def test_processes_share_the_jobs(postgres_url: str, outbox: Outbox) -> None:
    for number in range(60):
        enqueue(outbox, str(number), ConversationKey(Scope(f"u{number}")))

    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, postgres_url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    done = [number for worker in workers for number in worker.communicate()[0].split()]

    assert sorted(done, key=int) == [str(number) for number in range(60)]
    assert outbox.pending(now=100) == ()


def test_server_restart_is_transparent(outbox: Outbox, postgres: PostgresServer) -> None:
    enqueue(outbox, "kept")
    claimed = claim_one(outbox)

    postgres.stop()
    postgres.start()

    enqueue(outbox, "more", now=100)
    assert outbox.complete(claimed, timing=TIMING)
    assert texts(claim_one(outbox, now=200)) == ["more"]


def test_unreachable_server_raises_and_loses_nothing(postgres: PostgresServer) -> None:
    with PostgresOutbox(postgres.url.removeprefix("postgresql:"), wait_seconds=0.2) as outbox:
        enqueue(outbox, "kept")
        postgres.stop()

        with pytest.raises(OutboxError, match=outbox.name):
            enqueue(outbox, "refused")

        postgres.start()
        assert [texts(claimed) for claimed in claim_with_retries(outbox)] == [["kept"]]


def claim_with_retries(outbox: Outbox) -> tuple[Claim, ...]:
    """Claim as a worker does, which retries while the server is away."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            return outbox.claim(now=100, lease_seconds=30)
        except OutboxError:
            time.sleep(0.05)
    pytest.fail("the outbox did not reconnect to the server")


class DisconnectingOutbox(PostgresOutbox):
    """An outbox that loses its connection in the middle of its first transaction."""

    disconnects = 1

    def _upsert_job(self, db: Transaction, *args: object) -> int:  # type: ignore[override]
        job_id = super()._upsert_job(db, *args)  # type: ignore[arg-type]
        if self.disconnects:
            self.disconnects -= 1
            db.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return job_id


def test_submission_is_retried_once_after_a_lost_connection(postgres: PostgresServer) -> None:
    with DisconnectingOutbox(postgres.url.removeprefix("postgresql:")) as outbox:
        enqueue(outbox, "kept")

        assert texts(claim_one(outbox)) == ["kept"]


def test_retried_submission_is_stored_once(postgres_url: str) -> None:
    with PostgresOutbox(postgres_url.removeprefix("postgresql:")) as outbox:
        enqueue(outbox, "kept")
        run = outbox._database.run

        def run_again(act: Callable[[Transaction], object], **options: Any) -> object:
            def retry(db: Transaction) -> object:
                db.is_retry = True
                return act(db)

            return run(retry, **options)

        outbox._database.run = run_again  # type: ignore[method-assign,assignment]

        enqueue(outbox, "kept")
        enqueue(outbox, "kept", now=1)

        assert [entry.at for entry in claim_one(outbox).submissions] == [0, 1]


def test_clock_skew_is_corrected(postgres_url: str, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its leases would expire before they start."""
    outbox.pending(now=0)
    real_time = time.time
    monkeypatch.setattr("memgraph._postgres.time.time", lambda: real_time() - 3_600)
    with open_outbox(postgres_url) as behind:
        enqueue(behind, now=0)
        claimed = claim_one(behind, now=100)

        assert claimed.submissions[0].at == pytest.approx(0, abs=5)
        assert behind.pending(now=100)[0].due_at == pytest.approx(5, abs=5)
        assert outbox.pending(now=3_700)[0].due_at == pytest.approx(3_605, abs=5)
        assert outbox.claim(now=3_720, lease_seconds=30) == ()
        assert outbox.claim(now=3_740, lease_seconds=30) != ()
        assert behind.next_due(now=140) == pytest.approx(170, abs=5)
