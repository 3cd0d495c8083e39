"""The outbox in a SQL database: a SQLite file, PostgreSQL, or RAM. One set of statements for all.

Transactions lock rows in one order, so that they cannot deadlock: pending job, dead letter, lease.
The column `aside` marks dead letters, `tries` counts failed attempts, `holder` is the id of a lease.
"""

# ruff: noqa: S608 - statements are assembled from constants of this module

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memgraph._sql import BUSY_TIMEOUT_SECONDS, Database, Migration, Schema, SqliteDatabase, Transaction
from memgraph.background.outbox import WAITING, Claim, ConversationKey, Job, Outbox, PendingSubmissions, Submission
from memgraph.background.schedule import CLOCK_TOLERANCE_SECONDS, MAX_DELAY_SECONDS, DebouncePolicy
from memgraph.errors import ConfigError, OutboxError
from memgraph.models import Scope
from memgraph.storage.paths import absolute, default_folder, sqlite_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from memgraph.storage.traces import TraceCount

T = TypeVar("T")
Params = dict[str, Any]

FILE = "outbox.db"
SUBMIT_SECONDS = 2.0
"""A submission to PostgreSQL that takes longer fails: an agent waits for it."""

# -- tables ---------------------------------------------------------------------------------------

# '' is no agent or no thread: NULLs are never equal, so a unique index ignores them
_JOB = """(
        id {id},
        user_id {text} NOT NULL,
        agent_name {text} NOT NULL,
        thread_id {text} NOT NULL,
        aside boolean NOT NULL DEFAULT FALSE,
        first_at double precision NOT NULL,
        last_at double precision NOT NULL,
        retry_at double precision NOT NULL DEFAULT 0,
        due_at double precision NOT NULL,
        tries integer NOT NULL DEFAULT 0,
        error text NOT NULL DEFAULT '',
        storage {text} NOT NULL DEFAULT '',
        UNIQUE (user_id, agent_name, thread_id, aside, storage)
    )"""
_SUBMISSION = """(
        number {{id}},
        job_id bigint NOT NULL REFERENCES {{p}}{job} (id) ON DELETE CASCADE,
        at double precision NOT NULL,
        messages text NOT NULL
    )"""
_LEASE = """(
        storage {text} NOT NULL DEFAULT '',
        user_id {text} NOT NULL,
        agent_name {text} NOT NULL,
        holder text NOT NULL UNIQUE,
        until double precision NOT NULL,
        PRIMARY KEY (user_id, agent_name, storage)
    )"""
