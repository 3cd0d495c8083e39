"""Steps of the transactions of the PostgreSQL outbox, and the mapping of its rows."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from memgraph.background import postgres_sql as sql
from memgraph.background.outbox import (
    Claim,
    ConversationKey,
    HeldJob,
    Job,
    PendingSubmissions,
    ReviewDecision,
    Submission,
)
from memgraph.background.schedule import NEVER
from memgraph.models import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memgraph.background.schedule import DebouncePolicy
    from memgraph.storage.postgres_pool import Connection

JobKey = dict[str, Any]
"""The parameters that identify a job: its conversation and its storage."""


def lock_job(db: Connection, key: JobKey, *, aside: bool = False) -> tuple[Any, ...] | None:
    return db.execute(sql.LOCK_JOB, {**key, "aside": aside}).fetchone()


def adopt_job(db: Connection, key: JobKey) -> None:
    """Let the pending job of that conversation, if it names no storage, belong to the one of *key*."""
    if key["storage"]:
        db.execute(sql.ADOPT_JOB, key)


def insert_job(db: Connection, key: JobKey, *, at: float, due: float, aside: bool = False) -> int | None:
    """Insert a job and return its id; None if another worker has inserted it and committed."""
    row = db.execute(sql.INSERT_JOB, {**key, "aside": aside, "at": at, "due": due}).fetchone()
    return row[0] if row else None


def get_or_insert_job(db: Connection, key: JobKey, *, at: float, aside: bool = False) -> int:
    while True:
        found = lock_job(db, key, aside=aside)
        job_id = found[0] if found else insert_job(db, key, at=at, due=at, aside=aside)
        if job_id is not None:
            return job_id


def claim_next(db: Connection, now: float, lease_seconds: float, params: Mapping[str, Any]) -> Claim | None:
    """Claim the next due job that matches *params*, see `scope_params`."""
    while True:
        row = {"now": now, **params}
        found = db.execute(sql.SELECT_DUE, row).fetchone() or db.execute(sql.SELECT_IMPOSSIBLE, row).fetchone()
        if found is None:
            return None
        job_id, *owner, tries, storage = found
        lease = secrets.token_hex(16)
        key = read_key(*owner)
        if not storage and params["storage"]:
            adopt_job(db, key_params(key, params["storage"]))
            storage = fetch_one(db.execute(sql.SELECT_STORAGE, {"id": job_id}).fetchone())[0]
        row = {**key_params(key, storage), "holder": lease, "now": now, "until": now + lease_seconds}
        if db.execute(sql.TAKE_LEASE, row).rowcount:
            submissions, deletion = _submissions_of(db, job_id), _deletion_of(db, key_params(key, storage))
            decided = db.execute(sql.SELECT_DECISION, {"id": job_id}).fetchone()
            decision = ReviewDecision(*decided) if decided else None
            return Claim(job_id, key, lease, tries, submissions, decision, storage, deletion)


def read_submissions(db: Connection, key: Mapping[str, Any]) -> PendingSubmissions:
    """Return what waits of the conversation *key*, see `key_params`."""
    found = db.execute(sql.FIND_JOB, key).fetchone()
    return PendingSubmissions(_submissions_of(db, found[0]) if found else (), _deletion_of(db, key))


def _submissions_of(db: Connection, job_id: int) -> tuple[Submission, ...]:
    return tuple(Submission(*row) for row in db.execute(sql.SELECT_SUBMISSIONS, {"id": job_id}).fetchall())


def _deletion_of(db: Connection, key: Mapping[str, Any]) -> str:
    """Return the last deletion that was recorded of the memory of *key*; "" if there is none."""
    found = db.execute(sql.SELECT_DELETION, key).fetchone()
    return found[0] if found else ""


def finish_job(db: Connection, job_id: int, timing: DebouncePolicy) -> None:
    """Delete a job that has no submissions left, or schedule the rest like a new job."""
    first, last = fetch_one(db.execute(sql.SELECT_SPAN, {"id": job_id}).fetchone())
    if first is None:
        db.execute(sql.DELETE_JOB, {"id": job_id})
    else:
        row = {"id": job_id, "first": first, "last": last, "due": timing.due(first, last)}
        db.execute(sql.RESET_JOB, row)
        db.execute(sql.DELETE_REVIEWS, {"ids": [job_id]})


def move_to_dead_letters(db: Connection, claim: Claim, at: float, error: str) -> None:
    dead_letter_id = get_or_insert_job(db, key_params(claim.key, claim.storage), at=at, aside=True)
    db.execute(sql.MOVE_CLAIMED, claim_params(claim) | {"dead_letter_id": dead_letter_id})
    first, last = fetch_one(db.execute(sql.SELECT_SPAN, {"id": dead_letter_id}).fetchone())
    row = {"id": dead_letter_id, "first": first, "last": last, "tries": claim.attempts + 1, "error": error}
    db.execute(sql.UPDATE_DEAD_LETTER, row)
    if claim.decided:
        db.execute(sql.DELETE_REVIEWS, {"ids": [dead_letter_id]})
        db.execute(sql.MOVE_REVIEW, {"id": claim.job_id, "to": dead_letter_id})


def requeue(db: Connection, key: JobKey, now: float) -> int:
    """Requeue the dead letter of *key*; return how many there were, 1 or 0."""
    adopt_job(db, key)
    job_id = get_or_insert_job(db, key, at=now)
    _, _, due, _ = fetch_one(lock_job(db, key))
    found = lock_job(db, key, aside=True)
    if found:
        db.execute(sql.MOVE_SUBMISSIONS, {"id": found[0], "to": job_id})
        db.execute(sql.MOVE_REVIEW, {"id": found[0], "to": job_id})
        db.execute(sql.DELETE_JOB, {"id": found[0]})
    first, last = fetch_one(db.execute(sql.SELECT_SPAN, {"id": job_id}).fetchone())
    if first is None:  # another process requeued it, and it was learned from already
        db.execute(sql.DELETE_JOB, {"id": job_id})
    elif found:
        row = {"id": job_id, "first": first, "last": last, "due": now}
        db.execute(sql.UPDATE_SPAN if due == NEVER else sql.RESET_JOB, row)
    return 1 if found else 0


# -- rows ---------------------------------------------------------------------------------------------


def fetch_one(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert row is not None  # noqa: S101 - an aggregate always returns a row
    return row


def key_params(key: ConversationKey, storage: str) -> JobKey:
    return scope_params(storage, key.scope, key.thread_id or "")


def scope_params(storage: str | None, scope: Scope | None = None, thread_id: str | None = None) -> dict[str, Any]:
    return {
        "storage": storage,
        "user_id": scope.user_id if scope else None,
        "agent_name": (scope.agent_name or "") if scope else None,
        "thread_id": thread_id,
    }


def claim_params(claim: Claim) -> dict[str, Any]:
    return {"id": claim.job_id, "numbers": [submission.number for submission in claim.submissions]}


def read_key(user_id: str, agent_name: str, thread_id: str) -> ConversationKey:
    return ConversationKey(Scope(user_id, agent_name), thread_id or None)


def read_job(row: tuple[Any, ...]) -> Job:
    job_id, user_id, agent_name, thread_id, *rest, running, storage = row
    return Job(job_id, read_key(user_id, agent_name, thread_id), *rest, running=running, storage=storage)


def read_held_job(row: tuple[Any, ...]) -> HeldJob:
    *job, review_id, at, proposal = row
    return HeldJob(review_id, read_job(tuple(job)), at, proposal)


def sanitize_text(error: str) -> str:
    """Return *error* without NUL characters and lone surrogates, which the server rejects."""
    return error.replace("\0", "\ufffd").encode(errors="replace").decode()
