"""The outbox on PostgreSQL: many at once, and a server that comes and goes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from memgraph.background import open_outbox
from memgraph.background.outbox import Claim, ConversationKey
from memgraph.background.postgres_outbox import PostgresOutbox
from memgraph.background.postgres_sql import MIGRATIONS
from memgraph.background.schedule import DebouncePolicy
from memgraph.errors import OutboxError
from memgraph.models import Scope
from memgraph.storage.postgres_migrations import migrate
from memgraph.storage.postgres_pool import parse_location

if TYPE_CHECKING:
    from postgres_server import PostgresServer

    from memgraph.background import Outbox
    from memgraph.storage.postgres_pool import Connection

KEY = ConversationKey(Scope("ada"), "t1")
TIMING = DebouncePolicy(debounce=5, max_wait=10)


@pytest.fixture
def outbox(postgres_url: str) -> Iterator[Outbox]:
    with open_outbox(postgres_url) as opened:
        yield opened


def put(outbox: Outbox, messages: str = "[]", key: ConversationKey = KEY, *, now: float = 0) -> None:
    outbox.enqueue(key, messages, now=now, timing=TIMING, max_jobs=1_000)


def claim_one(outbox: Outbox, *, now: float = 100) -> Claim:
    (claimed,) = outbox.claim(now=now, lease_seconds=30)
    return claimed


def texts(claimed: Claim) -> list[str]:
    return [submission.messages for submission in claimed.submissions]


def test_the_name_tells_no_secret() -> None:
    outbox = open_outbox("postgresql://ada:secret@host:5433/db")

    assert (outbox.name, repr(outbox)) == ("postgresql://host:5433/db", "<PostgresOutbox postgresql://host:5433/db>")


def test_it_shares_a_database_with_memories(postgres_url: str, postgres: PostgresServer, outbox: Outbox) -> None:
    from memgraph.storage import open_storage

    put(outbox)
    with open_storage(postgres_url) as storage:
        storage.load(Scope("ada"))

    assert postgres.execute("SELECT part FROM memgraph_schema ORDER BY part") == [("memory",), ("outbox",)]


def test_tables_of_before_there_was_review_are_brought_up_to_date(postgres_url: str, outbox: Outbox) -> None:
    """What waited when memgraph was upgraded waits on."""
    with psycopg.connect(**parse_location(postgres_url.removeprefix("postgresql:")), autocommit=True) as db:
        migrate(db, "outbox", MIGRATIONS[:5])
        db.execute(
            "INSERT INTO memgraph_job (user_id, agent_name, thread_id, aside, first_at, last_at, due_at)"
            " VALUES ('ada', '', 't1', false, 0, 0, 5)"
        )
        db.execute("INSERT INTO memgraph_submission (job_id, at, messages) VALUES (1, 0, 'said')")

    claimed = claim_one(outbox)

    assert texts(claimed) == ["said"]
    assert outbox.hold_for_review(claimed, "proposed", now=100)


def test_an_error_of_any_kind_can_be_told(outbox: Outbox) -> None:
    """It may quote what a model said."""
    put(outbox)

    outbox.failed(claim_one(outbox), error="bad: \0 \ud83d 😀", retry_at=1)

    assert outbox.pending(now=0)[0].error == "bad: \ufffd ? 😀"


def work(url: str, who: int, finished: list[str]) -> None:
    """Do all that can be done to an outbox, in an order drawn by lot."""
    dice = random.Random(who)  # noqa: S311 - the same at each run
    keys = [ConversationKey(Scope(f"u{number % 3}"), f"t{number % 2}") for number in range(6)]
    with PostgresOutbox(url.removeprefix("postgresql:"), max_connections=1) as outbox:
        for step in range(40):
            put(outbox, f"{who}-{step}", dice.choice(keys))
            for claimed in outbox.claim(now=100, lease_seconds=30, limit=2):
                finished += end(outbox, claimed, dice.random())
            if step % 5 == who % 5:
                outbox.retry(now=100)
                outbox.expedite(now=100)
                decide_all(outbox)
            outbox.pending(now=100)


def decide_all(outbox: Outbox) -> None:
    for held in outbox.in_review()[1:]:
        outbox.decide(held.id, "accept", now=100)
    outbox.cancel_review(now=100, scope=Scope("u1"))


def end(outbox: Outbox, claimed: Claim, drawn: float) -> list[str]:
    """End a lease in one of the five ways, and return what was learned from."""
    if drawn < 0.2:
        assert outbox.dead_letter(claimed, error="x", timing=DebouncePolicy(0, 0))
    elif drawn < 0.4:
        assert outbox.failed(claimed, error="x", retry_at=0)
    elif drawn < 0.5:
        outbox.release(claimed)
    elif drawn < 0.7:
        assert outbox.hold_for_review(claimed, "proposed", now=100)
    else:
        assert outbox.complete(claimed, timing=DebouncePolicy(0, 0))
        return texts(claimed)
    return []


def test_whatever_many_do_at_once_nothing_is_lost_or_done_twice(postgres_url: str, outbox: Outbox) -> None:
    """Nor does anybody wait in a circle."""
    finished: list[str] = []

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda who: work(postgres_url, who, finished), range(6)))
    outbox.retry(now=100)
    outbox.cancel_review(now=100)
    while claims := outbox.claim(now=100, lease_seconds=30, limit=10):
        for claimed in claims:
            finished += end(outbox, claimed, 1)

    assert sorted(finished) == sorted(f"{who}-{step}" for who in range(6) for step in range(40))


WORKER = """
import sys
from memgraph.background import open_outbox
from memgraph.background.schedule import DebouncePolicy

