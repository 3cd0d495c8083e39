"""Outbox: conversations that wait to be learned from, and who is at it. The contract, for any number of processes.

A *job* is what waits of one conversation (user, agent, thread). It holds *submissions*, each as it was handed over,
in order, with its time; they are merged when the job runs, not when they come in. So a submission is one insert, one
that comes in while the job runs is simply not among those that were claimed, and what was said before a memory was
deleted can be told from what was said after.

A job whose changes a person wants to see first is *in review*: it keeps what was proposed, and is not due before it was
decided. What comes in of the same conversation waits with it.

A job runs under a *lease* on its scope (user, agent), so that nobody else updates the same memory meanwhile. Who
lets a lease expire, because the process was killed or stood still, loses it to whoever claims next. Each claim has a
lease of its own, and only who still holds it may remove or change the job: running a job twice does no harm, since
the memory's thread marks know what was learned; removing it unlearned would.

Every method is one atomic step, may be called from any thread, and takes the time from its caller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from memgraph.errors import OutboxError
from memgraph.models import Scope

if TYPE_CHECKING:
    from types import TracebackType

    from memgraph.background.schedule import DebouncePolicy


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Which conversation: one job waits for each."""

    scope: Scope
    thread_id: str | None = None

    def __str__(self) -> str:
        return f"{self.scope}, thread {self.thread_id!r}" if self.thread_id else str(self.scope)


@dataclass(frozen=True, slots=True)
class Submission:
    """What was handed over at one time."""

    number: int
    """Later ones have higher numbers; none is ever used again."""
    at: float
    messages: str
    """As JSON, see `memgraph.background.serialization`."""


