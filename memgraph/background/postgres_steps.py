"""What the outbox on PostgreSQL does within a transaction, and how its rows read."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from memgraph.background import postgres_sql as sql
from memgraph.background.outbox import Claim, ConversationKey, HeldJob, Job, ReviewDecision, Submission
from memgraph.background.schedule import NEVER
from memgraph.models import Scope

if TYPE_CHECKING:
    from memgraph.background.schedule import DebouncePolicy
    from memgraph.storage.postgres_pool import Connection


def lock_job(db: Connection, key: ConversationKey, *, aside: bool = False) -> tuple[Any, ...] | None:
    return db.execute(sql.LOCK_JOB, row_of(key) | {"aside": aside}).fetchone()


def insert_job(db: Connection, key: ConversationKey, *, at: float, due: float, aside: bool = False) -> int | None:
    """A new job; None where somebody else made it first, and is done with that."""
    row = db.execute(sql.INSERT_JOB, row_of(key) | {"aside": aside, "at": at, "due": due}).fetchone()
    return row[0] if row else None


def get_or_insert_job(db: Connection, key: ConversationKey, *, at: float, aside: bool = False) -> int:
    while True:
        found = lock_job(db, key, aside=aside)
        job_id = found[0] if found else insert_job(db, key, at=at, due=at, aside=aside)
        if job_id is not None:
            return job_id


def claimed(
    db: Connection, now: float, lease_seconds: float, scope: Scope | None, thread_id: str | None
) -> Claim | None:
    while True:
        found = db.execute(sql.SELECT_DUE, {"now": now, **scope_params(scope, thread_id)}).fetchone()
        if found is None:
            return None
        job_id, *owner, tries = found
        lease = secrets.token_hex(16)
        key = key_of(*owner)
        row = {**row_of(key), "holder": lease, "now": now, "until": now + lease_seconds}
        if db.execute(sql.TAKE_LEASE, row).rowcount:
            rows = db.execute(sql.SELECT_SUBMISSIONS, {"id": job_id}).fetchall()
            submissions = tuple(Submission(*row) for row in rows)
            decided = db.execute(sql.SELECT_DECIDED, {"id": job_id}).fetchone()
            return Claim(job_id, key, lease, tries, submissions, ReviewDecision(*decided) if decided else None)


def finish_job(db: Connection, job_id: int, timing: DebouncePolicy) -> None:
    """After the claimed submissions left a job: remove it, or let the rest wait as a new one would."""
    first, last = fetch_one(db.execute(sql.SPAN, {"id": job_id}).fetchone())
    if first is None:
        db.execute(sql.DELETE_JOB, {"id": job_id})
    else:
        row = {"id": job_id, "first": first, "last": last, "due": timing.due(first, last)}
        db.execute(sql.RENEWED_JOB, row)
        db.execute(sql.DELETE_REVIEWS, {"ids": [job_id]})


def move_aside(db: Connection, claim: Claim, at: float, error: str) -> None:
    aside_id = get_or_insert_job(db, claim.key, at=at, aside=True)
    db.execute(sql.MOVE_CLAIMED, row_of_claim(claim) | {"aside_id": aside_id})
    first, last = fetch_one(db.execute(sql.SPAN, {"id": aside_id}).fetchone())
    row = {"id": aside_id, "first": first, "last": last, "tries": claim.attempts + 1, "error": error}
    db.execute(sql.ASIDE_JOB, row)
    if claim.decided:
        db.execute(sql.DELETE_REVIEWS, {"ids": [aside_id]})
        db.execute(sql.MOVE_REVIEW, {"id": claim.job_id, "to": aside_id})


def requeue(db: Connection, key: ConversationKey, now: float) -> int:
    """Let what was set aside of *key* wait again; return how many jobs that were, 1 or 0."""
    job_id = get_or_insert_job(db, key, at=now)
    _, _, due, _ = fetch_one(lock_job(db, key))
    found = lock_job(db, key, aside=True)
    if found:
        db.execute(sql.MOVE_ALL, {"id": found[0], "to": job_id})
        db.execute(sql.MOVE_REVIEW, {"id": found[0], "to": job_id})
        db.execute(sql.DELETE_JOB, {"id": found[0]})
    first, last = fetch_one(db.execute(sql.SPAN, {"id": job_id}).fetchone())
    if first is None:  # somebody else put it back, and it was learned from already
        db.execute(sql.DELETE_JOB, {"id": job_id})
    elif found:
        row = {"id": job_id, "first": first, "last": last, "due": now}
        db.execute(sql.SPANNED_JOB if due == NEVER else sql.RENEWED_JOB, row)
    return 1 if found else 0


# -- rows ---------------------------------------------------------------------------------------------


def fetch_one(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert row is not None  # noqa: S101 - an aggregate is a row, whatever there is
    return row


def row_of(key: ConversationKey) -> dict[str, Any]:
    return scope_params(key.scope) | {"thread_id": key.thread_id or ""}


def scope_params(scope: Scope | None, thread_id: str | None = None) -> dict[str, Any]:
    return {
        "user_id": scope.user_id if scope else None,
        "agent_name": (scope.agent_name or "") if scope else None,
        "thread_id": thread_id,
    }


def row_of_claim(claim: Claim) -> dict[str, Any]:
    return {"id": claim.job_id, "numbers": list(claim.numbers)}


def key_of(user_id: str, agent_name: str, thread_id: str) -> ConversationKey:
    return ConversationKey(Scope(user_id, agent_name), thread_id or None)


def job_of(row: tuple[Any, ...]) -> Job:
    job_id, user_id, agent_name, thread_id, *rest, running = row
    return Job(job_id, key_of(user_id, agent_name, thread_id), *rest, running=running)


def held_of(row: tuple[Any, ...]) -> HeldJob:
    *job, held_id, at, held = row
    return HeldJob(held_id, job_of(tuple(job)), at, held)


def storable_text(error: str) -> str:
    """An error may quote anything; the server takes no NUL, and no half of a surrogate pair."""
    return error.replace("\0", "\ufffd").encode(errors="replace").decode()