_INDEXES = """
    CREATE INDEX {p}job_due ON {p}job (aside, due_at);
    CREATE INDEX {p}submission_job ON {p}submission (job_id, number)
"""
# SQLite cannot change a UNIQUE constraint. The children are copied before their parent is dropped, which would
# delete their rows; a renamed table is renamed in REFERENCES and in sqlite_sequence, too.
_REBUILD = f"""
    CREATE TABLE new_job {_JOB};
    INSERT INTO new_job
        SELECT id, user_id, agent_name, thread_id, aside, first_at, last_at, retry_at, due_at, tries, error, ''
        FROM job;
    CREATE TABLE new_submission {_SUBMISSION.format(job="new_job")};
    INSERT INTO new_submission SELECT number, job_id, at, messages FROM submission;
    DELETE FROM sqlite_sequence WHERE name = 'new_submission';
    INSERT INTO sqlite_sequence (name, seq) SELECT 'new_submission', seq FROM sqlite_sequence WHERE name = 'submission';
    CREATE TABLE new_lease {_LEASE};
    INSERT INTO new_lease SELECT '', user_id, agent_name, holder, until FROM lease;
    DROP TABLE submission;
    DROP TABLE lease;
    DROP TABLE job;
    ALTER TABLE new_job RENAME TO job;
    ALTER TABLE new_submission RENAME TO submission;
    ALTER TABLE new_lease RENAME TO lease;
    {_INDEXES}
"""
SCHEMA = Schema(
    "outbox",
    (
        Migration(  # until 0.2, a proposal was held here; now the update stores it in the document
            "{p}review.id",
            """
            UPDATE {p}job SET due_at = 0, retry_at = 0 WHERE due_at > 1e300;
            DROP TABLE {p}review
            """,
            removes=True,
        ),
        Migration(
            "{p}job.id",
            f"""
            CREATE TABLE {{p}}job {_JOB};
            CREATE TABLE {{p}}submission {_SUBMISSION.format(job="job")};
            CREATE TABLE {{p}}lease {_LEASE};
            {_INDEXES}
            """,
        ),
        Migration(
            "{p}job.storage",  # since 0.2
            """
            ALTER TABLE {p}job
                ADD COLUMN storage {text} NOT NULL DEFAULT '',
                DROP CONSTRAINT memgraph_job_user_id_agent_name_thread_id_aside_key,
                ADD UNIQUE (user_id, agent_name, thread_id, aside, storage);
            ALTER TABLE {p}lease
                ADD COLUMN storage {text} NOT NULL DEFAULT '',
                DROP CONSTRAINT memgraph_lease_pkey,
                ADD PRIMARY KEY (user_id, agent_name, storage)
            """,
            sqlite=_REBUILD,
        ),
        Migration(
            "{p}submission.forgotten", "ALTER TABLE {p}submission ADD COLUMN forgotten boolean NOT NULL DEFAULT FALSE"
        ),
        Migration("{p}lease.since", "ALTER TABLE {p}lease ADD COLUMN since double precision NOT NULL DEFAULT 0"),
        Migration(
            "{p}deletion.at",
            """
            CREATE TABLE {p}deletion (
                storage {text} NOT NULL,
                user_id {text} NOT NULL,
                agent_name {text} NOT NULL,
                at text NOT NULL,
                PRIMARY KEY (user_id, agent_name, storage)
            )
            """,
        ),
    ),
    sqlite_version=5,
    postgres_version=12,
)

# -- conditions -----------------------------------------------------------------------------------

_OF_KEY = "user_id = :user_id AND agent_name = :agent_name AND thread_id = :thread_id"
_IS_OURS = "(CAST(:storage AS TEXT) IS NULL OR storage IN (:storage, ''))"  # see Outbox.storage
_MATCHES_SCOPE = f"""
    {_IS_OURS} AND (CAST(:user_id AS TEXT) IS NULL OR (user_id = :user_id AND agent_name = :agent_name))
    AND (CAST(:thread_id AS TEXT) IS NULL OR thread_id = :thread_id)
"""
_IS_HELD = f"until > :now AND since <= :now + {CLOCK_TOLERANCE_SECONDS}"
_IS_IMPOSSIBLE = f"due_at > :now + {MAX_DELAY_SECONDS}"  # if the clock has gone back
_UNDER_LEASE = f"""
    EXISTS (
        SELECT 1 FROM {{p}}lease AS lease
        WHERE lease.user_id = job.user_id AND lease.agent_name = job.agent_name
        AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
    )
"""
_IS_USERS = f"user_id = :user_id AND {_IS_OURS}"
_JOB_OF_SUBMISSION = "{p}submission AS submission JOIN {p}job AS job ON job.id = job_id"
_JOB_FIELDS = """
    job.id, user_id, agent_name, thread_id, count(*), min(number), max(number), first_at, last_at, due_at, tries, error,
    storage
"""

# -- jobs -----------------------------------------------------------------------------------------

