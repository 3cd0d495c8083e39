"""Running jobs in the calling thread, for those who want it now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memgraph.background.outbox import ConversationKey
    from memgraph.background.runner import JobRunner
    from memgraph.models import Scope

POLL_SECONDS = 0.01
"""How often to look whether others are done."""
DROP_SECONDS = 2.0
"""How long others may take to drop a job, where they have it."""


def drain_scope(engine: JobRunner, scope: Scope) -> BaseException | None:
    """Run what waits for *scope* in this thread, waiting for others who are at it; return the first error."""
    engine.outbox.expedite(now=engine.clock.now(), scope=scope)
    first: BaseException | None = None
    while True:
        claims = engine.claim(1, scope)
        for claim in claims:
            first = engine.run(claim) or first
        waiting = engine.outbox.pending(now=engine.clock.now()) if not claims else ()
        if not claims and not any(job.running and job.key.scope == scope for job in waiting):
            return first
        if not claims:
            time.sleep(POLL_SECONDS)


def drain(engine: JobRunner) -> bool:
    """Run all that waits in this thread; return whether all of it was learned from."""
    engine.outbox.expedite(now=engine.clock.now())
    before = engine.stats()
    engine.run_due()
    after = engine.stats()
    is_well = (after.failed, after.held) == (before.failed, before.held)
    return is_well and not engine.outbox.pending(now=engine.clock.now())


def apply_decision(engine: JobRunner, key: ConversationKey, *, asks: bool = True) -> BaseException | None:
    """Run the job of *key*, if it is due, was decided, and nobody is at it; return the error."""
    for claim in engine.claim(1, key.scope, key.thread_id or ""):
        if claim.decided:
            return engine.run(claim, allow_model=asks)
        engine.outbox.release(claim)
    return None


def discard_forgotten(engine: JobRunner, scope: Scope, before: float) -> None:
    """Run what waits, was set aside or is in review for *scope*, passing by what came in *before* without a model.

    A worker may be at it too, which takes as long. One that is asking a model is not waited for: it finds out itself.
    """
    deadline = time.monotonic() + DROP_SECONDS
    engine.outbox.retry(now=engine.clock.now(), scope=scope)
    engine.outbox.cancel_review(now=engine.clock.now(), scope=scope)
    engine.outbox.expedite(now=engine.clock.now(), scope=scope)
    engine.run_due(scope)
    while time.monotonic() < deadline and any(
        job.key.scope == scope and job.first_at <= before for job in engine.outbox.pending(now=engine.clock.now())
    ):
        time.sleep(POLL_SECONDS)
