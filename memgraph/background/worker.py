"""Worker: a dispatcher thread that claims due jobs, and one thread for each running job.

All are daemon threads rather than those of an executor, which the interpreter joins at exit. A job that hangs blocks
its own scope only.
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
    from collections.abc import Callable, Mapping

    from memgraph.background.outbox import Claim, Job
    from memgraph.background.runner import JobRunner

logger = logging.getLogger("memgraph.invoker")

POLL_SECONDS = 1.0
"""Interval of checks for jobs of other processes."""
ERROR_BACKOFF_SECONDS = 5.0
"""Delay after the outbox could not be reached."""
FLUSH_POLL_SECONDS = 0.1
"""Interval at which flush checks whether it is done, while jobs run."""
FLUSH_POLL_FACTOR = 20
"""If a check takes long, the next one waits that many times as long."""
_EXIT_HAS_BEGUN = "at interpreter shutdown"
"""A part of what Python reports if it starts no more threads."""


class Worker:
    """Runs the jobs of a runner on threads of its own when they are due.

    Args:
        runner: Runs the jobs.
        is_used: Whether an invoker still submits jobs. If not, the dispatcher ends once none is pending.
        on_end: Called then, on the dispatcher's thread.
    """

    def __init__(self, runner: JobRunner, *, is_used: Callable[[], bool], on_end: Callable[[], object]) -> None:
        self._runner = runner
        self._is_used = is_used
        self._on_end = on_end
        self._lock = threading.Condition()
        self._woken = False
        self._running: dict[str, Claim] = {}
        self._finished = 0
        """How many jobs have ended."""
        self._dispatcher: threading.Thread | None = None
        self._keep_polling = False
        self._renew_at = 0.0

    @property
    def is_running(self) -> bool:
        """Whether the dispatcher runs."""
        return self._dispatcher is not None

    @property
    def is_polling(self) -> bool:
        """Whether the dispatcher runs and looks for jobs of other processes, too."""
        return self._keep_polling and self._dispatcher is not None

    @property
    def is_busy(self) -> bool:
        """Whether a job runs."""
        return bool(self._running)

    def start(self, *, keep_polling: bool = True) -> None:
        """Start the dispatcher unless it runs.

        Args:
            keep_polling: Whether it goes on when no job is pending, to find those of other processes.
        """
        with self._lock:
            self._keep_polling = self._keep_polling or keep_polling
            if self._dispatcher is None and not self._runner.is_closing:
                self._dispatcher = threading.Thread(target=self._dispatch, daemon=True, name="memgraph-invoker")
                self._dispatcher.start()

    def wake(self) -> None:
        """Make the dispatcher check now."""
        with self._lock:
            self._woken = True
            self._lock.notify_all()

    def flush(self, timeout: float | None) -> bool:
        """Run all pending jobs now, and wait until each was run once; return whether all were learned from."""
        deadline = _deadline(timeout)
        before = {job.id: job for job in self._pending()}
        if not before:
            return True
        self._runner.outbox.expedite(now=self._runner.now())
        self.wake()
        return self.wait_for(before, deadline)

    def expedite_own(self) -> dict[int, Job]:
        """Run now what this process submitted; return that and what is due, by id, but for what others run."""
        now, runner = self._runner.now(), self._runner
        jobs = {job.id: job for job in self._pending() if runner.is_own(job) or job.due_at <= now}
        for job in jobs.values():
            if job.due_at > now:
                runner.outbox.expedite(now=now, scope=job.key.scope, thread_id=job.key.thread_id or "")
        self.wake()
        return {job_id: job for job_id, job in jobs.items() if not runner.runs_elsewhere(job)}

    def wait_for(self, before: Mapping[int, Job], deadline: float) -> bool:
        """Wait until each of the jobs *before* was run once, hooks included; return whether all were learned from.

        Args:
            before: Jobs by id, as they were before they were run.
            deadline: By time.monotonic.
        """
        while True:
            poll_started, finished = time.monotonic(), self._finished
            pending = [job for job in self._pending() if job.id in before]
            unfinished = [job for job in pending if job.first_number <= before[job.id].last_number]
            now = time.monotonic()
            is_over = now >= deadline or self._runner.is_closing
            if not unfinished and (is_over or not self._reports(before)):
                dead = self._runner.outbox.dead_letters()
                return not any(
                    job.key == each.key and job.overlaps(each.first_number, each.last_number)
                    for job in before.values()
                    for each in dead
                )
            all_attempted = bool(unfinished) and all(job.attempts != before[job.id].attempts for job in unfinished)
            if all_attempted or is_over:
                return False
            interval = max(FLUSH_POLL_SECONDS, FLUSH_POLL_FACTOR * (now - poll_started))
            self._wait_for(
                lambda finished=finished: not self._running and self._finished != finished,
                min(interval, deadline - now),
            )

    def close(self, timeout: float) -> bool:
        """Start no more jobs, and wait for the running ones; return whether all ended in time.

        Their leases are renewed meanwhile, so that no other worker runs them, too.
        """
        self._runner.is_closing = True
        deadline = _deadline(timeout)
        self.wake()
        dispatcher = self._dispatcher
        if dispatcher:  # first, since it may be about to start a job that it claimed
            dispatcher.join(max(0.0, deadline - time.monotonic()))
        interval = self._runner.settings.lease_seconds / 3
        while time.monotonic() < deadline and not self._wait_for(
            lambda: not self._running, min(interval, deadline - time.monotonic())
        ):
            try:
                self._renew()
            except OutboxError as error:  # the lease may expire; the worker that takes over learns nothing twice
                logger.warning("leases were not renewed: %s", error)
        return not self._running and not (dispatcher and dispatcher.is_alive())

    def after_fork(self) -> None:
        """Reset a forked child, which has none of the parent's threads."""
        self._lock = threading.Condition()
        self._woken = False
        self._running = {}
        self._dispatcher = None
        self._keep_polling = False

    def _wait_for(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Wait at most *seconds* for a change of the running jobs, and return whether it came."""
        with self._lock:
            return self._lock.wait_for(is_over, max(0.0, seconds))

    def _reports(self, jobs: Mapping[int, Job]) -> bool:
        """Whether one of *jobs* has been learned from, but its hooks may not have been called yet."""
        running = [claim for claim in tuple(self._running.values()) if claim.job_id in jobs]
        return any(
            jobs[claim.job_id].overlaps(claim.submissions[0].number, claim.submissions[-1].number) for claim in running
        )

    def _pending(self) -> tuple[Job, ...]:
        return self._runner.outbox.pending(now=self._runner.now())

    # -- the dispatcher -------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        is_failing = False
        while not self._runner.is_closing:
            try:
                wait, has_jobs = self._dispatch_due()
                is_failing = False
                if not has_jobs and self._end_if_idle():
                    self._on_end()
                    return
            except Exception as error:  # logged: without this thread no job would run any more
                if isinstance(error, RuntimeError) and _EXIT_HAS_BEGUN in str(error):
                    return  # the claim was released: the next process runs the job
                is_expected = isinstance(error, OutboxError)
                level = logging.DEBUG if is_failing else logging.ERROR
                logger.log(level, "updates wait: %s", error, exc_info=None if is_expected else error)
                wait, is_failing = ERROR_BACKOFF_SECONDS, True
            with self._lock:
                if not self._woken:
                    self._lock.wait(wait)
                self._woken = False

    def _end_if_idle(self) -> bool:
        """Return whether the dispatcher ends, since nothing runs and it has no user; `start` starts it again."""
        with self._lock:
            is_needed = self._woken or self._running or (self._keep_polling and self._is_used())
            if not is_needed:
                self._dispatcher = None
            return not is_needed

    def _dispatch_due(self) -> tuple[float, bool]:
        """Start due jobs as far as slots are free, and renew leases.

        Returns:
            How long to wait for the next check, and whether any job is pending.
        """
        runner = self._runner
        free_slots = self._free_slots()
        due = runner.outbox.next_due(now=runner.now())
        if free_slots and due is not None and due <= runner.now():
            for claim in runner.claim(free_slots):
                self._start(claim)
            free_slots = self._free_slots()
            due = runner.outbox.next_due(now=runner.now())
        self._renew()
        now = runner.now()
        wait = min(POLL_SECONDS, runner.settings.lease_seconds / 3)
        if free_slots and due is not None:
            wait = min(wait, max(0.0, due - now, runner.rate_limited_until - now))
        return wait, due is not None

    def _free_slots(self) -> int:
        with self._lock:
            return self._runner.settings.max_concurrency - len(self._running)

    def _renew(self) -> None:
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + self._runner.settings.lease_seconds / 3
            self._runner.renew()

    # -- job threads ----------------------------------------------------------------------------------

    def _start(self, claim: Claim) -> None:
        # Context().run, since Python can be configured to start threads with a copy of the caller's context
        run = contextvars.Context().run
        name = f"memgraph-update {claim.job_id}"
        thread = threading.Thread(target=run, args=(self._run, claim), daemon=True, name=name)
        with self._lock:
            self._running[claim.lease_id] = claim
        try:
            thread.start()
        except RuntimeError:  # the process may not start more threads
            self._finish(claim)
            self._runner.outbox.release(claim)
            raise

    def _run(self, claim: Claim) -> None:
        try:
            self._runner.run(claim)
        finally:
            self._finish(claim)

    def _finish(self, claim: Claim) -> None:
        with self._lock:
            self._running.pop(claim.lease_id, None)
            self._finished += 1
        self.wake()


def _deadline(timeout: float | None) -> float:
    return math.inf if timeout is None else time.monotonic() + timeout
