"""The engine: which job runs now, and what becomes of it. It has no threads; whoever calls it lends one."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memgraph.background.clock import Clock, SystemClock
from memgraph.background.execution import PausedForReview, UpdateResult
from memgraph.background.invoker import Stats
from memgraph.background.log import log_failure, log_proposed, log_update
from memgraph.background.outbox import LeaseLostError
from memgraph.background.schedule import LONGEST_RETRY_SECONDS, MAX_TRIES, DebouncePolicy, retry_wait
from memgraph.background.serialization import dump_raw
from memgraph.errors import (
    ConfigError,
    ConversationError,
    IdentityError,
    ModelSetupError,
    OutboxError,
    WrongStorageError,
)
from memgraph.llm.retry import retry_after

if TYPE_CHECKING:
    from memgraph.background.execution import UpdateExecutor
    from memgraph.background.outbox import Claim, ConversationKey, Outbox
    from memgraph.models import Scope

logger = logging.getLogger("memgraph.invoker")

PERMANENT_ERRORS = (ConfigError, ConversationError, IdentityError, ModelSetupError, WrongStorageError)
"""What no waiting cures: the job is set aside at once."""

OnUpdate = Callable[[UpdateResult], object]
OnError = Callable[["Claim", BaseException], object]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the settings say about learning in the background."""

    timing: DebouncePolicy
    max_concurrency: int
    lease_seconds: float
    max_jobs: int


