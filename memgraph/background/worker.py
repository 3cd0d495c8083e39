"""The crew: threads that keep an engine running. One waits and hands out jobs, the others run one job each.

All are daemons with threads of their own rather than a pool's, since a pool is joined at exit; a job that hangs
holds up its own scope and nothing else.
"""

from __future__ import annotations

import contextvars
import logging
import math
import threading
import time
from typing import TYPE_CHECKING

from memgraph.errors import OutboxError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memgraph.background.outbox import Claim, Job
    from memgraph.background.runner import JobRunner

logger = logging.getLogger("memgraph.invoker")

POLL_SECONDS = 1.0
"""How often to look for what other processes left."""
ERROR_BACKOFF_SECONDS = 5.0
"""How long to wait when the outbox cannot be reached."""
FLUSH_POLL_SECONDS = 0.1
"""How often flush looks whether it is done, while jobs run."""
FLUSH_POLL_FACTOR = 20
"""Where a look takes long, the next one comes after that many times as long."""


class Worker:
    """Runs the jobs of *engine* when they are due, until it is closed."""

    def __init__(self, engine: JobRunner) -> None:
        self._runner = engine
        self._lock = threading.Condition()
        self._woken = False
        self._running: dict[str, Claim] = {}
        self._dispatcher: threading.Thread | None = None
        self._flush_requests = False
        self._wake_at = math.inf
        self._renew_at = 0.0

    def start(self) -> None:
        """Start handing out jobs, once; also what an earlier process left."""
        with self._lock:
            self._flush_requests = True
            if self._dispatcher is None and not self._runner.closing:
                self._dispatcher = threading.Thread(target=self._dispatch, daemon=True, name="memgraph-invoker")
                self._dispatcher.start()

    def schedule_wakeup(self, due: float) -> None:
        """Something will be due at *due*: look then, if not before. Cheap, since every submission says so."""
        if due < self._wake_at:
            self.wake()

    def ensure_started(self) -> None:
        """Start again in the child of a fork, where there is no thread."""
        if self._flush_requests and self._dispatcher is None:
            self.start()

    def wake(self) -> None:
        """Look again now: something may be due earlier than was thought."""
        with self._lock:
            self._woken = True
            self._lock.notify_all()

    def flush(self, timeout: float | None) -> bool:
        """Run what waits now, and wait until each of it was run once. Whether all of it was learned from."""
        deadline = _deadline(timeout)
        before = {job.id: job for job in self._waiting()}
        if not before:
            return True
        self._runner.outbox.expedite(now=self._runner.clock.now())
        self.wake()
        while True:
            looked = time.monotonic()
            left = [job for job in self._waiting() if _is_left(before.get(job.id), job)]
            if not left:
                return not any(_was_among(before.values(), job) for job in self._not_learned())
            all_tried = all(job.attempts != before[job.id].attempts for job in left)
            now = time.monotonic()
            if all_tried or now >= deadline or self._runner.closing:
                return False
            self._wait_for_progress(min(max(FLUSH_POLL_SECONDS, FLUSH_POLL_FACTOR * (now - looked)), deadline - now))

    def _wait_for_progress(self, seconds: float) -> None:
        """Wait, but only a moment while nothing runs: it is about to begin, or has ended."""
        with self._lock:
            self._lock.wait_for(lambda: not self._running, seconds)
            if not self._running:
                self._lock.wait(seconds / 10)

    def close(self, timeout: float) -> bool:
        """Hand out nothing more, and wait for what runs. Whether all of it ended in time."""
        self._runner.closing = True
        deadline = _deadline(timeout)
        self.wake()
        dispatcher = self._dispatcher
        if dispatcher:  # first, since it may be about to start what it claimed
            dispatcher.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            ended = self._lock.wait_for(lambda: not self._running, max(0.0, deadline - time.monotonic()))
        return ended and not (dispatcher and dispatcher.is_alive())

    def after_fork(self) -> None:
        """In a child process: there are no threads here until somebody asks for something."""
        self._lock = threading.Condition()
        self._woken = False
        self._running = {}
        self._dispatcher = None

    # -- the dispatcher -------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        troubled = False
        while not self._runner.closing:
            try:
                wait, troubled = self._dispatch_due(), False
            except Exception as error:  # said in the log; without this thread nothing would run any more
                expected = isinstance(error, OutboxError)
                level = logging.DEBUG if troubled else logging.ERROR
                logger.log(level, "updates wait: %s", error, exc_info=None if expected else error)
                wait, troubled = ERROR_BACKOFF_SECONDS, True
            with self._lock:
                if not self._woken:
                    self._lock.wait(wait)
                self._woken = False

    def _dispatch_due(self) -> float:
        """Start what is due as far as there is room, keep the leases, and say how long to wait."""
        engine = self._runner
        self._wake_at = math.inf  # until it is known when to look again, whatever comes in has to wake us
        room = self._free_slots()
        due = engine.outbox.next_due(now=engine.clock.now())
        if room and due is not None and due <= engine.clock.now():
            for claim in engine.claim(room):
                self._start(claim)
            room = self._free_slots()
            due = engine.outbox.next_due(now=engine.clock.now())
        self._renew()
        now = engine.clock.now()
        wait = min(POLL_SECONDS, engine.limits.lease_seconds / 3)
        if room and due is not None:
            wait = min(wait, max(0.0, due - now, engine.rate_limited_until - now))
        self._wake_at = now + wait
        return wait

    def _free_slots(self) -> int:
        with self._lock:
            return self._runner.limits.max_concurrency - len(self._running)

    def _start(self, claim: Claim) -> None:
        # a thread begins with an empty context, except where Python was told otherwise
        run = contextvars.Context().run
        name = f"memgraph-update {claim.job_id}"
        thread = threading.Thread(target=run, args=(self._run, claim), daemon=True, name=name)
        with self._lock:
            self._running[claim.lease_id] = claim
        try:
            thread.start()
        except RuntimeError:  # no more threads may be started
            self._end(claim)
            self._runner.outbox.release(claim)
            raise

    def _run(self, claim: Claim) -> None:
        following: Claim | None = claim
        while following:
            try:
                self._runner.run(following)
            finally:
                following = self._next(following)

    def _next(self, claim: Claim) -> Claim | None:
        """What to run after *claim* in the same thread, which spares the dispatcher a turn; None if nothing is due."""
        try:
            found = () if self._runner.closing else self._runner.claim(1)
        except OutboxError:
            found = ()  # the dispatcher meets the same, and says so
        with self._lock:
            self._running.update({following.lease_id: following for following in found})
        self._end(claim, wake=not found)
        return found[0] if found else None

    def _end(self, claim: Claim, *, wake: bool = True) -> None:
        with self._lock:
            self._running.pop(claim.lease_id, None)
            self._woken = self._woken or wake
            if wake:
                self._lock.notify_all()

    def _renew(self) -> None:
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + self._runner.limits.lease_seconds / 3
            self._runner.renew()

    def _not_learned(self) -> list[Job]:
        outbox = self._runner.outbox
        return [*outbox.dead_letters(), *(held.job for held in outbox.in_review())]

    def _waiting(self) -> tuple[Job, ...]:
        return self._runner.outbox.pending(now=self._runner.clock.now())


def _is_left(before: Job | None, now: Job) -> bool:
    """Whether *now* still holds something of *before*."""
    return before is not None and now.first_number <= before.last_number


def _was_among(before: Iterable[Job], now: Job) -> bool:
    """Whether *now*, which waits no more, holds something of one of *before*."""
    return any(
        job.key == now.key and job.first_number <= now.last_number and now.first_number <= job.last_number
        for job in before
    )


def _deadline(timeout: float | None) -> float:
    return math.inf if timeout is None else time.monotonic() + timeout