with open_outbox(sys.argv[1]) as outbox:
    while claims := outbox.claim(now=100, lease_seconds=30, limit=2):
        for claim in claims:
            assert outbox.complete(claim, timing=DebouncePolicy(5, 10))
            print(*(entry.messages for entry in claim.submissions), sep="\\n")
"""


def test_processes_share_the_work(postgres_url: str, outbox: Outbox) -> None:
    for number in range(60):
        put(outbox, str(number), ConversationKey(Scope(f"u{number}")))

    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, postgres_url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    done = [number for worker in workers for number in worker.communicate()[0].split()]

    assert sorted(done, key=int) == [str(number) for number in range(60)]
    assert outbox.pending(now=100) == ()


def test_a_restart_in_between_goes_unnoticed(outbox: Outbox, postgres: PostgresServer) -> None:
    put(outbox, "kept")
    claimed = claim_one(outbox)

    postgres.stop()
    postgres.start()

    put(outbox, "more", now=100)
    assert outbox.complete(claimed, timing=TIMING)
    assert texts(claim_one(outbox, now=200)) == ["more"]


def test_a_server_that_is_away_is_an_error_and_nothing_is_lost(postgres: PostgresServer) -> None:
    with PostgresOutbox(postgres.url.removeprefix("postgresql:"), wait_seconds=0.2) as outbox:
        put(outbox, "kept")
        postgres.stop()

        with pytest.raises(OutboxError, match=outbox.name):
            put(outbox, "refused")

        postgres.start()
        assert [texts(claimed) for claimed in claimed_later(outbox)] == [["kept"]]


def claimed_later(outbox: Outbox) -> tuple[Claim, ...]:
    """What a worker does that goes on trying."""
    for _ in range(100):
        try:
            return outbox.claim(now=100, lease_seconds=30)
        except OutboxError:
            time.sleep(0.05)
    pytest.fail("the server is back, and the outbox does not see it")


class Cut(PostgresOutbox):
    """Its connection is cut right after its first step, before anybody hears of it."""

    cuts = 1

    def _upsert_job(self, db: Connection, *given: object) -> int:  # type: ignore[override]
        job_id = super()._upsert_job(db, *given)  # type: ignore[arg-type]
        if self.cuts:
            self.cuts -= 1
            db.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return job_id


def test_a_submission_that_was_cut_off_is_there_once(postgres: PostgresServer) -> None:
    with Cut(postgres.url.removeprefix("postgresql:")) as outbox:
        put(outbox, "kept")

        assert texts(claim_one(outbox)) == ["kept"]


def test_a_submission_whose_answer_was_lost_is_there_once(postgres_url: str) -> None:
    with PostgresOutbox(postgres_url.removeprefix("postgresql:")) as outbox:
        put(outbox, "kept")
        run = outbox._database.run
        outbox._database.run = lambda act: run(lambda db, _: act(db, True))  # type: ignore[method-assign]  # noqa: FBT003

        put(outbox, "kept")
        put(outbox, "kept", now=1)

        assert [entry.at for entry in claim_one(outbox).submissions] == [0, 1]


def test_a_machine_whose_clock_is_an_hour_behind_agrees_with_the_others(
    postgres_url: str, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its leases would end before they began."""
    outbox.pending(now=0)
    right = time.time
    monkeypatch.setattr("memgraph.storage.postgres_pool.time.time", lambda: right() - 3_600)
    with open_outbox(postgres_url) as behind:
        put(behind, now=0)
        claimed = claim_one(behind, now=100)

        assert claimed.submissions[0].at == pytest.approx(0, abs=5)
        assert behind.pending(now=100)[0].due_at == pytest.approx(5, abs=5)
        assert outbox.pending(now=3_700)[0].due_at == pytest.approx(3_605, abs=5)
        assert outbox.claim(now=3_720, lease_seconds=30) == ()
        assert outbox.claim(now=3_740, lease_seconds=30) != ()
        assert behind.next_due(now=140) == pytest.approx(170, abs=5)
