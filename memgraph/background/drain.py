"""Runs jobs on the calling thread: immediate mode and deletions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memgraph.background.planning import last_deletion

if TYPE_CHECKING:
    from memgraph.background.outbox import ConversationKey, Outbox
    from memgraph.background.runner import JobRunner
    from memgraph.models import MemoryDocument, Scope

POLL_SECONDS = 0.01
"""Interval of checks whether other workers are done."""
DISCARD_TIMEOUT_SECONDS = 2.0
"""Maximum seconds to wait for other workers to discard a job that they run."""


def drain_conversation(runner: JobRunner, key: ConversationKey) -> BaseException | None:
    """Run the job of *key*, wait if another worker updates the same memory, and return the first error.

    Jobs of other conversations are left alone: their errors and attempts are not those of this one.
    """
    thread_id = key.thread_id or ""
    runner.outbox.expedite(now=runner.now(), scope=key.scope, thread_id=thread_id)
    first_error: BaseException | None = None
    while True:
        claims = runner.claim(1, key.scope, thread_id)
        for claim in claims:
            first_error = runner.run(claim) or first_error
        if claims:
            continue
        if not any(job.running and job.key == key for job in runner.outbox.pending(now=runner.now())):
            return first_error
        time.sleep(POLL_SECONDS)


def drain(runner: JobRunner) -> bool:
    """Run all pending jobs; return whether all of them were learned from."""
    runner.outbox.expedite(now=runner.now())
    before = runner.stats()
    runner.run_due()
    after = runner.stats()
    return after.failed == before.failed and not runner.outbox.pending(now=runner.now())


def forget_submissions(outbox: Outbox, scope: Scope, deletion: str, *, now: float) -> int:
    """Record a deletion of the memory of *scope*, and make all its jobs due, so that workers discard them.

    Dead letters are included.

    Returns:
        The number of the last forgotten submission; 0 if there is none.
    """
    last = outbox.record_deletion(scope, deletion)
    outbox.retry(now=now, scope=scope)
    outbox.expedite(now=now, scope=scope)
    return last


def discard_forgotten(runner: JobRunner, scope: Scope, tombstone: MemoryDocument) -> None:
    """Run all jobs of *scope*, dead letters included, after its memory was deleted.

    Submissions so far are marked as learned without a model call. Jobs that another worker runs are waited for,
    unless that worker is calling a model: then it finds the deletion by itself.
    """
    deadline = time.monotonic() + DISCARD_TIMEOUT_SECONDS
    last = forget_submissions(runner.outbox, scope, last_deletion(tombstone), now=runner.now())
    runner.run_due(scope)
    while time.monotonic() < deadline and any(
        job.key.scope == scope and job.first_number <= last for job in runner.outbox.pending(now=runner.now())
    ):
        time.sleep(POLL_SECONDS)