class JobRunner:
    """Takes jobs out of an outbox, runs them, and puts them where they belong.

    Args:
        outbox: Where they wait.
        updater: What runs one.
        limits: How long they wait, how many run.
        clock: The time; tests bring their own.
        draw: Random numbers in [0, 1), for waits that differ.
    """

    def __init__(
        self,
        outbox: Outbox,
        updater: UpdateExecutor,
        limits: Limits,
        *,
        clock: Clock | None = None,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self.outbox = outbox
        self.limits = limits
        self.clock = clock or SystemClock()
        self.closing = False
        """While true, what fails counts as not tried: the interpreter may be going down."""
        self._executor = updater
        self._rng = rng
        self._lock = threading.Lock()
        self._stats = Stats()
        self._leased: dict[str, Claim] = {}
        self._rate_limited_until = 0.0
        self._on_update: list[OnUpdate] = []
        self._on_error: list[OnError] = []

    # -- handing over --

    def submit(self, key: ConversationKey, messages: str) -> None:
        """Keep *messages*; they are on disk when this returns."""
        limits = self.limits
        self.outbox.enqueue(key, messages, now=self.clock.now(), timing=limits.timing, max_jobs=limits.max_jobs)
        self._count(submitted=1)

    # -- running --

    @property
    def rate_limited_until(self) -> float:
        """The provider asked for quiet until then."""
        return self._rate_limited_until

    def claim(self, limit: int, scope: Scope | None = None, thread_id: str | None = None) -> tuple[Claim, ...]:
        """Take up to *limit* due jobs, as `Outbox.claim` does; none while the provider asked for quiet."""
        now = self.clock.now()
        if limit <= 0 or now < self._rate_limited_until:
            return ()
        seconds = self.limits.lease_seconds
        return self.outbox.claim(now=now, lease_seconds=seconds, limit=limit, scope=scope, thread_id=thread_id)

    def run(self, claim: Claim, *, allow_model: bool = True) -> BaseException | None:
        """Run a job, and see it out of the outbox or on to its next try.

        Args:
            claim: The job; of one that is not to ask a model it was decided.
            allow_model: Whether a model may be asked; if not, what is left then waits on.

        Returns:
            The error it failed with. This is the last resort of a worker: nothing is raised, since nobody would
            see it; it is logged, and kept with the job.
        """
        current = claim

        def keep(messages: Sequence[Mapping[str, object]]) -> None:
            nonlocal current
            kept = self.outbox.replace_submissions(current, dump_raw(messages))
            if kept is None:
                raise LeaseLostError(f"{claim.key} is run by another worker by now")
            current = kept

        self._count(running=1)
        self._leased[claim.lease_id] = claim
        try:
            update = self._executor.run(claim, keep, self._apply_rate_limit, asks=allow_model)
        except LeaseLostError as error:
            logger.warning("%s", error)
            return None
        except BaseException as error:  # noqa: BLE001 - see above
            self._failed(current, error)
            return error
        else:
            self._end(current, update)
            return None
        finally:
            self._leased.pop(claim.lease_id, None)
            self._count(running=-1)

    def run_due(self, scope: Scope | None = None) -> int:
        """Run what is due, one after the other, in the calling thread; return how many."""
        count = 0
        while claims := self.claim(1, scope):
            for claim in claims:
                self.run(claim)
                count += 1
        return count

    def renew(self) -> None:
        """Keep the leases of what runs. One that was lost is logged; whoever took it learns nothing twice."""
        claims = dict(self._leased)
        if not claims:
            return
        held = self.outbox.renew(claims, now=self.clock.now(), lease_seconds=self.limits.lease_seconds)
        for lease in claims.keys() - held:
            if lease in self._leased:  # else the job has ended meanwhile
                logger.warning("lease lost: %s is run by another worker too", claims[lease].key)

    # -- looking --

    def stats(self) -> Stats:
        """What was done so far."""
        with self._lock:
            return self._stats

    def add_hooks(self, on_update: OnUpdate | None, on_error: OnError | None) -> None:
        """Tell these of every update and every failed try from now on."""
        self._on_update += [on_update] if on_update else []
        self._on_error += [on_error] if on_error else []

    def remove_hooks(self, on_update: OnUpdate | None, on_error: OnError | None) -> None:
        """Tell them no more."""
        self._on_update = [hook for hook in self._on_update if hook is not on_update]
        self._on_error = [hook for hook in self._on_error if hook is not on_error]

    def after_fork(self) -> None:
        """In a child process: nothing runs here, and the parent's locks are the parent's."""
        self._lock = threading.Lock()
        self._stats = replace(self._stats, running=0)
        self._leased = {}
        self.outbox.after_fork()

    # -- what becomes of a job --

    def _end(self, claim: Claim, update: UpdateResult | PausedForReview | None) -> None:
        if isinstance(update, PausedForReview):
            self._hold_for_review(claim, update)
        elif update:
            self._done(claim, update)
        else:
            self._leased.pop(claim.lease_id, None)
            self._release(claim)

    def _hold_for_review(self, claim: Claim, proposed: PausedForReview) -> None:
        usage = proposed.report.usage
        self._count(held=1, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
        log_proposed(proposed)
        self._leased.pop(claim.lease_id, None)
        try:
            held = self.outbox.hold_for_review(claim, proposed.kept.model_dump_json(), now=self.clock.now())
        except OutboxError:
            # its lease expires, and then the model is asked again
            logger.exception("%s could not be kept for review", claim.key)
        else:
            if not held:
                logger.warning(
                    "%s is not kept for review: its lease was lost, and another worker sees to it", claim.key
                )

    def _done(self, claim: Claim, update: UpdateResult) -> None:
        usage = update.report.usage
        self._count(**{update.outcome: 1}, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
        log_update(update)
        self._leased.pop(claim.lease_id, None)  # its lease ends with the job
        try:
            held = self.outbox.complete(claim, timing=self.limits.timing)
        except OutboxError:
            # it was learned; run again once its lease has expired, it will find nothing new
            logger.exception("%s was learned from, but stays in the outbox", claim.key)
        else:
            if not held:
                logger.warning("%s was learned from, but its lease was lost: another worker sees to it", claim.key)
        for hook in self._on_update:
            self._call(hook, update)

    def _failed(self, claim: Claim, error: BaseException) -> None:
        self._leased.pop(claim.lease_id, None)
        if self.closing:
            self._release_on_shutdown(claim, error)
            return
        self._count(failed=1)
        try:
            place = self._schedule_retry(claim, error)
        except OutboxError:
            # its lease expires, and then it is tried again
            logger.exception("%s failed with %s, which could not be noted", claim.key, error)
        else:
            log_failure(claim, error, place)
        for hook in self._on_error:
            self._call(hook, claim, error)

    def _schedule_retry(self, claim: Claim, error: BaseException) -> str:
        """Let a failed job wait for its next try, or set it aside; say which."""
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, PERMANENT_ERRORS) or claim.attempts + 1 >= MAX_TRIES:
            self.outbox.dead_letter(claim, error=said, timing=self.limits.timing)
            self._count(set_aside=1)
            return "set aside; `memgraph retry` puts it back"
        asked = max(0.0, self._rate_limited_until - self.clock.now())
        wait = retry_wait(claim.attempts + 1, self._rng(), asked)
        self.outbox.failed(claim, error=said, retry_at=self.clock.now() + wait)
        return f"tried again in {wait:.0f} s"

    def _release_on_shutdown(self, claim: Claim, error: BaseException) -> None:
        logger.info("%s was interrupted by closing (%s) and waits on", claim.key, type(error).__name__)
        self._release(claim)

    def _release(self, claim: Claim) -> None:
        try:
            self.outbox.release(claim)
        except OutboxError:
            logger.exception("the lease of %s could not be ended; it will expire", claim.key)

    def _apply_rate_limit(self, error: BaseException) -> None:
        """Start nothing while the provider asks for quiet."""
        wait = min(retry_after(error) or 0.0, LONGEST_RETRY_SECONDS)
        if wait > 0:
            self._rate_limited_until = max(self._rate_limited_until, self.clock.now() + wait)

    def _count(self, **more: int) -> None:
        with self._lock:
            self._stats = replace(
                self._stats, **{name: getattr(self._stats, name) + number for name, number in more.items()}
            )

    def _call(self, hook: Callable[..., object], *given: object) -> None:
        """Call what somebody asked to be told with; what goes wrong there is theirs, and hurts no update."""
        try:
            hook(*given)
        except Exception:
            logger.exception("a hook of the invoker failed")
