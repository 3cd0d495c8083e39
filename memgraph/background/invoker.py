"""Invoker: how a conversation is handed over to be learned from later, by whatever queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from langchain_core.messages import MessageLikeRepresentation

    from memgraph.background.outbox import Job
    from memgraph.background.reviews import PendingReview
    from memgraph.models import Scope


@dataclass(frozen=True, slots=True)
class Stats:
    """What an invoker did since it was made. Counts; tokens are the provider's."""

    submitted: int = 0
    running: int = 0
    """Updates at this moment."""
    learned: int = 0
    nothing_new: int = 0
    superseded: int = 0
    forgotten: int = 0
    rejected: int = 0
    held: int = 0
    """How often an update was held for review. It ends, once it was decided, as one of those above."""
    failed: int = 0
    """Tries that failed, those that ended with setting aside included."""
    set_aside: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Invoker(Protocol):
    """The verbs of every invoker: BackgroundInvoker here, ServerInvoker over LangGraph Server, or one of your own."""

    def submit(self, messages: Sequence[MessageLikeRepresentation], scope: Scope, thread_id: str | None = None) -> None:
        """Hand *messages* over; once this returns, they will be learned from, also if the process dies.

        Args:
            messages: What was said, the oldest first: only what is new, or all of the conversation again. What is
                handed over while it waits is merged by message id, the later version counts.
            scope: Whose memory learns.
            thread_id: Which conversation, 1-256 characters; empty counts as absent.

        Raises:
            IdentityError: If an id may not be used.
            ConversationError: If *messages* is no conversation.
            QueueFullError: If too many conversations wait.
            OutboxError: If it could not be kept; it will not be learned from.
        """
        ...

    async def asubmit(
        self, messages: Sequence[MessageLikeRepresentation], scope: Scope, thread_id: str | None = None
    ) -> None:
        """As `submit`, without ever blocking the event loop."""
        ...

    def flush(self, timeout: float | None = None) -> bool:
        """Run all that waits now, without its quiet time, and wait for it at most *timeout* seconds.

        Returns:
            Whether all of it was learned from. False: some of it failed, and is tried again later, or is in review now,
            or time ran out. What was in review before is not waited for, and does not count.
        """
        ...

    def flush_nowait(self) -> None:
        """Run all that waits now, without waiting for it."""
        ...

    def pending(self) -> Sequence[Job]:
        """What waits or runs, what is due first, first."""
        ...

    def failed(self) -> Sequence[Job]:
        """What was set aside after its last try, with its error."""
        ...

    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Put what was set aside back, all of it or that of one scope or thread; return how many jobs."""
        ...

    def in_review(self) -> Sequence[PendingReview]:
        """What a person has to agree to before it is learned, the earliest first."""
        ...

    def decide(self, review_id: str, answer: object) -> None:
        """Decide what waits under *review_id*; what was agreed to is learned without asking the model again.

        Args:
            review_id: See `InReview.id`.
            answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.

        Raises:
            EditError: If the answer cannot be understood, or edits an item to what may not be; it waits on.
            NotInReviewError: If nothing waits under that id, as somebody else has decided.
        """
        ...

    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope* and what waits to be learned for it; what is said later is learned anew."""
        ...

    def stats(self) -> Stats:
        """What was done so far."""
        ...

    def close(self, timeout: float | None = None) -> None:
        """Wait for what runs, at most *timeout* seconds, and keep the rest for the next start."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
