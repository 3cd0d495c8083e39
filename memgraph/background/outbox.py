"""Outbox: the durable queue of conversations to learn from. The contract, for any number of processes.

A *job* is the pending part of one conversation (user, agent, thread). It holds *submissions* in order, each with its
time; they are merged when the job runs, not when they arrive. So a submission is one insert, one that arrives while
the job runs is simply not part of the claim, and messages from before a deletion can be distinguished from later ones.

A job that failed for good is a *dead letter* until it is requeued.

A job names the storage whose memory it updates. `Outbox.for_storage` returns a view that submits jobs for one storage,
and claims and lists no others, so that storages can share an outbox. A job from before jobs named their storage
belongs to whichever view claims it.

A job runs under a *lease* on its scope (user, agent), so that no other worker updates the same memory at that time. If
a lease expires, because the process was killed or suspended, the next claim takes it over. Each claim has a lease of
its own, and only its holder may remove or change the job. Running a job twice does no harm, since the watermark of
the memory shows what was learned; removing a job that was not learned would.

Every method is one atomic step, may be called from any thread, and takes the time from its caller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, Self

from memgraph._concurrency import Closing
from memgraph.errors import OutboxError, QueueFullError, UserQueueFullError
from memgraph.models import Scope
from memgraph.models.scope import log_id

if TYPE_CHECKING:
    from pathlib import Path

    from memgraph.background.schedule import DebouncePolicy
    from memgraph.storage.traces import TraceCount

USER_SHARE = 0.1
"""Maximum share of the pending jobs that one user may have."""


WAITING = "\x1fchanges that wait for a decision"
"""Stands for the thread of a job that holds such changes, see `memgraph.background.waiting`. The control character
distinguishes it from that of a conversation."""


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Identifies a conversation, which has at most one pending job."""

    scope: Scope
    thread_id: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it stands for changes for which the memory has no room, not for a conversation."""
        return self.thread_id == WAITING

    def __str__(self) -> str:
        return f"{self.scope}, thread {self.thread_id!r}" if self.thread_id else str(self.scope)

    @property
    def log_name(self) -> str:
        """Names the conversation in logs, see `Scope.log_name`."""
        name = self.scope.log_name
        return f"{name}, thread {self.thread_id!r}" if self.thread_id else name

    @property
    def log_fields(self) -> dict[str, object]:
        """The conversation in the fields of a log record."""
        return {"user": log_id(self.scope.user_id), "agent": self.scope.agent_name, "thread": self.thread_id}


@dataclass(frozen=True, slots=True)
class Submission:
    """Messages that were submitted at one time."""

    number: int
    """Increases with each submission, and is never reused."""
    at: float
    messages: str
    """As JSON, see `memgraph.background.serialization`."""
    is_forgotten: bool = False
    """Whether it arrived before the memory was deleted, see `Outbox.record_deletion`."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job without its messages."""

    id: int
    key: ConversationKey
    submissions: int
    first_number: int
    """Number of the first submission."""
    last_number: int
    """Number of the last one, so that two listings show what arrived in between."""
    first_at: float
    """When the first pending submission arrived."""
    last_at: float
    due_at: float
    attempts: int
    """How often it has failed."""
    error: str
    """Why it failed last; empty if it never did."""
    running: bool
    """Whether a worker holds a lease on its scope that has not expired."""
    storage: str = ""
    """Name of the storage whose memory it updates; empty if it does not name one."""

    def overlaps(self, first: int, last: int) -> bool:
        """Whether it contains a submission from number *first* to *last*."""
        return self.first_number <= last and first <= self.last_number


@dataclass(frozen=True, slots=True)
class Claim:
    """A job to run now, under a lease of its own."""

    job_id: int
    key: ConversationKey
    lease_id: str
    attempts: int
    """How often it has failed."""
    submissions: tuple[Submission, ...]
    """At least one, in order. Later submissions are not part of the claim."""
    storage: str = ""
    """As in `Job`."""
    deletion: str = ""
    """The last deletion of the memory that was recorded, see `Outbox.record_deletion`; empty if there is none."""


class PendingSubmissions(NamedTuple):
    """What waits of a conversation."""

    submissions: tuple[Submission, ...]
    deletion: str
    """As in `Claim`."""


class LeaseLostError(OutboxError):
    """Another worker has taken the job over."""


