"""The outbox in an SQLite file, shared by any number of processes on one machine."""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from memgraph._sqlite import BUSY_TIMEOUT_SECONDS, Database
from memgraph.background import sqlite_sql as sql
from memgraph.background.outbox import (
    Claim,
    ConversationKey,
    HeldJob,
    Job,
    Outbox,
    PendingSubmissions,
    ReviewDecision,
    Submission,
    UserTexts,
)
from memgraph.background.schedule import NEVER
from memgraph.errors import ConfigError, OutboxError
from memgraph.models import Scope
from memgraph.storage.paths import absolute, default_folder, path_of_url

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection
    from pathlib import Path

    from memgraph.background.schedule import DebouncePolicy
    from memgraph.storage.traces import TraceCount

FILE = "outbox.db"


class SqliteOutbox(Outbox):
    """One file in WAL mode. A submission is on disk before `enqueue` returns.

    What was learned is overwritten in the file, and in its write-ahead log as soon as nothing is pending.

    The other steps do not wait for the disk. They reach it in order, together with the next submission, and a power cut
    that undoes the last of them does no more harm than a crash: a completed job runs again, and finds nothing new.

    Args:
        path: The file. None or "" is `outbox.db` in the platform's folder for user data.
        busy_timeout: Seconds to wait for other processes.
    """

    def __init__(self, path: str | Path | None = None, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self.file = file = absolute(path or default_folder() / FILE)
        self._name = f"sqlite:{file}"
        connect = partial(
            Database,
            file,
            name=str(file),
            migrations=sql.MIGRATIONS,
            error_class=OutboxError,
            busy_timeout=busy_timeout,
            secure_delete=True,
        )
        self._durable = connect()
        self._quick = connect(durable=False, lock=self._durable.lock)

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Create the outbox at a path; as in SQLAlchemy, `///FILE` is relative and `////FILE` absolute."""
        if location == ":memory:":
            raise ConfigError("sqlite::memory: is not supported: use memory: for an outbox in RAM")
        return cls(path_of_url("sqlite", location).removeprefix("/") if location.startswith("//") else location)

    # -- submitting --

    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        params, due_if_new = _key_params(key, self.storage or ""), timing.due(now, now)
        with self._durable.writing() as db:
            found = db.execute(sql.SELECT_JOB, params).fetchone()
            if found:
                job_id, first_at, due_at, retry_at = found
                due = timing.next_due(first_at, now, due_at, retry_at)
                db.execute(sql.UPDATE_DUE, {**params, "id": job_id, "at": now, "due": due})
            else:
                pending, of_user = db.execute(sql.COUNT_PENDING, params).fetchone()
                self.check_capacity(pending, of_user, max_jobs)
                row = {**params, "aside": 0, "at": now, "due": due_if_new}
                job_id = db.execute(sql.INSERT_JOB, row).lastrowid
            db.execute(sql.INSERT_SUBMISSION, {"id": job_id, "at": now, "messages": messages})

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
        params = {"now": now, **self._scope_params(scope, thread_id)}
        claims: list[Claim] = []
        with self._quick.writing() as db:
            for query in (sql.SELECT_DUE, sql.SELECT_IMPOSSIBLE):
                while len(claims) < limit and (found := db.execute(query, params).fetchone()):
                    claims.append(_claim(db, found, now, now + lease_seconds, self.storage))
        return tuple(claims)

    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        with self._quick.writing() as db:
            row = {"now": now, "until": now + lease_seconds}
            return frozenset(
                lease_id for lease_id in leases if db.execute(sql.RENEW_LEASE, {**row, "holder": lease_id}).rowcount
            )

    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        first, *others = claim.submissions
        merged = Submission(first.number, claim.submissions[-1].at, messages)
        with self._quick.writing() as db:
            if not db.execute(sql.SELECT_LEASE, (claim.lease_id,)).fetchone():
                return None
            row = {**_claim_params(claim), "number": merged.number, "at": merged.at, "messages": messages}
            db.execute(sql.REPLACE_SUBMISSION, row)
            if others:
                db.execute(sql.DELETE_CLAIMED, _claim_params(replace(claim, submissions=tuple(others))))
        return replace(claim, submissions=(merged,))

    def complete(self, claim: Claim, *, timing: DebouncePolicy, deletion: str = "") -> bool:
        params = _claim_params(claim)
        with self._quick.writing() as db:
            was_held = db.execute(sql.END_LEASE, (claim.lease_id,)).rowcount > 0
            if was_held and not db.execute(sql.DELETE_COMPLETED, params).rowcount:
                db.execute(sql.DELETE_CLAIMED, params)
                _finish_job(db, claim.job_id, timing)
            if was_held and deletion not in {"", claim.deletion}:
                db.execute(sql.INSERT_FOUND_DELETION, {**self._scope_params(claim.key.scope), "at": deletion})
            is_idle = db.execute(sql.COUNT_PENDING, {"user_id": None}).fetchone()[0] == 0
        if was_held and is_idle:
            self._quick.truncate_log()
        return was_held

    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        with self._quick.writing() as db:
            was_held = db.execute(sql.END_LEASE, (claim.lease_id,)).rowcount > 0
            if was_held:
                db.execute(sql.MARK_FAILED, {"id": claim.job_id, "error": error, "at": retry_at})
            return was_held

    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        with self._quick.writing() as db:
            was_held = db.execute(sql.END_LEASE, (claim.lease_id,)).rowcount > 0
            if was_held:
                _move_to_dead_letters(db, claim, error)
                _finish_job(db, claim.job_id, timing)
            return was_held

    def hold_for_review(self, claim: Claim, proposal: str, *, now: float) -> bool:
        with self._quick.writing() as db:
            was_held = db.execute(sql.END_LEASE, (claim.lease_id,)).rowcount > 0
            if was_held:
                row = {"job_id": claim.job_id, "id": claim.lease_id, "at": now, "held": proposal}
                db.execute(sql.INSERT_REVIEW, row)
                db.execute(sql.MARK_IN_REVIEW, {"job_id": claim.job_id})
            return was_held

    def release(self, claim: Claim) -> None:
        with self._quick.writing() as db:
            db.execute(sql.END_LEASE, (claim.lease_id,))

    # -- inspecting and changing jobs --

    def may_have_jobs(self) -> bool:
        return self._quick.exists()

    def next_due(self, *, now: float) -> float | None:
        with self._quick.reading() as db:
            if db is None:
                return None
            rows = (
                db.execute(query, {"now": now, "storage": self.storage}).fetchone()
                for query in (sql.NEXT_UNLEASED, sql.NEXT_LEASE_END, sql.HAS_IMPOSSIBLE)
            )
            return min((row[0] for row in rows if row and row[0] not in (None, NEVER)), default=None)

    def pending(self, *, now: float) -> tuple[Job, ...]:
        with self._quick.reading() as db:
            rows = db.execute(sql.LIST_JOBS, {"aside": 0, "now": now, "storage": self.storage}).fetchall() if db else ()
        return tuple(_read_job(row) for row in rows)

    def submissions(self, key: ConversationKey) -> PendingSubmissions:
        with self._quick.reading() as db:
            return _read_submissions(db, _key_params(key, self.storage or "")) if db else PendingSubmissions((), "")

    def dead_letters(self) -> tuple[Job, ...]:
        with self._quick.reading() as db:
            rows = db.execute(sql.LIST_JOBS, {"aside": 1, "now": 0, "storage": self.storage}).fetchall() if db else ()
        return tuple(_read_job(row) for row in rows)

    def expedite(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> None:
        params = {"now": now, **self._scope_params(scope, thread_id)}
        with self._quick.writing() as db:
            db.execute(sql.EXPEDITE, params)

    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        with self._quick.writing() as db:
            dead_letters = db.execute(sql.SELECT_DEAD_LETTERS, self._scope_params(scope, thread_id)).fetchall()
            for job_id, *key, storage in dead_letters:
                _requeue(db, job_id, _key_params(_read_key(*key), storage), now)
            return len(dead_letters)

    def in_review(self) -> tuple[HeldJob, ...]:
        with self._quick.reading() as db:
            rows = db.execute(sql.LIST_IN_REVIEW, {"storage": self.storage}).fetchall() if db else ()
        return tuple(HeldJob(review_id, _read_job(tuple(job)), at, proposal) for *job, review_id, at, proposal in rows)

    def decide(self, review_id: str, decision: str, *, now: float) -> bool:
        with self._durable.writing() as db:
            is_decided = db.execute(sql.UPDATE_DECISION, {"id": review_id, "decision": decision}).rowcount > 0
            if is_decided:
                db.execute(sql.MARK_DECIDED, {"id": review_id, "now": now})
            return is_decided

    def cancel_review(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        with self._quick.writing() as db:
            count = db.execute(sql.CANCEL_REVIEWS, {"now": now, **self._scope_params(scope, thread_id)}).rowcount
            db.execute(sql.DELETE_CANCELLED)
            return count

    def _scope_params(self, scope: Scope | None, thread_id: str | None = None) -> dict[str, Any]:
        return {
            "storage": self.storage,
            "user_id": scope.user_id if scope else None,
            "agent_name": (scope.agent_name or "") if scope else None,
            "thread_id": thread_id,
        }

    def record_deletion(self, scope: Scope, deletion: str) -> int:
        params = self._scope_params(scope)
        with self._durable.writing() as db:
            db.execute(sql.INSERT_DELETION, {**params, "at": deletion})
            db.execute(sql.FORGET_SUBMISSIONS, params)
            return db.execute(sql.SELECT_LAST_FORGOTTEN, params).fetchone()[0] or 0

    def texts_of(self, user_id: str) -> UserTexts:
        row = {"user_id": user_id, "storage": self.storage}
        with self._quick.reading() as db:
            if db is None:
                return UserTexts((), ())
            submissions, reviews = (
                tuple(text for (text,) in db.execute(query, row).fetchall())
                for query in (sql.SELECT_USER_MESSAGES, sql.SELECT_USER_REVIEWS)
            )
            return UserTexts(submissions, reviews)

    def delete_user(self, user_id: str) -> None:
        row = {"user_id": user_id, "storage": self.storage}
        with self._durable.writing() as db:
            db.execute(sql.DELETE_USER_JOBS, row)
            db.execute(sql.DELETE_USER_LEASES, row)
        self._durable.truncate_log()

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:  # noqa: ARG002 - one file for all
        return self._durable.find_traces(fragments)

    def close(self) -> None:
        self._durable.close()
        self._quick.close()

    def after_fork(self) -> None:
        lock = threading.Lock()
        self._durable.after_fork(lock)
        self._quick.after_fork(lock)


class InMemoryOutbox(SqliteOutbox):
    """The same in RAM, lost with the process: for tests, and for applications that want nothing on disk."""

    def __init__(self) -> None:
        self._name = f"memory:{secrets.token_hex(4)}"
        self._durable = self._quick = Database(
            None, name="the outbox in RAM", migrations=sql.MIGRATIONS, error_class=OutboxError
        )

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name: each outbox that is opened is a separate one")
        return cls()


# -- steps of a transaction ---------------------------------------------------------------------------


def _insert_job(db: sqlite3.Connection, key: dict[str, Any], *, at: float, aside: int) -> int:
    """Insert a job that is due at *at*, and return its id."""
    job_id = db.execute(sql.INSERT_JOB, {**key, "aside": aside, "at": at, "due": at}).lastrowid
    assert job_id is not None  # noqa: S101 - an INSERT has one
    return job_id


def _claim(db: sqlite3.Connection, job: tuple[Any, ...], now: float, until: float, view: str | None) -> Claim:
    job_id, user_id, agent_name, thread_id, attempts, storage = job
    if view and not storage and db.execute(sql.ADOPT_JOB, {"id": job_id, "storage": view}).rowcount:
        storage = view
    key, lease_id = _read_key(user_id, agent_name, thread_id), secrets.token_hex(16)
    params = _key_params(key, storage)
    db.execute(sql.TAKE_LEASE, {**params, "holder": lease_id, "now": now, "until": until})
    submissions, deletion = _submissions_of(db, job_id), _deletion_of(db, params)
    decision = db.execute(sql.SELECT_DECISION, (job_id,)).fetchone()
    decided = ReviewDecision(*decision) if decision else None
    return Claim(job_id, key, lease_id, attempts, submissions, decided, storage, deletion)


def _read_submissions(db: sqlite3.Connection, key: dict[str, Any]) -> PendingSubmissions:
    found = db.execute(sql.SELECT_JOB, key).fetchone()
    return PendingSubmissions(_submissions_of(db, found[0]) if found else (), _deletion_of(db, key))


def _submissions_of(db: sqlite3.Connection, job_id: int) -> tuple[Submission, ...]:
    rows = db.execute(sql.SELECT_SUBMISSIONS, (job_id,)).fetchall()
    return tuple(Submission(*row, is_forgotten=bool(forgotten)) for *row, forgotten in rows)


def _deletion_of(db: sqlite3.Connection, key: dict[str, Any]) -> str:
    """Return the last deletion that was recorded of the memory of *key*; "" if there is none."""
    found = db.execute(sql.SELECT_DELETION, key).fetchone()
    return found[0] if found else ""


def _finish_job(db: sqlite3.Connection, job_id: int, timing: DebouncePolicy) -> None:
    """Delete a job that has no submissions left, or schedule the rest like a new job."""
    first, last = db.execute(sql.SELECT_SPAN, (job_id,)).fetchone()
    if first is None:
        db.execute(sql.DELETE_JOB, (job_id,))
    else:
        due = timing.due(first, last)
        db.execute(sql.RESET_JOB, {"id": job_id, "first": first, "last": last, "due": due})
        db.execute(sql.DELETE_REVIEW, (job_id,))


def _move_to_dead_letters(db: sqlite3.Connection, claim: Claim, error: str) -> None:
    key = _key_params(claim.key, claim.storage)
    found = db.execute(sql.SELECT_DEAD_LETTER, key).fetchone()
    dead_letter_id = found[0] if found else _insert_job(db, key, at=claim.submissions[0].at, aside=1)
    db.execute(sql.MOVE_CLAIMED, _claim_params(claim) | {"dead_letter_id": dead_letter_id})
    first, last = db.execute(sql.SELECT_SPAN, (dead_letter_id,)).fetchone()
    row = {"id": dead_letter_id, "first": first, "last": last, "tries": claim.attempts + 1, "error": error}
    db.execute(sql.UPDATE_DEAD_LETTER, row)
    if claim.decided:
        db.execute(sql.DELETE_REVIEW, (dead_letter_id,))
        db.execute(sql.MOVE_REVIEW, {"id": claim.job_id, "to": dead_letter_id})


def _requeue(db: sqlite3.Connection, dead_letter_id: int, key: dict[str, Any], now: float) -> None:
    found = db.execute(sql.SELECT_JOB, key).fetchone()
    job_id = found[0] if found else _insert_job(db, key, at=now, aside=0)
    db.execute(sql.ADOPT_JOB, {"id": job_id, "storage": key["storage"]})
    is_in_review = bool(found) and found[2] == NEVER
    db.execute(sql.MOVE_SUBMISSIONS, {"id": dead_letter_id, "to": job_id})
    db.execute(sql.MOVE_REVIEW, {"id": dead_letter_id, "to": job_id})
    db.execute(sql.DELETE_JOB, (dead_letter_id,))
    first, last = db.execute(sql.SELECT_SPAN, (job_id,)).fetchone()
    row = {"id": job_id, "first": first, "last": last, "due": now}
    db.execute(sql.UPDATE_SPAN if is_in_review else sql.RESET_JOB, row)


# -- rows ---------------------------------------------------------------------------------------------


def _key_params(key: ConversationKey, storage: str) -> dict[str, Any]:
    scope = key.scope
    return {
        "user_id": scope.user_id,
        "agent_name": scope.agent_name or "",
        "thread_id": key.thread_id or "",
        "storage": storage,
    }


def _claim_params(claim: Claim) -> dict[str, Any]:
    return {"id": claim.job_id, "numbers": json.dumps([submission.number for submission in claim.submissions])}


def _read_key(user_id: str, agent_name: str, thread_id: str) -> ConversationKey:
    return ConversationKey(Scope(user_id, agent_name), thread_id or None)


def _read_job(row: tuple[Any, ...]) -> Job:
    job_id, user_id, agent_name, thread_id, *rest, running, storage = row
    key = _read_key(user_id, agent_name, thread_id)
    return Job(job_id, key, *rest, running=bool(running), storage=storage)