LOCK_JOB = f"SELECT id FROM {{p}}job WHERE {_OF_KEY} AND aside = :aside AND storage = :storage {{lock}}"
FIND_JOB = f"""
    SELECT id FROM {{p}}job WHERE {_OF_KEY} AND aside = FALSE AND storage IN (:storage, '')
    ORDER BY storage DESC LIMIT 1
"""
# changes nothing if the storage has a job of its own in that conversation: then the old one stays without a name
ADOPT_JOB = f"""
    UPDATE {{p}}job SET storage = :storage
    WHERE {_OF_KEY} AND aside = FALSE AND storage = '' AND NOT EXISTS (
        SELECT 1 FROM {{p}}job WHERE {_OF_KEY} AND aside = FALSE AND storage = :storage
    )
"""
LOCK_CLAIMED = "SELECT 1 FROM {p}job WHERE id = :id {lock}"
COUNT_PENDING = """
    SELECT count(*), count(*) FILTER (WHERE user_id = :user_id) FROM {p}job
    WHERE aside = FALSE AND thread_id <> :waiting
"""
# locks the job, whether it was there or not
ENSURE_JOB = """
    INSERT INTO {p}job (user_id, agent_name, thread_id, storage, aside, first_at, last_at, due_at)
    VALUES (:user_id, :agent_name, :thread_id, :storage, :aside, :at, :at, :due)
    ON CONFLICT (user_id, agent_name, thread_id, aside, storage) DO UPDATE SET storage = excluded.storage
    RETURNING id, first_at, due_at, retry_at
"""
UPDATE_DUE = "UPDATE {p}job SET last_at = :at, due_at = :due WHERE id = :id"
RESET_JOB = """
    UPDATE {p}job SET first_at = :first, last_at = :last, due_at = :due, retry_at = 0, tries = :tries, error = :error
    WHERE id = :id
"""
MARK_FAILED = "UPDATE {p}job SET tries = tries + 1, error = :error, retry_at = :at, due_at = :at WHERE id = :id"
DELETE_JOB = "DELETE FROM {p}job WHERE id = :id"
SELECT_DEAD_LETTERS = f"""
    SELECT user_id, agent_name, thread_id, storage FROM {{p}}job WHERE aside = TRUE AND {_MATCHES_SCOPE} ORDER BY id
"""
EXPEDITE = f"""
    UPDATE {{p}}job SET due_at = :now
    WHERE id IN (
        SELECT id FROM {{p}}job
        WHERE aside = FALSE AND due_at > :now AND {_MATCHES_SCOPE} ORDER BY id {{lock}}
    )
"""
LIST_JOBS = f"""
    SELECT {_JOB_FIELDS}, aside = FALSE AND {_UNDER_LEASE} FROM {_JOB_OF_SUBMISSION}
    WHERE aside = :aside AND {_IS_OURS} GROUP BY job.id ORDER BY due_at, job.id
"""
DELETE_USER_JOBS = f"""
    DELETE FROM {{p}}job WHERE id IN (SELECT id FROM {{p}}job WHERE {_IS_USERS} ORDER BY aside, id {{lock}})
"""
SELECT_USER_MESSAGES = f"SELECT messages FROM {_JOB_OF_SUBMISSION} WHERE {_IS_USERS} ORDER BY number"
DELETE_USER_LEASES = f"DELETE FROM {{p}}lease WHERE {_IS_USERS}"

# -- submissions ----------------------------------------------------------------------------------

INSERT_SUBMISSION = "INSERT INTO {p}submission (job_id, at, messages) VALUES (:id, :at, :messages)"
FIND_SUBMISSION = "SELECT 1 FROM {p}submission WHERE job_id = :id AND at = :at AND messages = :messages"
SELECT_SUBMISSIONS = "SELECT number, at, messages, forgotten FROM {p}submission WHERE job_id = :id ORDER BY number"
# forgotten only if all of them are, since those that are not were merged
REPLACE_SUBMISSION = """
    UPDATE {p}submission SET at = :at, messages = :messages, forgotten = NOT EXISTS (
        SELECT 1 FROM {p}submission WHERE job_id = :id AND number IN :numbers AND forgotten = FALSE
    )
    WHERE job_id = :id AND number = :number
"""
DELETE_CLAIMED = "DELETE FROM {p}submission WHERE job_id = :id AND number IN :numbers"
MOVE_CLAIMED = "UPDATE {p}submission SET job_id = :dead_letter_id WHERE job_id = :id AND number IN :numbers"
MOVE_SUBMISSIONS = "UPDATE {p}submission SET job_id = :to WHERE job_id = :id"
SELECT_SPAN = "SELECT min(at), max(at) FROM {p}submission WHERE job_id = :id"

