"""The outbox on PostgreSQL: durable, and shared by any number of machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph.background import postgres_sql as sql
from memgraph.background.outbox import (
    Claim,
    ConversationKey,
    HeldJob,
    Job,
    Outbox,
    PendingSubmissions,
    Submission,
    UserTexts,
)
from memgraph.background.postgres_steps import (
    adopt_job,
    claim_next,
    claim_params,
    fetch_one,
    finish_job,
    insert_job,
    key_params,
    lock_job,
    move_to_dead_letters,
    read_held_job,
    read_job,
    read_key,
    read_submissions,
    requeue,
    sanitize_text,
    scope_params,
)
from memgraph.background.schedule import NEVER
from memgraph.errors import OutboxError, StorageError
from memgraph.storage.postgres_pool import MAX_CONNECTIONS, WAIT_SECONDS, PostgresDatabase
from memgraph.storage.postgres_traces import find_in_postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from memgraph.background.schedule import DebouncePolicy
    from memgraph.models import Scope
    from memgraph.storage.postgres_pool import Connection
    from memgraph.storage.traces import TraceCount

T = TypeVar("T")


class PostgresOutbox(Outbox):
    """Tables next to those of `postgresql:` memories, in the same database or another one.

    Each step is a transaction and locks the job that it changes; workers that claim jobs skip locked ones. Times are
    stored in the server's time: if the local clock is off by a second or more, they are converted.

    Args:
        location: The part after `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
        wait_seconds: Maximum wait for a connection while the server is down or all connections are in use.
        max_connections: Maximum per process.
    """

    def __init__(
        self, location: str = "", *, wait_seconds: float = WAIT_SECONDS, max_connections: int = MAX_CONNECTIONS
    ) -> None:
        self._database = PostgresDatabase(
            location,
            part="outbox",
            migrations=sql.MIGRATIONS,
            wait_seconds=wait_seconds,
            max_connections=max_connections,
        )

    @property
    def name(self) -> str:
        return self._database.name

    # -- submitting --

    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        def put(db: Connection, is_retry: bool) -> None:  # noqa: FBT001 - the signature that `_step` calls
            at = self._to_server_time(now)
            row = {"id": self._upsert_job(db, key, at, timing, max_jobs), "at": at, "messages": messages}
            if not (is_retry and db.execute(sql.FIND_SUBMISSION, row).fetchone() is not None):
                db.execute(sql.INSERT_SUBMISSION, row)

        self._step(put)

    def _upsert_job(
        self, db: Connection, key: ConversationKey, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> int:
        """Lock the job of *key*, or insert it, set when it is due after a submission now, and return its id."""
        job_key = key_params(key, self.storage or "")
        adopt_job(db, job_key)
        found = lock_job(db, job_key)
        if found is None:
            pending, of_user = fetch_one(db.execute(sql.COUNT_PENDING, job_key).fetchone())
            self.check_capacity(pending, of_user, max_jobs)
            job_id = insert_job(db, job_key, at=now, due=timing.due(now, now))
            return job_id if job_id is not None else self._upsert_job(db, key, now, timing, max_jobs)
        job_id, first_at, due_at, retry_at = found
        due = timing.next_due(first_at, now, due_at, retry_at)
        db.execute(sql.UPDATE_DUE, {"id": job_id, "at": now, "due": due})
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
        claims, params = list[Claim](), scope_params(self.storage, scope, thread_id)
        while len(claims) < limit:
            # one per transaction: while it holds an uncommitted lease it must not wait for another row
            found = self._step(lambda db, _: claim_next(db, self._to_server_time(now), lease_seconds, params))
            if found is None:
                break
            claims.append(self._claim_with_local_times(found))
        return tuple(claims)

    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        def renew(db: Connection, _: object) -> frozenset[str]:
            at = self._to_server_time(now)
            row = {"holders": list(leases), "now": at, "until": at + lease_seconds}
            return frozenset(holder for (holder,) in db.execute(sql.RENEW_LEASE, row).fetchall())

        return self._step(renew)

    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        first, *others = claim.submissions
        merged = Submission(first.number, claim.submissions[-1].at, messages)

        def rewrite(db: Connection, _: object) -> Claim | None:
            db.execute(sql.LOCK_CLAIMED, {"id": claim.job_id})
            if db.execute(sql.LOCK_LEASE, {"lease": claim.lease_id}).fetchone() is None:
                return None
            row = {
                **claim_params(claim),
                "number": merged.number,
                "at": self._to_server_time(merged.at),
                "messages": messages,
            }
            db.execute(sql.REPLACE_SUBMISSION, row)
            db.execute(sql.DELETE_CLAIMED, {"id": claim.job_id, "numbers": [each.number for each in others]})
            return replace(claim, submissions=(merged,))

        return self._step(rewrite)

    def complete(self, claim: Claim, *, timing: DebouncePolicy, deletion: str = "") -> bool:
        def end(db: Connection) -> None:
            db.execute(sql.DELETE_CLAIMED, claim_params(claim))
            finish_job(db, claim.job_id, timing)
            if deletion not in {"", claim.deletion}:
                row = {**scope_params(self.storage, claim.key.scope), "at": deletion}
                db.execute(sql.INSERT_FOUND_DELETION, row)

        return self._end(claim, end)

    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        def end(db: Connection) -> None:
            row = {"id": claim.job_id, "error": sanitize_text(error), "at": self._to_server_time(retry_at)}
            db.execute(sql.MARK_FAILED, row)

        return self._end(claim, end)

    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        def end(db: Connection) -> None:
            move_to_dead_letters(db, claim, self._to_server_time(claim.submissions[0].at), sanitize_text(error))
            finish_job(db, claim.job_id, timing)

        return self._end(claim, end)

    def hold_for_review(self, claim: Claim, proposal: str, *, now: float) -> bool:
        def end(db: Connection) -> None:
            row = {"job_id": claim.job_id, "id": claim.lease_id, "at": self._to_server_time(now), "held": proposal}
            db.execute(sql.INSERT_REVIEW, row)
            db.execute(sql.MARK_IN_REVIEW, row)

        return self._end(claim, end)

    def release(self, claim: Claim) -> None:
        self._step(lambda db, _: db.execute(sql.END_LEASE, {"lease": claim.lease_id}))

    # -- inspecting and changing jobs --

    def next_due(self, *, now: float) -> float | None:
        def select(db: Connection, _: object) -> float | None:
            row = {"now": self._to_server_time(now), "storage": self.storage}
            return fetch_one(db.execute(sql.NEXT_DUE, row).fetchone())[0]

        due = self._step(select)
        return None if due is None or due == NEVER else self._to_local_time(due)

    def pending(self, *, now: float) -> tuple[Job, ...]:
        return self._list(aside=False, now=now)

    def submissions(self, key: ConversationKey) -> PendingSubmissions:
        found = self._step(lambda db, _: read_submissions(db, key_params(key, self.storage or "")))
        return found._replace(submissions=self._with_submission_times(found.submissions))

    def dead_letters(self) -> tuple[Job, ...]:
        return self._list(aside=True, now=0)

    def expedite(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> None:
        params = scope_params(self.storage, scope, thread_id)
        self._step(lambda db, _: db.execute(sql.EXPEDITE, {"now": self._to_server_time(now), **params}))

    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        rows = self._step(
            lambda db, _: db.execute(sql.SELECT_DEAD_LETTERS, scope_params(self.storage, scope, thread_id)).fetchall()
        )
        # one per transaction: locking several jobs in arbitrary order could deadlock
        keys = [key_params(read_key(*key), storage) for *key, storage in rows]
        return sum(self._step(lambda db, _, key=key: requeue(db, key, self._to_server_time(now))) for key in keys)

    def in_review(self) -> tuple[HeldJob, ...]:
        rows = self._step(lambda db, _: db.execute(sql.LIST_IN_REVIEW, {"storage": self.storage}).fetchall())
        return tuple(
            replace(held_job, job=self._with_local_times(held_job.job), at=self._to_local_time(held_job.at))
            for held_job in map(read_held_job, rows)
        )

    def decide(self, review_id: str, decision: str, *, now: float) -> bool:
        def decide(db: Connection, is_retry: bool) -> bool:  # noqa: FBT001 - the signature that `_step` calls
            row = {"id": review_id, "decision": decision}
            db.execute(sql.LOCK_REVIEWED_JOB, row)
            found = db.execute(sql.UPDATE_DECISION, row).fetchone()
            if found:
                db.execute(sql.MARK_DECIDED, {"id": found[0], "now": self._to_server_time(now)})
            return found is not None or (is_retry and db.execute(sql.FIND_DECISION, row).fetchone() is not None)

        return self._step(decide)

    def cancel_review(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        def reopen(db: Connection, _: object) -> int:
            ids = [
                job_id
                for (job_id,) in db.execute(
                    sql.LOCK_JOBS_IN_REVIEW, scope_params(self.storage, scope, thread_id)
                ).fetchall()
            ]
            db.execute(sql.CANCEL_REVIEWS, {"ids": ids, "now": self._to_server_time(now)})
            db.execute(sql.DELETE_REVIEWS, {"ids": ids})
            return len(ids)

        return self._step(reopen)

    def record_deletion(self, scope: Scope, deletion: str) -> int:
        def record(db: Connection, _: object) -> int:
            params = scope_params(self.storage, scope)
            db.execute(sql.LOCK_JOBS, params)
            db.execute(sql.INSERT_DELETION, {**params, "at": deletion})
            numbers = db.execute(sql.FORGET_SUBMISSIONS, params).fetchall()
            return max((number for (number,) in numbers), default=0)

        return self._step(record)

    def texts_of(self, user_id: str) -> UserTexts:
        row = {"user_id": user_id, "storage": self.storage}
        submissions, reviews = self._step(
            lambda db, _: (
                db.execute(sql.SELECT_USER_MESSAGES, row).fetchall(),
                db.execute(sql.SELECT_USER_REVIEWS, row).fetchall(),
            )
        )
        return UserTexts(tuple(text for (text,) in submissions), tuple(text for (text,) in reviews))

    def delete_user(self, user_id: str) -> None:
        def delete(db: Connection, _: object) -> None:
            row = {"user_id": user_id, "storage": self.storage}
            jobs = {"ids": [job_id for (job_id,) in db.execute(sql.LOCK_USER_JOBS, row).fetchall()]}
            db.execute(sql.DELETE_USER_LEASES, row)
            db.execute(sql.DELETE_SUBMISSIONS, jobs)
            db.execute(sql.DELETE_JOBS, jobs)  # and their reviews

        self._step(delete)

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        try:
            return find_in_postgres(self._database, user_id, fragments)
        except StorageError as error:
            raise OutboxError(str(error)) from error

    def close(self) -> None:
        self._database.close()

    # -- transactions --

    def _step(self, act: Callable[[Connection, bool], T]) -> T:
        """Run *act* in a transaction of its own; its second argument is whether this is a retry."""

        def step(db: Connection, is_retry: bool) -> T:  # noqa: FBT001
            with db.transaction():
                return act(db, is_retry)

        try:
            return self._database.run(step)
        except StorageError as error:
            raise OutboxError(str(error)) from error

    def _end(self, claim: Claim, act: Callable[[Connection], object]) -> bool:
        """End the lease of *claim* and run *act*; no effect if the lease was lost."""

        def end(db: Connection, _: object) -> bool:
            db.execute(sql.LOCK_CLAIMED, {"id": claim.job_id})
            was_held = db.execute(sql.END_LEASE, {"lease": claim.lease_id}).rowcount > 0
            if was_held:
                act(db)
            return was_held

        return self._step(end)

    def _list(self, *, aside: bool, now: float) -> tuple[Job, ...]:
        def select(db: Connection, _: object) -> list[tuple[Any, ...]]:
            row = {"aside": aside, "now": self._to_server_time(now), "storage": self.storage}
            return db.execute(sql.LIST_JOBS, row).fetchall()

        return tuple(self._with_local_times(read_job(row)) for row in self._step(select))

    # -- times --

    def _to_server_time(self, at: float) -> float:
        """Convert a local time to the server's. The skew is measured by the first step."""
        return at + self._database.skew()

    def _to_local_time(self, at: float) -> float:
        return at - self._database.skew()

    def _with_local_times(self, job: Job) -> Job:
        first_at, last_at, due_at = (self._to_local_time(at) for at in (job.first_at, job.last_at, job.due_at))
        return replace(job, first_at=first_at, last_at=last_at, due_at=due_at)

    def _claim_with_local_times(self, claim: Claim) -> Claim:
        decided = claim.decided and replace(claim.decided, at=self._to_local_time(claim.decided.at))
        return replace(claim, submissions=self._with_submission_times(claim.submissions), decided=decided)

    def _with_submission_times(self, submissions: Sequence[Submission]) -> tuple[Submission, ...]:
        return tuple(replace(each, at=self._to_local_time(each.at)) for each in submissions)