class Outbox(Closing, ABC):
    """A queue of jobs. A new kind implements the abstract methods and adds a line to OUTBOXES.

    Every method raises OutboxError if the outbox cannot be reached or written; then nothing has changed.
    """

    storage: str | None = None
    """Name of the storage whose jobs are seen; None sees those of all storages, and submits jobs that name none."""
    file: Path | None = None
    """The file of an outbox that is one."""

    def for_storage(self, name: str) -> Self:
        """Return a view of this outbox for the storage called *name*, on the same connections."""
        view = copy(self)
        view.storage = name
        return view

    @property
    @abstractmethod
    def name(self) -> str:
        """Identifies this outbox: invokers in a process with the same one share workers. Contains no secret."""

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Create the outbox of a URL; *location* is the part after the scheme and its colon.

        No file or connection is opened before the first use.

        Raises:
            ConfigError: If *location* is invalid.
        """
        return cls(location)  # pyright: ignore[reportCallIssue] - the default for subclasses with one argument

    # -- submitting --

    @abstractmethod
    def enqueue(
        self, key: ConversationKey, messages: str, *, now: float, timing: DebouncePolicy, max_jobs: int
    ) -> None:
        """Add a submission to the job of *key*, creating the job if necessary. It is durable when this returns.

        The job becomes due at `timing.due(first, last)` of its submissions; see `DebouncePolicy.next_due` for a job
        that is already due, or has failed.

        Raises:
            QueueFullError: If it needs a new job and *max_jobs* are pending; dead letters do not count.
            UserQueueFullError: Likewise, if a tenth of *max_jobs* are the user's.
        """

    def check_capacity(self, pending: int, of_user: int, max_jobs: int) -> None:
        """Refuse a new job if the queue is full, or the user has a tenth of it: no user may keep the others out.

        Raises:
            QueueFullError: If *pending* jobs are all that *max_jobs* allows.
            UserQueueFullError: If *of_user* jobs are a user's share.
        """
        if pending >= max_jobs:
            raise QueueFullError(self.name, max_jobs)
        share = ceil(max_jobs * USER_SHARE)
        if of_user >= share:
            raise UserQueueFullError(self.name, share)

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
        """Claim up to *limit* due jobs, the earliest due first, at most one of a scope, none of a leased scope.

        Args:
            now: Leases that expired before may be taken over. If the clock has gone back, a lease that was taken in
                the future has expired, and a job is due if its due time is further away than possible.
            lease_seconds: How long the leases last unless renewed.
            limit: Maximum number of jobs.
            scope: Only jobs of this scope.
            thread_id: Only the job of this thread; "" is the conversation without a thread id.
        """

    @abstractmethod
    def renew(self, leases: Collection[str], *, now: float, lease_seconds: float) -> frozenset[str]:
        """Renew *leases* and return those still held, including expired ones that were not taken over."""

    @abstractmethod
    def replace_submissions(self, claim: Claim, messages: str) -> Claim | None:
        """Replace the claimed submissions by a single one with *messages*, and return the new claim.

        It has the number of the first one, so that it stays before later submissions, and the time of the last one.
        Called before a run learns from several submissions: should the job run again, the order in which they were
        learned is known.

        Returns:
            None if the lease was lost: then nothing changed, and the run should stop.
        """

    @abstractmethod
    def complete(self, claim: Claim, *, timing: DebouncePolicy, deletion: str = "") -> bool:
        """Remove the claimed submissions and end the lease; later submissions stay, as a job that never failed.

        Args:
            claim: The job.
            timing: When later submissions are due.
            deletion: The last deletion of the memory that the run found. It is recorded unless the scope has other
                jobs, which may be older, so that all later submissions are known to be later.

        Returns:
            False if the lease was lost: then nothing changed, and its new holder handles the job.
        """

    @abstractmethod
    def failed(self, claim: Claim, *, error: str, retry_at: float) -> bool:
        """Record a failed attempt and end the lease; the job is due at *retry_at*. False as in `complete`."""

    @abstractmethod
    def dead_letter(self, claim: Claim, *, error: str, timing: DebouncePolicy) -> bool:
        """Make the claimed submissions a dead letter and end the lease. False as in `complete`.

        Later submissions stay pending. An earlier dead letter of the same conversation is merged with it.
        """

    @abstractmethod
    def release(self, claim: Claim) -> None:
        """End the lease as if the job had not been claimed. No effect if the lease was lost."""

    # -- inspecting and changing jobs --

    def may_have_jobs(self) -> bool:
        """Whether there may be jobs, as far as that is known without a connection."""
        return True

    @abstractmethod
    def next_due(self, *, now: float) -> float | None:
        """Return when `claim` may next find a job, in the past if it would now; None if no job is pending."""

    @abstractmethod
    def pending(self, *, now: float) -> tuple[Job, ...]:
        """Return all jobs that are scheduled or running, in the order of their due times."""

    @abstractmethod
    def submissions(self, key: ConversationKey) -> PendingSubmissions:
        """Return what waits or runs of the conversation *key*, in order. No lease is needed."""

    @abstractmethod
    def dead_letters(self) -> tuple[Job, ...]:
        """Return all dead letters, the oldest first."""

    @abstractmethod
    def expedite(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> None:
        """Make scheduled jobs due now: all, or those of a scope or thread, as in `claim`."""

    @abstractmethod
    def retry(self, *, now: float, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Requeue dead letters, of all scopes or one, due now and with no attempts counted.

        They are merged with the pending job of the same conversation, in the order of submission.

        Returns:
            The number of requeued jobs.
        """

    @abstractmethod
    def record_deletion(self, scope: Scope, deletion: str) -> int:
        """Record that the memory of *scope* was deleted: all its submissions so far are forgotten, later ones are not.

        Their order decides, since clocks can be wrong.

        Args:
            scope: Owner of the memory.
            deletion: Identifies the deletion: `Deletion.at` of the tombstone.

        Returns:
            The number of the last forgotten submission; 0 if there is none.
        """

    def forget(self, scope: Scope, deletion: str, *, now: float) -> int:
        """Record a deletion, as `record_deletion` does, and make all jobs of *scope* due, so that workers discard them.

        Dead letters are included.
        """
        last = self.record_deletion(scope, deletion)
        self.retry(now=now, scope=scope)
        self.expedite(now=now, scope=scope)
        return last

    @abstractmethod
    def texts_of(self, user_id: str) -> tuple[str, ...]:
        """Return the messages of a user and of all agents' jobs for that user, as JSON, in the order of submission.

        Those of dead letters are included.
        """

    @abstractmethod
    def delete_user(self, user_id: str) -> None:
        """Delete the jobs of a user and of all agents, dead letters included, with their leases.

        A worker that runs one of them loses it. What was recorded of deletions stays.
        """

    @abstractmethod
    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the stored bytes for texts of a user whose jobs were deleted."""

    def close(self) -> None:
        """Close connections. A closed outbox is not used again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