# -- deletions ------------------------------------------------------------------------------------

LOCK_JOBS = f"SELECT 1 FROM {{p}}job WHERE {_MATCHES_SCOPE} ORDER BY aside, id {{lock}}"
FORGET_SUBMISSIONS = f"""
    UPDATE {{p}}submission SET forgotten = TRUE
    WHERE job_id IN (SELECT id FROM {{p}}job WHERE {_MATCHES_SCOPE}) RETURNING number
"""
INSERT_DELETION = """
    INSERT INTO {p}deletion (storage, user_id, agent_name, at)
    VALUES (coalesce(CAST(:storage AS TEXT), ''), :user_id, :agent_name, :at)
    ON CONFLICT (user_id, agent_name, storage) DO UPDATE SET at = excluded.at
"""
COUNT_JOBS = f"SELECT count(*) FROM {{p}}job WHERE {_MATCHES_SCOPE}"
SELECT_DELETION = """
    SELECT at FROM {p}deletion WHERE user_id = :user_id AND agent_name = :agent_name AND storage = :storage
"""

# -- leases ---------------------------------------------------------------------------------------

# a job that another worker is claiming is skipped, not waited for
SELECT_DUE = f"""
    SELECT id, user_id, agent_name, thread_id, tries, storage FROM {{p}}job AS job
    WHERE aside = FALSE AND (due_at <= :now OR {_IS_IMPOSSIBLE}) AND {_MATCHES_SCOPE} AND NOT {_UNDER_LEASE}
    ORDER BY due_at, id LIMIT 1 {{skip_locked}}
"""
# returns nothing if another job of this scope was claimed since SELECT_DUE
TAKE_LEASE = f"""
    INSERT INTO {{p}}lease AS lease (user_id, agent_name, storage, holder, since, until)
    VALUES (:user_id, :agent_name, :storage, :holder, :now, :until)
    ON CONFLICT (user_id, agent_name, storage)
    DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until
    WHERE lease.until <= :now OR lease.since > :now + {CLOCK_TOLERANCE_SECONDS}
    RETURNING holder
"""
LOCK_LEASE = "SELECT 1 FROM {p}lease WHERE holder = :lease {lock}"
RENEW_LEASES = "UPDATE {p}lease SET since = :now, until = :until WHERE holder IN :holders RETURNING holder"
END_LEASE = "DELETE FROM {p}lease WHERE holder = :lease"
NEXT_DUE = f"""
    SELECT min(due) FROM (
        SELECT min(due_at) AS due FROM {{p}}job AS job WHERE aside = FALSE AND {_IS_OURS} AND NOT {_UNDER_LEASE}
        UNION ALL
        SELECT CAST(:now AS double precision) AS due WHERE EXISTS (
            SELECT 1 FROM {{p}}job AS job
            WHERE aside = FALSE AND {_IS_IMPOSSIBLE} AND {_IS_OURS} AND NOT {_UNDER_LEASE}
        )
        UNION ALL
        SELECT min(CASE WHEN due_at > until THEN due_at ELSE until END)
        FROM {{p}}lease AS lease JOIN {{p}}job AS job USING (user_id, agent_name)
        WHERE aside = FALSE AND (CAST(:storage AS TEXT) IS NULL OR job.storage IN (:storage, ''))
        AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
    ) AS next
"""


