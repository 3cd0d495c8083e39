"""The outbox in one SQLite file: durable, and shared by any number of processes on one machine."""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from memgraph._sqlite import BUSY_TIMEOUT_SECONDS, Database
from memgraph.background import sqlite_sql as sql
from memgraph.background.outbox import Claim, ConversationKey, HeldJob, Job, Outbox, ReviewDecision, Submission
from memgraph.background.schedule import NEVER
from memgraph.errors import ConfigError, OutboxError, QueueFullError
from memgraph.models import Scope
from memgraph.storage.paths import absolute, default_folder, path_of_url

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection
    from pathlib import Path

    from memgraph.background.schedule import DebouncePolicy

FILE = "outbox.db"


class SqliteOutbox(Outbox):
    """One file in WAL mode. A submission is written through to the disk before `put` returns.

    The other steps do not wait for the disk: they are on it before the next submission is, in order, and a power cut
    that undoes the last of them does no more harm than a crash - a job that was done runs again, and finds nothing new.

    Args:
        path: The file. None or "" is `outbox.db` in the platform's folder for user data.
        busy_timeout: Seconds to wait for other processes.
    """

    def __init__(self, path: str | Path | None = None, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._path = absolute(path or default_folder() / FILE)
        self._name = f"sqlite:{self._path}"
        connect = partial(
            Database,
            self._path,
            name=str(self._path),
            migrations=sql.MIGRATIONS,
            error_class=OutboxError,
            busy_timeout=busy_timeout,
        )
        self._durable = connect()
        self._quick = connect(durable=False, lock=self._durable.lock)

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open what follows `sqlite:`, a path; as in SQLAlchemy, `///FILE` is relative and `////FILE` absolute."""
        if location == ":memory:":
            raise ConfigError("write memory: for an outbox in RAM")
        return cls(path_of_url("sqlite", location).removeprefix("/") if location.startswith("//") else location)

    # -- handing over --

    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        with self._durable.writing() as db:
            job_id = self._upsert_job(db, key, now, timing, max_jobs)
            db.execute(sql.INSERT_SUBMISSION, {"id": job_id, "at": now, "messages": messages})

    def _upsert_job(
        self, db: sqlite3.Connection, key: ConversationKey, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> int:
        """The job of *key*, made where there is none, with the time it is due after a submission now."""
        found = db.execute(sql.SELECT_WAITING, _key(key)).fetchone()
        if found is None:
            if db.execute(sql.COUNT_WAITING).fetchone()[0] >= max_jobs:
                raise QueueFullError(self.name, max_jobs)
            return _insert_job(db, key, at=now, due=timing.due(now, now))
        job_id, first_at, due_at, retry_at = found
        due = timing.next_due(first_at, now, due_at, retry_at)
        db.execute(sql.TOUCH_JOB, {"id": job_id, "at": now, "due": due})
        return job_id

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
        claims: list[Claim] = []
        with self._quick.writing() as db:
            while len(claims) < limit:
                found = db.execute(sql.SELECT_DUE, {"now": now, **_narrowed(scope, thread_id)}).fetchone()
                if found is None:
                    break
                claims.append(_claimed(db, found, now + lease_seconds))
        return tuple(claims)

    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        with self._quick.writing() as db:
            return frozenset(
                holder
                for holder in leases
                if db.execute(sql.RENEW, {"holder": holder, "until": now + lease_seconds}).rowcount
            )

    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        first, *others = claim.submissions
        written = Submission(first.number, claim.submissions[-1].at, messages)
        with self._quick.writing() as db:
            if not db.execute(sql.SELECT_LEASE, (claim.lease_id,)).fetchone():
                return None
            db.execute(
                sql.REWRITE, {"id": claim.job_id, "number": written.number, "at": written.at, "messages": messages}
            )
            if others:
                db.execute(sql.DELETE_CLAIMED, _claimed_row(replace(claim, submissions=tuple(others))))
        return replace(claim, submissions=(written,))

    def complete(self, claim: Claim, *, timing: DebouncePolicy) -> bool:
        with self._quick.writing() as db:
            held = _end_lease(db, claim)
            if held and not db.execute(sql.DELETE_DONE, _claimed_row(claim)).rowcount:
                db.execute(sql.DELETE_CLAIMED, _claimed_row(claim))
                _settle(db, claim.job_id, timing)
            return held

    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        with self._quick.writing() as db:
            held = _end_lease(db, claim)
            if held:
                db.execute(sql.FAILED_JOB, {"id": claim.job_id, "error": error, "at": retry_at})
            return held

    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        with self._quick.writing() as db:
            held = _end_lease(db, claim)
            if held:
                _move_aside(db, claim, error)
                _settle(db, claim.job_id, timing)
            return held

    def hold_for_review(self, claim: Claim, held: str, *, now: float) -> bool:
        with self._quick.writing() as db:
            is_mine = _end_lease(db, claim)
            if is_mine:
                db.execute(sql.HOLD, {"job_id": claim.job_id, "id": claim.lease_id, "at": now, "held": held})
                db.execute(sql.HELD_JOB, {"job_id": claim.job_id})
            return is_mine

    def release(self, claim: Claim) -> None:
        with self._quick.writing() as db:
            _end_lease(db, claim)

    # -- looking and steering --

    def next_due(self, *, now: float) -> float | None:
        with self._quick.reading() as db:
            if db is None:
                return None
            rows = (db.execute(query, {"now": now}).fetchone() for query in (sql.NEXT_UNLEASED, sql.NEXT_LEASE_END))
            return min((row[0] for row in rows if row and row[0] not in (None, NEVER)), default=None)

    def pending(self, *, now: float) -> tuple[Job, ...]:
        return self._list(aside=0, now=now)

    def dead_letters(self) -> tuple[Job, ...]:
        return self._list(aside=1, now=0)

    def _list(self, *, aside: int, now: float) -> tuple[Job, ...]:
        with self._quick.reading() as db:
            rows = db.execute(sql.LIST, {"aside": aside, "now": now}).fetchall() if db else ()
        return tuple(_job(row) for row in rows)

    def expedite(self, *, now: float, scope: Scope | None = None) -> None:
        with self._quick.writing() as db:
            db.execute(sql.HASTEN, {"now": now, **_narrowed(scope)})

    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        with self._quick.writing() as db:
            found = db.execute(sql.SELECT_ASIDE, _narrowed(scope, thread_id)).fetchall()
            for job_id, *owner in found:
                _put_back(db, job_id, _key_of(*owner), now)
            return len(found)

    def in_review(self) -> tuple[HeldJob, ...]:
        with self._quick.reading() as db:
            rows = db.execute(sql.LIST_HELD).fetchall() if db else ()
        return tuple(HeldJob(held_id, _job(tuple(row)), at, held) for *row, held_id, at, held in rows)

    def decide(self, held_id: str, decision: str, *, now: float) -> bool:
        with self._durable.writing() as db:
            decided = db.execute(sql.DECIDE, {"id": held_id, "decision": decision}).rowcount > 0
            if decided:
                db.execute(sql.DECIDED_JOB, {"id": held_id, "now": now})
            return decided

    def cancel_review(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        with self._quick.writing() as db:
            count = db.execute(sql.REOPEN, {"now": now, **_narrowed(scope, thread_id)}).rowcount
            db.execute(sql.DELETE_REOPENED)
            return count

    def close(self) -> None:
        self._durable.close()
        self._quick.close()

    def after_fork(self) -> None:
        lock = threading.Lock()
        self._durable.after_fork(lock)
        self._quick.after_fork(lock)


class InMemoryOutbox(SqliteOutbox):
    """The same in RAM: gone with the process. For tests, and for those who want nothing on disk."""

    def __init__(self) -> None:
        self._name = f"memory:{secrets.token_hex(4)}"
        self._durable = self._quick = Database(
            None, name="the outbox in RAM", migrations=sql.MIGRATIONS, error_class=OutboxError
        )

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each one opened is an outbox of its own")
        return cls()


# -- steps of a transaction ---------------------------------------------------------------------------


def _insert_job(db: sqlite3.Connection, key: ConversationKey, *, at: float, due: float, aside: int = 0) -> int:
    row = {**_key(key), "aside": aside, "at": at, "due": due}
    job_id = db.execute(sql.INSERT_JOB, row).lastrowid
    assert job_id is not None  # noqa: S101 - an INSERT has one
    return job_id


def _claimed(db: sqlite3.Connection, found: tuple[Any, ...], until: float) -> Claim:
    job_id, user_id, agent_name, thread_id, tries = found
    lease = secrets.token_hex(16)
    db.execute(sql.TAKE_LEASE, {"user_id": user_id, "agent_name": agent_name, "holder": lease, "until": until})
    submissions = tuple(Submission(*row) for row in db.execute(sql.SELECT_SUBMISSIONS, (job_id,)))
    decided = db.execute(sql.SELECT_DECIDED, (job_id,)).fetchone()
    key = _key_of(user_id, agent_name, thread_id)
    return Claim(job_id, key, lease, tries, submissions, ReviewDecision(*decided) if decided else None)


def _end_lease(db: sqlite3.Connection, claim: Claim) -> bool:
    return db.execute(sql.END_LEASE, (claim.lease_id,)).rowcount > 0


def _settle(db: sqlite3.Connection, job_id: int, timing: DebouncePolicy) -> None:
    """After the claimed submissions left a job: remove it, or let the rest wait as a new one would."""
    first, last = db.execute(sql.SPAN, (job_id,)).fetchone()
    if first is None:
        db.execute(sql.DELETE_JOB, (job_id,))
    else:
        due = timing.due(first, last)
        db.execute(sql.RENEWED_JOB, {"id": job_id, "first": first, "last": last, "due": due})
        db.execute(sql.DELETE_REVIEW, (job_id,))


def _move_aside(db: sqlite3.Connection, claim: Claim, error: str) -> None:
    found = db.execute(sql.SELECT_ASIDE_OF_KEY, _key(claim.key)).fetchone()
    at = claim.submissions[0].at
    aside_id = found[0] if found else _insert_job(db, claim.key, at=at, due=at, aside=1)
    db.execute(sql.MOVE_CLAIMED, _claimed_row(claim) | {"aside_id": aside_id})
    first, last = db.execute(sql.SPAN, (aside_id,)).fetchone()
    row = {"id": aside_id, "first": first, "last": last, "tries": claim.attempts + 1, "error": error}
    db.execute(sql.ASIDE_JOB, row)
    if claim.decided:
        db.execute(sql.DELETE_REVIEW, (aside_id,))
        db.execute(sql.MOVE_REVIEW, {"id": claim.job_id, "to": aside_id})


def _put_back(db: sqlite3.Connection, aside_id: int, key: ConversationKey, now: float) -> None:
    found = db.execute(sql.SELECT_WAITING, _key(key)).fetchone()
    job_id = found[0] if found else _insert_job(db, key, at=now, due=now)
    is_in_review = bool(found) and found[2] == NEVER
    db.execute(sql.MOVE_ALL, {"id": aside_id, "to": job_id})
    db.execute(sql.MOVE_REVIEW, {"id": aside_id, "to": job_id})
    db.execute(sql.DELETE_JOB, (aside_id,))
    first, last = db.execute(sql.SPAN, (job_id,)).fetchone()
    row = {"id": job_id, "first": first, "last": last, "due": now}
    db.execute(sql.SPANNED_JOB if is_in_review else sql.RENEWED_JOB, row)


# -- rows ---------------------------------------------------------------------------------------------


def _key(key: ConversationKey) -> dict[str, Any]:
    scope = key.scope
    return {"user_id": scope.user_id, "agent_name": scope.agent_name or "", "thread_id": key.thread_id or ""}


def _narrowed(scope: Scope | None, thread_id: str | None = None) -> dict[str, Any]:
    return {
        "user_id": scope.user_id if scope else None,
        "agent_name": (scope.agent_name or "") if scope else None,
        "thread_id": thread_id,
    }


def _claimed_row(claim: Claim) -> dict[str, Any]:
    return {"id": claim.job_id, "numbers": json.dumps(claim.numbers)}


def _key_of(user_id: str, agent_name: str, thread_id: str) -> ConversationKey:
    return ConversationKey(Scope(user_id, agent_name), thread_id or None)


def _job(row: tuple[Any, ...]) -> Job:
    job_id, user_id, agent_name, thread_id, *rest, running = row
    return Job(job_id, _key_of(user_id, agent_name, thread_id), *rest, running=bool(running))
