"""JobRunner: claims jobs from an outbox, runs them on the calling thread, and completes, retries or parks them."""

from __future__ import annotations

import contextvars
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memgraph._concurrency import time_limit
from memgraph.background.execution import MAX_COMPUTING, Attempt, ComputePermit, OnStart, UpdateExecutor, UpdateResult
from memgraph.background.invoker import Stats
from memgraph.background.outbox import Claim, ConversationKey, Job, LeaseLostError, Outbox, Submission
from memgraph.background.planning import last_deletion
from memgraph.background.schedule import MAX_ATTEMPTS, MAX_RETRY_SECONDS, Clock, DebouncePolicy, retry_delay
from memgraph.background.waiting import TIMING
from memgraph.errors import (
    ConfigError,
    ConversationError,
    IdentityError,
    ModelSetupError,
    OutboxError,
    WrongStorageError,
)
from memgraph.llm.call import retry_after
from memgraph.telemetry import count_running, record_failure, record_wait

if TYPE_CHECKING:
    from memgraph.models import MemoryDocument, Scope
    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.invoker")

SUBMIT_SECONDS = 2.0
"""Time for a submission and what it keeps of the user's words, if the storage is a database."""
MIN_RECORD_SECONDS = 0.2
POLL_SECONDS = 0.01
"""Interval of checks whether other workers are done."""
DISCARD_TIMEOUT_SECONDS = 2.0
"""Maximum seconds to wait for other workers to discard a job that they run."""

PERMANENT_ERRORS = (ConfigError, ConversationError, IdentityError, ModelSetupError, WrongStorageError)
"""Errors that a retry cannot fix: the job becomes a dead letter at once."""

OnUpdate = Callable[[UpdateResult], object]
OnError = Callable[["Claim", BaseException], object]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Client:
    """One user of a runner: an invoker, until it is closed or garbage-collected, and the hooks that it was given."""

    on_update: OnUpdate | None = None
    """Called after each update."""
    on_error: OnError | None = None
    """Called after each failed attempt."""
    on_start: OnStart | None = None
    """Called before each attempt."""