@dataclass(frozen=True, slots=True)
class Job:
    """What can be told of a job without reading its messages."""

    id: int
    key: ConversationKey
    submissions: int
    first_number: int
    """Number of the earliest of them."""
    last_number: int
    """Number of the latest, so that two listings show what came in between them."""
    first_at: float
    """When the earliest waiting submission came in."""
    last_at: float
    due_at: float
    """Infinite while it is in review."""
    attempts: int
    """How often it failed so far."""
    error: str
    """Why it failed last; empty where it did not."""
    running: bool
    """Somebody has a lease on its scope that has not expired."""


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job in review."""

    id: str
    """Of what was proposed, not of the job: what is proposed next has another. None is ever used again."""
    job: Job
    at: float
    """When it was proposed."""
    held: str
    """What was proposed, as `Outbox.hold` was given it."""


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """What was proposed for a job, and decided."""

    at: float
    """When it was proposed."""
    held: str
    decision: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A job to be run now, under a lease of its own."""

    job_id: int
    key: ConversationKey
    lease_id: str
    attempts: int
    """How often it failed before."""
    submissions: tuple[Submission, ...]
    """At least one, in order. What comes in later is not among them."""
    decided: ReviewDecision | None = None
    """Where it comes from review."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """What is removed when the claim is done."""
        return tuple(submission.number for submission in self.submissions)


class LeaseLostError(OutboxError):
    """Somebody else has the job by now."""


class Outbox(ABC):
    """Where conversations wait. To write one, implement the abstract methods and add a line to OUTBOXES.

    Every method raises OutboxError where the outbox cannot be reached or written; then nothing has changed.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What identifies this outbox: those who name the same one in a process share its workers. Never a secret."""

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open the outbox that a URL names by *location*, which is what follows the scheme and its colon.

        Opening touches nothing: no file is made before the first submission.

        Raises:
            ConfigError: If it names none.
        """
        return cls(location)  # pyright: ignore[reportCallIssue] - an outbox of one argument needs no more

    # -- handing over --

    @abstractmethod
    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        """Add a submission to the job of *key*, making one where none waits. When this returns it is durable.

        The job becomes due at `timing.due(first, last)` of its waiting submissions; see `Timing.due_again` for
        one that is due already, or failed before.

        Raises:
            QueueFullError: If it needs a new job and *max_jobs* wait already; those set aside or in review
                do not count.
        """

    # -- running --

    @abstractmethod
    def claim(
        self,
        *,
        now: float,
        lease_seconds: float,
        limit: int = 1,
        scope: Scope | None = None,
        thread_id: str | None = None,
    ) -> tuple[Claim, ...]:
        """Take up to *limit* due jobs, those due first, no two of one scope, and none of a scope under lease.

        Args:
            now: Leases that ended before may be taken.
            lease_seconds: How long the leases last unless renewed.
            limit: How many at most.
            scope: Only of this one.
            thread_id: Only of this conversation; "" is the one without a name.
        """

    @abstractmethod
    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        """Prolong *leases* and return those that were still held, also where they had expired but nobody came."""

    @abstractmethod
    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        """Put one submission, of *messages*, in the place of those claimed, and return the claim that it is now.

        It has the number of the first of them, so that it stays before what came in meanwhile, and the time of the
        last. Called before a memory is saved that learned from several submissions: should the job run again, it is
        known in which order they were learned.

        Returns:
            None where the lease was lost: then nothing changed, and the run should stop.
        """

    @abstractmethod
    def complete(self, claim: Claim, *, timing: DebouncePolicy) -> bool:
        """Remove what was claimed and end the lease; what came in meanwhile stays, as a job that never failed.

        Returns:
            False where the lease was lost: then nothing changed, and whoever has it will see to the job.
        """

    @abstractmethod
    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        """Note a failed try and end the lease; the job is not due before *retry_at*. False as in `done`."""

    @abstractmethod
    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        """Keep what was claimed aside, for a person to look at, and end the lease. False as in `done`.

        What came in meanwhile stays waiting. What was set aside of the same conversation before is joined. What was
        decided goes with it.
        """

    @abstractmethod
    def hold_for_review(self, claim: Claim, held: str, *, now: float) -> bool:
        """Put the job in review with what is proposed, any text, and end the lease. False as in `done`.

        Its submissions stay, and what comes in later waits with them. `Held.id` is the lease it was held under.
        """

    @abstractmethod
    def release(self, claim: Claim) -> None:
        """End the lease as if the job had not been claimed. Nothing where it was lost."""

    # -- looking and steering --

    @abstractmethod
    def next_due(self, *, now: float) -> float | None:
        """When `claim` may next find something, in the past if it would now; None while nothing waits."""

    @abstractmethod
    def pending(self, *, now: float) -> tuple[Job, ...]:
        """All jobs that wait for their time, or run, those due first."""

    @abstractmethod
    def dead_letters(self) -> tuple[Job, ...]:
        """All jobs that were set aside, the oldest first."""

    @abstractmethod
    def expedite(self, *, now: float, scope: Scope | None = None) -> None:
        """Make all that waits for its time, or all of *scope*, due now."""

    @abstractmethod
    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Put what was set aside back, due now, with its tries forgotten; narrowed to a scope, and to a thread.

        It joins what waits of the same conversation, in the order of submission.

        Returns:
            How many jobs were put back.
        """

    @abstractmethod
    def in_review(self) -> tuple[HeldJob, ...]:
        """All jobs in review, the earliest proposal first."""

    @abstractmethod
    def decide(self, held_id: str, decision: str, *, now: float) -> bool:
        """Make the job due now, together with what was decided, any text. When this returns it is durable.

        Returns:
            False where nothing with that id is in review, as it was decided already: then nothing changed.
        """

    @abstractmethod
    def cancel_review(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Make what is in review due now as if nothing had been proposed; narrowed to a scope, and to a thread.

        Returns:
            How many jobs.
        """

    def close(self) -> None:  # noqa: B027 - not every outbox holds something open
        """Let go of what is held open. A closed outbox is not used again."""

    def after_fork(self) -> None:  # noqa: B027
        """Called in a child process after a fork: what the parent holds open, locks included, must not be used."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