class SqlOutbox(Outbox):
    """Each step is a transaction and locks the job that it changes; workers that claim jobs skip locked ones.

    Times are stored in the server's time: if the local clock is off by a second or more, they are converted.
    """

    _database: Database
    _submit_seconds: float | None = None

    @property
    def name(self) -> str:
        return self._database.name

    # -- submitting --

    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        def put(db: Transaction) -> None:
            at = self._to_server_time(now)
            job_key = _key_params(key, self.storage or "")
            _adopt_job(db, job_key)
            if db.row(LOCK_JOB, {**job_key, "aside": False}) is None:
                pending, of_user = db.one(COUNT_PENDING, {"user_id": key.scope.user_id, "waiting": WAITING})
                self.check_capacity(pending, of_user, max_jobs)
            job_id, first_at, due_at, retry_at = _ensure_job(db, job_key, at=at, due=timing.due(at, at))
            due = timing.next_due(first_at, at, due_at, retry_at)
            db.execute(UPDATE_DUE, {"id": job_id, "at": at, "due": due})
            row = {"id": job_id, "at": at, "messages": messages}
            if not (db.is_retry and db.row(FIND_SUBMISSION, row)):
                db.execute(INSERT_SUBMISSION, row)

        self._database.run(put, seconds=self._submit_seconds)

    # -- running --

    def claim(
        self,
        *,
        now: float,
        lease_seconds: float,
        limit: int = 1,
        scope: Scope | None = None,
        thread_id: str | None = None,
    ) -> tuple[Claim, ...]:
        claims, params = list[Claim](), _scope_params(self.storage, scope, thread_id)
        while len(claims) < limit:
            # one per transaction: while it holds an uncommitted lease it must not wait for another row
            found = self._quick(lambda db: _claim_next(db, self._to_server_time(now), lease_seconds, params))
            if found is None:
                break
            claims.append(replace(found, submissions=self._with_local_times(found.submissions)))
        return tuple(claims)

    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        def renew(db: Transaction) -> frozenset[str]:
            at = self._to_server_time(now)
            row = {"holders": list(leases), "now": at, "until": at + lease_seconds}
            return frozenset(holder for (holder,) in db.rows(RENEW_LEASES, row))

        return self._quick(renew)

    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        first, *others = claim.submissions
        merged = Submission(first.number, claim.submissions[-1].at, messages)

        def rewrite(db: Transaction) -> Claim | None:
            db.execute(LOCK_CLAIMED, {"id": claim.job_id})
            if db.row(LOCK_LEASE, {"lease": claim.lease_id}) is None:
                return None
            row = {"number": merged.number, "at": self._to_server_time(merged.at), "messages": messages}
            db.execute(REPLACE_SUBMISSION, {**_claim_params(claim), **row})
            db.execute(DELETE_CLAIMED, {"id": claim.job_id, "numbers": [each.number for each in others]})
            return replace(claim, submissions=(merged,))

        return self._quick(rewrite)

    def complete(self, claim: Claim, *, timing: DebouncePolicy, deletion: str = "") -> bool:
        is_idle = False

        def end(db: Transaction) -> None:
            nonlocal is_idle
            db.execute(DELETE_CLAIMED, _claim_params(claim))
            _update_job(db, claim.job_id, timing.due)
            scope = _scope_params(self.storage, claim.key.scope)
            if deletion not in {"", claim.deletion} and db.row(COUNT_JOBS, scope) == (0,):
                db.execute(INSERT_DELETION, {**scope, "at": deletion})
            if self.file:
                is_idle = db.one(COUNT_PENDING, {"user_id": "", "waiting": WAITING})[0] == 0

        was_held = self._end(claim, end)
        if is_idle:
            self._database.truncate_log()
        return was_held

    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        row = {"id": claim.job_id, "error": _storable(error)}
        return self._end(claim, lambda db: db.execute(MARK_FAILED, {**row, "at": self._to_server_time(retry_at)}))

    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        def end(db: Transaction) -> None:
            at, key = self._to_server_time(claim.submissions[0].at), _key_params(claim.key, claim.storage)
            job_id, *_ = _ensure_job(db, key, at=at, due=at, aside=True)
            db.execute(MOVE_CLAIMED, {**_claim_params(claim), "dead_letter_id": job_id})
            _update_job(db, job_id, min, tries=claim.attempts + 1, error=_storable(error))
            _update_job(db, claim.job_id, timing.due)

        return self._end(claim, end)

    def release(self, claim: Claim) -> None:
        self._quick(lambda db: db.execute(END_LEASE, {"lease": claim.lease_id}))

    # -- inspecting and changing jobs --

    def may_have_jobs(self) -> bool:
        return self._database.exists()

    def next_due(self, *, now: float) -> float | None:
        row = {"storage": self.storage}
        found = self._database.read(None, lambda db: db.row(NEXT_DUE, {**row, "now": self._to_server_time(now)}))
        due = found[0] if found else None
        return None if due is None else self._to_local_time(due)

    def pending(self, *, now: float) -> tuple[Job, ...]:
        return self._list(aside=False, now=now)

    def submissions(self, key: ConversationKey) -> PendingSubmissions:
        def select(db: Transaction) -> PendingSubmissions:
            params = _key_params(key, self.storage or "")
            found = db.row(FIND_JOB, params)
            return PendingSubmissions(_submissions_of(db, found[0]) if found else (), _deletion_of(db, params))

        found = self._database.read(PendingSubmissions((), ""), select)
        return found._replace(submissions=self._with_local_times(found.submissions))

    def dead_letters(self) -> tuple[Job, ...]:
        return self._list(aside=True, now=0)

    def expedite(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> None:
        params = _scope_params(self.storage, scope, thread_id)
        self._quick(lambda db: db.execute(EXPEDITE, {"now": self._to_server_time(now), **params}))

    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        rows = self._database.read(
            [], lambda db: db.rows(SELECT_DEAD_LETTERS, _scope_params(self.storage, scope, thread_id))
        )
        # one per transaction: locking several jobs in arbitrary order could deadlock
        keys = [_key_params(_read_key(*key), storage) for *key, storage in rows]
        return sum(self._quick(lambda db, key=key: _requeue(db, key, self._to_server_time(now))) for key in keys)

    def record_deletion(self, scope: Scope, deletion: str) -> int:
        params = _scope_params(self.storage, scope)

        def record(db: Transaction) -> int:
            db.execute(LOCK_JOBS, params)
            db.execute(INSERT_DELETION, {**params, "at": deletion})
            return max((number for (number,) in db.rows(FORGET_SUBMISSIONS, params)), default=0)

        return self._database.run(record)

    def texts_of(self, user_id: str) -> tuple[str, ...]:
        row = {"user_id": user_id, "storage": self.storage}

        return self._database.read((), lambda db: tuple(text for (text,) in db.rows(SELECT_USER_MESSAGES, row)))

    def delete_user(self, user_id: str) -> None:
        row = {"user_id": user_id, "storage": self.storage}

        def delete(db: Transaction) -> None:
            db.execute(DELETE_USER_JOBS, row)
            db.execute(DELETE_USER_LEASES, row)

        self._database.run(delete)
        self._database.truncate_log()

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        return self._database.find_bytes(user_id, fragments)

    def close(self) -> None:
        self._database.close()

    # -- transactions --

    def _quick(self, act: Callable[[Transaction], T]) -> T:
        """Run *act* without waiting for the disk."""
        return self._database.run(act, durable=False)

    def _end(self, claim: Claim, act: Callable[[Transaction], object]) -> bool:
        """End the lease of *claim* and run *act*; no effect if the lease was lost."""

        def end(db: Transaction) -> bool:
            db.execute(LOCK_CLAIMED, {"id": claim.job_id})
            was_held = db.execute(END_LEASE, {"lease": claim.lease_id}).rowcount > 0
            if was_held:
                act(db)
            return was_held

        return self._quick(end)

    def _list(self, *, aside: bool, now: float) -> tuple[Job, ...]:
        row = {"aside": aside, "storage": self.storage}
        rows = self._database.read([], lambda db: db.rows(LIST_JOBS, {**row, "now": self._to_server_time(now)}))
        return tuple(map(self._read_job, rows))

    # -- times --

    def _to_server_time(self, at: float) -> float:
        """Convert a local time to the server's. The skew is measured by the first step."""
        return at + self._database.skew()

    def _to_local_time(self, at: float) -> float:
        return at - self._database.skew()

    def _read_job(self, row: Sequence[Any]) -> Job:
        job_id, user_id, agent_name, thread_id, submissions, first, last, *times, tries, error, storage, running = row
        key = _read_key(user_id, agent_name, thread_id)
        first_at, last_at, due_at = map(self._to_local_time, times)
        return Job(
            job_id, key, submissions, first, last, first_at, last_at, due_at, tries, error, bool(running), storage
        )

    def _with_local_times(self, submissions: Sequence[Submission]) -> tuple[Submission, ...]:
        return tuple(replace(each, at=self._to_local_time(each.at)) for each in submissions)


class SqliteOutbox(SqlOutbox):
    """One file in WAL mode, shared by any number of processes on one machine.

    A submission is on disk before `enqueue` returns. What was learned is overwritten in the file, and in its
    write-ahead log as soon as nothing is pending.

    The other steps do not wait for the disk. They reach it in order, together with the next submission, and a power cut
    that undoes the last of them does no more harm than a crash: a completed job runs again, and finds nothing new.

    Args:
        path: The file. None or "" is `outbox.db` in the platform's folder for user data.
        busy_timeout: Seconds to wait for other processes.
    """

    def __init__(self, path: str | Path | None = None, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._path = self.file = file = absolute(path or default_folder() / FILE)
        self._database = SqliteDatabase(file, SCHEMA, OutboxError, busy_timeout=busy_timeout)

    @property
    def name(self) -> str:
        return f"sqlite:{self._path}"

    @classmethod
    def from_url(cls, location: str) -> Self:
        return cls(sqlite_path(location, "an outbox"))


class InMemoryOutbox(SqlOutbox):
    """The same in RAM, lost with the process: for tests, and for applications that want nothing on disk."""

    def __init__(self) -> None:
        self._database = SqliteDatabase(None, SCHEMA, OutboxError, name=f"memory:{secrets.token_hex(4)}")

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name: each outbox that is opened is a separate one")
        return cls()


class PostgresOutbox(SqlOutbox):
    """Tables next to those of `postgresql:` memories, in the same database or another one, for several machines.

    Args:
        location: The part after `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
        wait_seconds: Limit of each step; also how long to wait while the server is down or all connections are in use.
            A submission waits for 2 s at most.
        max_connections: Maximum per process.
    """

    def __init__(self, location: str = "", *, wait_seconds: float | None = None, max_connections: int = 4) -> None:
        from memgraph._postgres import WAIT_SECONDS, PostgresDatabase

        seconds = WAIT_SECONDS if wait_seconds is None else wait_seconds
        self._submit_seconds = min(seconds, SUBMIT_SECONDS)
        self._database = PostgresDatabase(
            location, SCHEMA, OutboxError, wait_seconds=seconds, max_connections=max_connections
        )


# -- steps of a transaction -----------------------------------------------------------------------


def _adopt_job(db: Transaction, key: Params) -> bool:
    """Let the pending job of a conversation, if it names no storage, belong to the one of *key*; return if it did."""
    return bool(key["storage"]) and db.execute(ADOPT_JOB, key).rowcount > 0


def _ensure_job(db: Transaction, key: Params, *, at: float, due: float, aside: bool = False) -> tuple[Any, ...]:
    """Lock the job of *key*, inserted if it is missing; return its id, and when it began, is due and retried."""
    return db.one(ENSURE_JOB, {**key, "aside": aside, "at": at, "due": due})


def _claim_next(db: Transaction, now: float, lease_seconds: float, params: Params) -> Claim | None:
    """Claim the next due job that matches *params*, see `_scope_params`."""
    while True:
        row = {**params, "now": now}
        found = db.row(SELECT_DUE, row)
        if found is None:
            return None
        job_id, *owner, tries, storage = found
        key = _read_key(*owner)
        if not storage and params["storage"]:
            storage = params["storage"] if _adopt_job(db, _key_params(key, params["storage"])) else ""
        of_job, lease = _key_params(key, storage), secrets.token_hex(16)
        if db.row(TAKE_LEASE, {**of_job, "holder": lease, "now": now, "until": now + lease_seconds}):
            submissions, deletion = _submissions_of(db, job_id), _deletion_of(db, of_job)
            return Claim(job_id, key, lease, tries, submissions, storage, deletion)


def _submissions_of(db: Transaction, job_id: int) -> tuple[Submission, ...]:
    rows = db.rows(SELECT_SUBMISSIONS, {"id": job_id})
    return tuple(Submission(*row, is_forgotten=bool(forgotten)) for *row, forgotten in rows)


def _deletion_of(db: Transaction, key: Params) -> str:
    """Return the last deletion that was recorded of the memory of *key*; "" if there is none."""
    found = db.row(SELECT_DELETION, key)
    return found[0] if found else ""


def _update_job(
    db: Transaction, job_id: int, due: Callable[[float, float], float], *, tries: int = 0, error: str = ""
) -> None:
    """Delete a job that has no submissions left; else schedule it by the times of the first and the last one."""
    first, last = db.one(SELECT_SPAN, {"id": job_id})
    if first is None:
        db.execute(DELETE_JOB, {"id": job_id})
    else:
        row = {"id": job_id, "first": first, "last": last, "due": due(first, last)}
        db.execute(RESET_JOB, {**row, "tries": tries, "error": error})


def _requeue(db: Transaction, key: Params, now: float) -> int:
    """Requeue the dead letter of *key*; return how many there were, 1 or 0."""
    _adopt_job(db, key)
    job_id, *_ = _ensure_job(db, key, at=now, due=now)
    found = db.row(LOCK_JOB, {**key, "aside": True})
    if found:
        db.execute(MOVE_SUBMISSIONS, {"id": found[0], "to": job_id})
        db.execute(DELETE_JOB, {"id": found[0]})
        _update_job(db, job_id, partial(max, now))
    elif not _submissions_of(db, job_id):  # another process requeued it, and it was learned from already
        db.execute(DELETE_JOB, {"id": job_id})
    return 1 if found else 0


# -- rows -----------------------------------------------------------------------------------------


def _key_params(key: ConversationKey, storage: str) -> Params:
    return _scope_params(storage, key.scope, key.thread_id or "")


def _scope_params(storage: str | None, scope: Scope | None = None, thread_id: str | None = None) -> Params:
    return {
        "storage": storage,
        "user_id": scope.user_id if scope else None,
        "agent_name": (scope.agent_name or "") if scope else None,
        "thread_id": thread_id,
    }


def _claim_params(claim: Claim) -> Params:
    return {"id": claim.job_id, "numbers": [submission.number for submission in claim.submissions]}


def _read_key(user_id: str, agent_name: str, thread_id: str) -> ConversationKey:
    return ConversationKey(Scope(user_id, agent_name), thread_id or None)


def _storable(error: str) -> str:
    """Return *error* without NUL characters and lone surrogates, which databases reject."""
    return error.replace("\0", "\ufffd").encode(errors="replace").decode()