class JobRunner:
    """Runs the jobs of an outbox on the calling thread.

    Args:
        outbox: The queue.
        executor: Runs the update graph for one job.
        settings: When jobs are due, and how many run.
        clock: The time of day; tests inject a fake.
        rng: Random numbers in [0, 1) for the jitter of retries.
    """

    def __init__(
        self,
        outbox: Outbox,
        executor: UpdateExecutor,
        settings: Settings,
        *,
        clock: Clock | None = None,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self.outbox = outbox
        self.settings = settings
        self.timing = DebouncePolicy(settings.debounce_seconds, settings.max_wait_seconds)
        self.now = clock.now if clock else time.time
        """Returns seconds since 1970."""
        self.is_closing = False
        """While true, failures do not count as attempts: the interpreter may be shutting down."""
        self._executor = executor
        self._permits = threading.Semaphore(MAX_COMPUTING)
        self._rng = rng
        self._lock = threading.Lock()
        self._stats = Stats()
        self._leased: dict[str, Claim] = {}
        self._submitted: dict[ConversationKey, float] = {}
        """When this process last submitted to a conversation, the earliest first."""
        self.rate_limited_until = 0.0
        """When the provider accepts calls again, after it answered with Retry-After."""
        self.clients: Callable[[], Sequence[Client]] = tuple
        """Returns the users of this runner, whose hooks are called."""

    def submit(self, key: ConversationKey, messages: str) -> None:
        """Add *messages* to the outbox, durably.

        What the user said in them can be recalled when this returns, unless the storage does not answer.
        """
        now, began = self.now(), time.monotonic()
        self.outbox.enqueue(key, messages, now=now, timing=self.timing, max_jobs=self.settings.max_queued)
        self._count(submitted=1)
        with self._lock:
            self._submitted.pop(key, None)
            self._submitted[key] = now
            # what has waited longer is due anyway
            while self._submitted[oldest := next(iter(self._submitted))] < now - self.timing.max_wait:
                del self._submitted[oldest]
        with time_limit(max(MIN_RECORD_SECONDS, SUBMIT_SECONDS - (time.monotonic() - began))):
            self._executor.episodes.record(key, Submission(0, now, messages), self.outbox)

    def is_own(self, job: Job) -> bool:
        """Whether this process submitted to *job*, and it may not be due yet."""
        return job.key in self._submitted

    def runs_elsewhere(self, job: Job) -> bool:
        """Whether another process works on the memory of *job*."""
        return job.running and all(claim.key.scope != job.key.scope for claim in tuple(self._leased.values()))

    def hand_over(self, *, abandoned: bool) -> None:
        """Let the next process run at once what this one has not, *abandoned* jobs too if the process ends."""
        try:
            for key in tuple(self._submitted):
                self.outbox.expedite(now=self.now(), scope=key.scope, thread_id=key.thread_id or "")
            for claim in tuple(self._leased.values()) if abandoned else ():
                self.outbox.release(claim)
        except OutboxError as error:
            logger.warning("what is pending waits for its due time: %s", error)

    # -- running --

    def claim(self, limit: int, scope: Scope | None = None, thread_id: str | None = None) -> tuple[Claim, ...]:
        """Claim up to *limit* due jobs, see `Outbox.claim`; none while the provider limits the rate."""
        now = self.now()
        if limit <= 0 or now < self.rate_limited_until:
            return ()
        seconds = self.settings.lease_seconds
        return self.outbox.claim(now=now, lease_seconds=seconds, limit=limit, scope=scope, thread_id=thread_id)

    def run(self, claim: Claim) -> BaseException | None:
        """Run a job and record the result in the outbox.

        Returns:
            The error of a failed job, which is logged and stored with the job. It is not raised, since a worker
            thread has no caller to handle it.

        Raises:
            BaseException: If the main thread was interrupted, for example by Ctrl-C; the job stays pending.
        """
        self._count(running=1)
        count_running(1)
        record_wait(self.now() - claim.submissions[0].at)
        self._leased[claim.lease_id] = claim
        try:
            with ComputePermit(self._permits) as permit:
                return self._run(Attempt(claim, permit, self.outbox, self.now, self.settings.lease_seconds))
        finally:
            self._leased.pop(claim.lease_id, None)
            self._count(running=-1)
            count_running(-1)

    def _run(self, attempt: Attempt) -> BaseException | None:
        try:
            # inside a node of another graph, the caller's context would leak the run into its stream and checkpoints
            result = contextvars.Context().run(
                self._executor.run,
                attempt,
                self._apply_rate_limit,
                lambda key, config: call_hooks([each.on_start for each in self.clients()], key, config),
            )
        except LeaseLostError as error:
            self._count(superseded=1)
            logger.warning("%s", error)
            return None
        except BaseException as error:
            if _is_interruption(error):
                self._release(attempt.claim)
                raise
            self._handle_failure(attempt.claim, error)
            return error
        else:
            self._leased.pop(attempt.claim.lease_id, None)  # the lease ends with the job, so it must not be renewed
            self._complete(attempt.claim, result)
            return None

    def run_due(self, scope: Scope | None = None) -> int:
        """Run all due jobs, one after the other, and return how many."""
        count = 0
        while claims := self.claim(1, scope):
            for claim in claims:
                self.run(claim)
                count += 1
        return count

    def drain(self) -> bool:
        """Run all pending jobs on the calling thread; return whether all of them were learned from."""
        self.outbox.expedite(now=self.now())
        failed = self.stats().failed
        self.run_due()
        left = any(not job.key.is_waiting for job in self.outbox.pending(now=self.now()))
        return self.stats().failed == failed and not left

    def drain_conversation(self, key: ConversationKey) -> BaseException | None:
        """Run the job of *key*, wait if another worker updates the same memory, and return the first error.

        Jobs of other conversations are left alone: their errors and attempts are not those of this one.
        """
        thread_id = key.thread_id or ""
        self.outbox.expedite(now=self.now(), scope=key.scope, thread_id=thread_id)
        first_error: BaseException | None = None
        while True:
            claims = self.claim(1, key.scope, thread_id)
            for claim in claims:
                first_error = self.run(claim) or first_error
            if claims:
                continue
            if not any(job.running and job.key == key for job in self.outbox.pending(now=self.now())):
                return first_error
            time.sleep(POLL_SECONDS)

    def discard(self, scope: Scope, tombstone: MemoryDocument) -> None:
        """Run all jobs of *scope*, dead letters included, after its memory was deleted, as *tombstone* records.

        Submissions so far are marked as learned without a model call. Jobs that another worker runs are waited for,
        unless that worker is calling a model: then it finds the deletion by itself.
        """
        deadline = time.monotonic() + DISCARD_TIMEOUT_SECONDS
        last = self.outbox.forget(scope, last_deletion(tombstone), now=self.now())
        self.run_due(scope)
        while time.monotonic() < deadline and any(
            job.key.scope == scope and job.first_number <= last for job in self.outbox.pending(now=self.now())
        ):
            time.sleep(POLL_SECONDS)

    def renew(self) -> None:
        """Renew the leases of the running jobs.

        A lost lease is only logged: the worker that took the job over learns nothing twice.
        """
        claims = dict(self._leased)
        if not claims:
            return
        renewed = self.outbox.renew(claims, now=self.now(), lease_seconds=self.settings.lease_seconds)
        for lease_id in claims.keys() - renewed:
            if lease_id in self._leased:  # else the job has ended in the meantime
                logger.warning("lost the lease of %s: another worker runs it too", claims[lease_id].key.log_name)

    # -- counts --

    def stats(self) -> Stats:
        """Return the counts so far."""
        with self._lock:
            return self._stats

    def after_fork(self) -> None:
        """Reset a forked child: nothing runs here, and a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._permits = threading.Semaphore(MAX_COMPUTING)
        self._stats = replace(self._stats, running=0)
        self._leased = {}
        self._submitted = {}

    # -- results --

    def _complete(self, claim: Claim, result: UpdateResult) -> None:
        if claim.key.is_waiting:  # no update
            self.outbox.complete(claim, timing=TIMING)
            return
        usage = result.report.usage
        self._count(**{result.outcome: 1}, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
        fields = result.log_fields()
        logger.info("update %s", _format(fields), extra={"memgraph": fields})
        try:
            was_held = self.outbox.complete(claim, timing=self.timing, deletion=result.deletion)
        except OutboxError:
            # the memory is saved; run again after its lease has expired, the job finds nothing new
            logger.exception("learned from %s, but could not remove it from the outbox", claim.key.log_name)
        else:
            if not was_held:
                logger.warning("learned from %s, but its lease was lost to another worker", claim.key.log_name)
        call_hooks([client.on_update for client in self.clients()], result)

    def _release(self, claim: Claim) -> None:
        try:
            self.outbox.release(claim)
        except OutboxError:
            logger.exception("could not end the lease of %s; it will expire", claim.key.log_name)

    # -- failures --

    def _handle_failure(self, claim: Claim, error: BaseException) -> None:
        self._leased.pop(claim.lease_id, None)
        if self.is_closing:
            logger.info("closing interrupted %s (%s); it stays pending", claim.key.log_name, type(error).__name__)
            self._release(claim)
            return
        self._count(failed=1)
        try:
            consequence = self._schedule_retry(claim, error)
        except OutboxError:
            # the lease expires, and then the job is retried
            logger.exception("%s failed with %s, which could not be recorded", claim.key.log_name, error)
        else:
            fields = {**claim.key.log_fields, "tries": claim.attempts + 1, "error": type(error).__name__}
            logger.warning("update failed %s: %s; %s", _format(fields), error, consequence, extra={"memgraph": fields})
        call_hooks([client.on_error for client in self.clients()], claim, error)

    def _schedule_retry(self, claim: Claim, error: BaseException) -> str:
        """Schedule the next attempt, or make the job a dead letter; return which, for the log."""
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, PERMANENT_ERRORS) or claim.attempts + 1 >= MAX_ATTEMPTS:
            self.outbox.dead_letter(claim, error=text, timing=self.timing)
            self._count(dead_lettered=1)
            record_failure(error, is_final=True)
            return "dead letter; `memgraph retry` requeues it"
        at_least = max(0.0, self.rate_limited_until - self.now())
        delay = retry_delay(claim.attempts + 1, self._rng(), at_least)
        self.outbox.failed(claim, error=text, retry_at=self.now() + delay)
        record_failure(error, is_final=False)
        return f"retry in {delay:.0f} s"

    def _apply_rate_limit(self, error: BaseException) -> None:
        """Start no job until the Retry-After of *error* has passed."""
        wait = min(retry_after(error) or 0.0, MAX_RETRY_SECONDS)
        if wait > 0:
            self.rate_limited_until = max(self.rate_limited_until, self.now() + wait)

    def _count(self, **increments: int) -> None:
        with self._lock:
            counts = {name: getattr(self._stats, name) + number for name, number in increments.items()}
            self._stats = replace(self._stats, **counts)


def _is_interruption(error: BaseException) -> bool:
    """Whether *error* was not raised by the update: Ctrl-C, or an exit by a signal handler.

    Only the main thread executes signal handlers. On a worker thread, such an error is a failure like any other:
    it would interrupt nothing, and the job would be claimed again at once.
    """
    return not isinstance(error, Exception) and threading.current_thread() is threading.main_thread()


def _format(fields: Mapping[str, object]) -> str:
    """Return *fields* as one line; the record of the log carries them as `record.memgraph`, too."""
    return " ".join(f"{name}={value!r}" for name, value in fields.items())


def call_hooks(hooks: Sequence[Callable[..., object] | None], *arguments: object) -> None:
    """Call the *hooks* that are not None; an error in one is logged and does not affect the update."""
    for hook in filter(None, hooks):
        try:
            hook(*arguments)
        except Exception:
            logger.exception("a hook of the invoker failed")
