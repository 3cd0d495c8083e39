"""The outbox on PostgreSQL: durable, and shared by any number of machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph.background import postgres_sql as sql
from memgraph.background.outbox import Claim, ConversationKey, HeldJob, Job, Outbox, Submission
from memgraph.background.postgres_steps import (
    claimed,
    fetch_one,
    finish_job,
    held_of,
    insert_job,
    job_of,
    key_of,
    lock_job,
    move_aside,
    requeue,
    row_of_claim,
    scope_params,
    storable_text,
)
from memgraph.background.schedule import NEVER
from memgraph.errors import OutboxError, QueueFullError, StorageError
from memgraph.storage.postgres_pool import MAX_CONNECTIONS, WAIT_SECONDS, PostgresDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from memgraph.background.schedule import DebouncePolicy
    from memgraph.models import Scope
    from memgraph.storage.postgres_pool import Connection

T = TypeVar("T")


class PostgresOutbox(Outbox):
    """Tables beside those of `postgresql:` memories, in the same database or another.

    Each step is a transaction. A step locks the job it changes; who looks for work passes locked ones over.
    What is kept is in the server's time: where a machine's clock is off by a second or more, times are translated.

    Args:
        location: What follows `postgresql:`, as in `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
        wait_seconds: How long to wait for a connection while the server is away, or all are in use.
        max_connections: Of each process.
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

    # -- handing over --

    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        def put(db: Connection, again: bool) -> None:  # noqa: FBT001 - as run has it
            at = self._to_server_time(now)
            row = {"id": self._upsert_job(db, key, at, timing, max_jobs), "at": at, "messages": messages}
            if not (again and db.execute(sql.FIND_SUBMISSION, row).fetchone() is not None):
                db.execute(sql.INSERT_SUBMISSION, row)

        self._step(put)

    def _upsert_job(
        self, db: Connection, key: ConversationKey, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> int:
        """The job of *key*, locked, made where there is none, with the time it is due after a submission now."""
        found = lock_job(db, key)
        if found is None:
            if fetch_one(db.execute(sql.COUNT_WAITING).fetchone())[0] >= max_jobs:
                raise QueueFullError(self.name, max_jobs)
            job_id = insert_job(db, key, at=now, due=timing.due(now, now))
            return job_id if job_id is not None else self._upsert_job(db, key, now, timing, max_jobs)
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
        while len(claims) < limit:
            # one at a time: who holds a lease that is not committed must not wait for another
            found = self._step(lambda db, _: claimed(db, self._to_server_time(now), lease_seconds, scope, thread_id))
            if found is None:
                break
            claims.append(self._claim_here(found))
        return tuple(claims)

    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        def renew(db: Connection, _: object) -> frozenset[str]:
            row = {"holders": list(leases), "until": self._to_server_time(now) + lease_seconds}
            return frozenset(holder for (holder,) in db.execute(sql.RENEW, row).fetchall())

        return self._step(renew)

    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        first, *others = claim.submissions
        written = Submission(first.number, claim.submissions[-1].at, messages)

        def rewrite(db: Connection, _: object) -> Claim | None:
            db.execute(sql.LOCK_CLAIMED, {"id": claim.job_id})
            if db.execute(sql.LOCK_LEASE, {"lease": claim.lease_id}).fetchone() is None:
                return None
            row = {
                "id": claim.job_id,
                "number": written.number,
                "at": self._to_server_time(written.at),
                "messages": messages,
            }
            db.execute(sql.REWRITE, row)
            db.execute(sql.DELETE_CLAIMED, {"id": claim.job_id, "numbers": [each.number for each in others]})
            return replace(claim, submissions=(written,))

        return self._step(rewrite)

    def complete(self, claim: Claim, *, timing: DebouncePolicy) -> bool:
        def end(db: Connection) -> None:
            db.execute(sql.DELETE_CLAIMED, row_of_claim(claim))
            finish_job(db, claim.job_id, timing)

        return self._end(claim, end)

    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        def end(db: Connection) -> None:
            row = {"id": claim.job_id, "error": storable_text(error), "at": self._to_server_time(retry_at)}
            db.execute(sql.FAILED_JOB, row)

        return self._end(claim, end)

    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        def end(db: Connection) -> None:
            move_aside(db, claim, self._to_server_time(claim.submissions[0].at), storable_text(error))
            finish_job(db, claim.job_id, timing)

        return self._end(claim, end)

    def hold_for_review(self, claim: Claim, held: str, *, now: float) -> bool:
        def end(db: Connection) -> None:
            row = {"job_id": claim.job_id, "id": claim.lease_id, "at": self._to_server_time(now), "held": held}
            db.execute(sql.HOLD, row)
            db.execute(sql.HELD_JOB, row)

        return self._end(claim, end)

    def release(self, claim: Claim) -> None:
        self._step(lambda db, _: db.execute(sql.END_LEASE, {"lease": claim.lease_id}))

    # -- looking and steering --

    def next_due(self, *, now: float) -> float | None:
        due = self._step(
            lambda db, _: fetch_one(db.execute(sql.NEXT_DUE, {"now": self._to_server_time(now)}).fetchone())[0]
        )
        return None if due in (None, NEVER) else self._to_local_time(due)

    def pending(self, *, now: float) -> tuple[Job, ...]:
        return self._list(aside=False, now=now)

    def dead_letters(self) -> tuple[Job, ...]:
        return self._list(aside=True, now=0)

    def expedite(self, *, now: float, scope: Scope | None = None) -> None:
        self._step(lambda db, _: db.execute(sql.HASTEN, {"now": self._to_server_time(now), **scope_params(scope)}))

    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        rows = self._step(lambda db, _: db.execute(sql.SELECT_ASIDE, scope_params(scope, thread_id)).fetchall())
        # one at a time: who puts back several at once would wait for others in whatever order they were set aside
        keys = [key_of(*row) for row in rows]
        return sum(self._step(lambda db, _, key=key: requeue(db, key, self._to_server_time(now))) for key in keys)

    def in_review(self) -> tuple[HeldJob, ...]:
        rows = self._step(lambda db, _: db.execute(sql.LIST_HELD).fetchall())
        return tuple(
            replace(held, job=self._job_here(held.job), at=self._to_local_time(held.at)) for held in map(held_of, rows)
        )

    def decide(self, held_id: str, decision: str, *, now: float) -> bool:
        def decide(db: Connection, again: bool) -> bool:  # noqa: FBT001 - as run has it
            row = {"id": held_id, "decision": decision}
            db.execute(sql.LOCK_HELD, row)
            found = db.execute(sql.DECIDE, row).fetchone()
            if found:
                db.execute(sql.DECIDED_JOB, {"id": found[0], "now": self._to_server_time(now)})
            return found is not None or (again and db.execute(sql.FIND_DECISION, row).fetchone() is not None)

        return self._step(decide)

    def cancel_review(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        def reopen(db: Connection, _: object) -> int:
            ids = [job_id for (job_id,) in db.execute(sql.LOCK_IN_REVIEW, scope_params(scope, thread_id)).fetchall()]
            db.execute(sql.REOPEN, {"ids": ids, "now": self._to_server_time(now)})
            db.execute(sql.DELETE_REVIEWS, {"ids": ids})
            return len(ids)

        return self._step(reopen)

    def close(self) -> None:
        self._database.close()

    # -- transactions --

    def _step(self, act: Callable[[Connection, bool], T]) -> T:
        """Do *act* as a transaction of its own."""

        def step(db: Connection, again: bool) -> T:  # noqa: FBT001
            with db.transaction():
                return act(db, again)

        try:
            return self._database.run(step)
        except StorageError as error:
            raise OutboxError(str(error)) from error

    def _end(self, claim: Claim, act: Callable[[Connection], object]) -> bool:
        """End the lease of *claim* and do *act*; nothing at all where the lease was lost."""

        def end(db: Connection, _: object) -> bool:
            db.execute(sql.LOCK_CLAIMED, {"id": claim.job_id})
            held = db.execute(sql.END_LEASE, {"lease": claim.lease_id}).rowcount > 0
            if held:
                act(db)
            return held

        return self._step(end)

    def _list(self, *, aside: bool, now: float) -> tuple[Job, ...]:
        def select(db: Connection, _: object) -> list[tuple[Any, ...]]:
            return db.execute(sql.LIST, {"aside": aside, "now": self._to_server_time(now)}).fetchall()

        return tuple(self._job_here(job_of(row)) for row in self._step(select))

    # -- times --

    def _to_server_time(self, at: float) -> float:
        """The server's time when it is *at* here. Known once a step has begun."""
        return at + self._database.skew()

    def _to_local_time(self, at: float) -> float:
        return at - self._database.skew()

    def _job_here(self, job: Job) -> Job:
        first_at, last_at, due_at = (self._to_local_time(at) for at in (job.first_at, job.last_at, job.due_at))
        return replace(job, first_at=first_at, last_at=last_at, due_at=due_at)

    def _claim_here(self, claim: Claim) -> Claim:
        submissions = tuple(replace(each, at=self._to_local_time(each.at)) for each in claim.submissions)
        decided = claim.decided and replace(claim.decided, at=self._to_local_time(claim.decided.at))
        return replace(claim, submissions=submissions, decided=decided)
