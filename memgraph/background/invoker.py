"""Invoker: the interface for submitting conversations to learn from later, over any queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from memgraph._concurrency import run_in_thread

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import MessageLikeRepresentation

    from memgraph.background.outbox import Job
    from memgraph.models import Scope

    Messages = Sequence[MessageLikeRepresentation]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts since the invoker was created; tokens as the provider reports them."""

    submitted: int = 0
    running: int = 0
    """Updates that run now."""
    learned: int = 0
    nothing_new: int = 0
    superseded: int = 0
    forgotten: int = 0
    rejected: int = 0
    failed: int = 0
    """Failed attempts, including those that made a job a dead letter."""
    dead_lettered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def to_json(self) -> dict[str, int]:
        """Return the counts under their names in the HTTP API, which calls dead letters `set_aside`."""
        names = {"dead_lettered": "set_aside"}
        return {names.get(name, name): count for name, count in asdict(self).items()}


class Invoker(Protocol):
    """The interface of BackgroundInvoker, of ServerInvoker for LangGraph Server, and of custom invokers.

    A custom invoker that is a subclass inherits the async forms of `flush`, `forget`, `retry` and `pending`.
    Each runs the method on a thread of its own, which goes on if the awaiting task is cancelled.
    """

    def submit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit *messages*; once this returns they will be learned from, even if the process dies.

        Args:
            messages: The messages, the oldest first: only new ones, or the whole conversation again. Submissions that
                wait are merged by message id; the later version counts.
            scope: Owner of the memory.
            thread_id: Id of the conversation, 1-256 characters; empty counts as absent.
            at: When messages without a time of their own were written, in UTC if it has no zone; None is now.

        Raises:
            IdentityError: If an id is not allowed.
            ConversationError: If *messages* is not a conversation.
            QueueFullError: If too many conversations are pending.
            OutboxError: If they could not be stored; they will not be learned from.
        """
        ...

    async def asubmit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit without ever blocking the event loop, see `submit`."""
        ...

    def flush(self, timeout: float | None = None) -> bool:
        """Run all pending jobs now, without waiting for quiet, and wait for them at most *timeout* seconds.

        Returns:
            Whether all of them were learned from. False if one failed and will be retried, or the time ran out.
        """
        ...

    def flush_nowait(self) -> None:
        """Run all pending jobs now, without waiting for them."""
        ...

    def pending(self) -> Sequence[Job]:
        """Return the jobs that wait or run, in the order of their due times."""
        ...

    def failed(self) -> Sequence[Job]:
        """Return the dead letters: jobs that failed for good, with their errors."""
        ...

    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Requeue dead letters, all or those of one scope or thread; return how many jobs."""
        ...

    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope* and its pending jobs. Later submissions are learned from again."""
        ...

    def stats(self) -> Stats:
        """Return the counts so far."""
        ...

    # -- async forms --

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - the limit of `flush`
        """Like `flush`, without blocking the event loop."""
        return await _await_in_thread(lambda: self.flush(timeout))

    async def aforget(self, scope: Scope) -> None:
        """Like `forget`, without blocking the event loop."""
        await _await_in_thread(lambda: self.forget(scope))

    async def aretry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Like `retry`, without blocking the event loop."""
        return await _await_in_thread(lambda: self.retry(scope, thread_id))

    async def apending(self) -> Sequence[Job]:
        """Like `pending`, without blocking the event loop."""
        return await _await_in_thread(self.pending)

    # -- closing --

    def close(self, timeout: float | None = None, *, wait: bool = True) -> None:
        """End within *timeout* seconds; what waits is learned before if *wait*, else by the next process."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _await_in_thread(self.close)


async def _await_in_thread(call: Callable[[], T]) -> T:
    return await asyncio.wrap_future(run_in_thread(call, "memgraph-async"))
