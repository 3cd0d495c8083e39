"""BackgroundInvoker: conversations are handed over now and learned from later, in this process, with nothing lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from memgraph._concurrency import run_in_thread
from memgraph.background import open_outbox
from memgraph.background.drain import apply_decision, discard_forgotten, drain, drain_scope
from memgraph.background.execution import UpdateExecutor
from memgraph.background.invoker import Stats
from memgraph.background.outbox import ConversationKey, Job, Outbox
from memgraph.background.planning import deleted_at
from memgraph.background.reviews import PendingReview, decide_review, in_review
from memgraph.background.runner import JobRunner, Limits, OnError, OnUpdate
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import checked_messages, dump_messages
from memgraph.background.shared import REGISTRY, WorkerGroup
from memgraph.config import make_storage
from memgraph.errors import ConfigError, IdentityError, NotInReviewError, OutboxError
from memgraph.models import Scope, validate_id
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from types import TracebackType

    from langchain_core.messages import MessageLikeRepresentation
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.context import Context

CLOSE_SECONDS = 30.0
"""How long closing waits for what runs, where nobody says."""


class BackgroundInvoker:
    """Runs memory updates in threads of this process, when conversations have been quiet for a while.

        with BackgroundInvoker(graph, outbox="sqlite:outbox.db") as invoker:
            invoker.submit(messages, Scope("ada"), "thread-1")

    What was submitted is on disk before `submit` returns and leaves the disk only after the memory was saved, so a
    process that is killed goes on where it was when it next starts. Several processes may name the same
    outbox and share the work; those who name it in one process share one set of threads. After a fork the child has
    no threads until it submits something. Nothing runs in the context of the caller, which may be a node of a running
    graph.

    Args:
        graph: The memory update; None is the one that *settings* describe.
        outbox: Where conversations wait: a URL (`sqlite:FILE`, `memory:`), a path, or an Outbox. None is what the
            settings say, else a file in the platform's folder for user data, one for each storage: a graph
            of your own does not tell its storage, so say *storage* too, or name an outbox of its own.
        settings: How long to wait and how much at once; None is the defaults, or what those who share the outbox said.
            `enabled: false` makes all of this do nothing at all.
        storage: Where the memories of *graph* are; only `forget` needs to know.
        immediate: Whether `submit` runs the update itself, at once, and raises what went wrong; then there are no
            threads. For tests and scripts.
        on_update: Called with an Update after each one, in the thread that ran it; one that is held for review has not
            ended.
        on_error: Called with a Claim and the error after each failed try. What hooks raise is logged.

    Raises:
        ConfigError: If the outbox, or what the settings name, cannot be opened, or the outbox is in use in this
            process with another graph, another storage or other settings.
    """

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Context, Any, Any] | None = None,
        *,
        outbox: str | Outbox | None = None,
        settings: Settings | None = None,
        storage: str | MemoryStorage | None = None,
        immediate: bool = False,
        on_update: OnUpdate | None = None,
        on_error: OnError | None = None,
    ) -> None:
        self._immediate = immediate
        self._hooks = (on_update, on_error)
        self._closed = False
        self._group: WorkerGroup | None = None
        given = settings or Settings()
        if not given.enabled:
            return
        kept = open_storage(storage) if storage is not None else None
        place = kept or (None if graph else make_storage(given))
        opened = open_outbox(given.outbox if outbox is None else outbox, storage=place)
        works = REGISTRY.acquire(
            opened.name,
            lambda: _acquire_group(opened, graph, given, place),
            graph=graph,
            settings=settings,
            storage=kept,
        )
        self._group = works
        works.engine.add_hooks(on_update, on_error)
        if not immediate:
            works.crew.start()

    # -- handing over --

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
            OutboxError: If it could not be kept, or the invoker is closed; it will not be learned from.
        """
        if self._group is None:
            return
        works = self._open()
        key = _checked_key(scope, thread_id)
        kept = checked_messages(messages)
        if not kept:
            return
        engine = works.engine
        engine.submit(key, dump_messages(kept))
        if not self._immediate:
            now = engine.clock.now()
            works.crew.schedule_wakeup(engine.limits.timing.due(now, now))
        elif error := drain_scope(engine, key.scope):
            raise error

    async def asubmit(
        self, messages: Sequence[MessageLikeRepresentation], scope: Scope, thread_id: str | None = None
    ) -> None:
        """As `submit`, without ever blocking the event loop."""
        if self._group is not None:
            await asyncio.wrap_future(self._open().lane.submit(lambda: self.submit(messages, scope, thread_id)))

    # -- running --

    def flush(self, timeout: float | None = None) -> bool:
        """Run all that waits now, without its quiet time, and wait for it at most *timeout* seconds.

        Returns:
            Whether all of it was learned from. False: some of it failed, and is tried again later, or is in review now,
            or time ran out. What was in review before is not waited for, and does not count.
        """
        if self._group is None:
            return True
        works = self._open()
        return drain(works.engine) if self._immediate else works.crew.flush(timeout)

    def flush_nowait(self) -> None:
        """Run all that waits now, without waiting for it."""
        if self._group is not None:
            works = self._open()
            works.engine.outbox.expedite(now=works.engine.clock.now())
            works.crew.wake()

    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope*, and what waits to be learned for it; what is said later is learned anew.

        Raises:
            ConfigError: If the invoker was given a graph, and not the storage of its memories.
            StorageError: If the memory could not be deleted.
        """
        if self._group is None:
            return
        works = self._open()
        if works.storage is None:
            raise ConfigError("forget has to know where the memories are: say BackgroundInvoker(graph, storage=...)")
        tombstone = works.storage.delete(scope)
        # In this order: a crash in between leaves jobs from before the deletion, and whoever runs one sees that.
        discard_forgotten(works.engine, scope, deleted_at(tombstone))

    # -- looking --

    def pending(self) -> Sequence[Job]:
        """What waits or runs, what is due first, first. What is in review waits for a person: `in_review`."""
        if self._group is None:
            return ()
        engine = self._open().engine
        return engine.outbox.pending(now=engine.clock.now())

    def failed(self) -> Sequence[Job]:
        """What was set aside after its last try, with its error."""
        return self._open().engine.outbox.dead_letters() if self._group else ()

    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Put what was set aside back, all of it or that of one scope or thread; return how many jobs."""
        if self._group is None:
            return 0
        works = self._open()
        count = works.engine.outbox.retry(now=works.engine.clock.now(), scope=scope, thread_id=thread_id)
        works.crew.wake()
        return count

    def in_review(self) -> Sequence[PendingReview]:
        """What a person has to agree to before it is learned, the earliest first."""
        return in_review(self._open().engine.outbox) if self._group else ()

    def decide(self, review_id: str, answer: object) -> None:
        """Decide what waits under *review_id*; what was agreed to is learned without asking the model again.

        It is learned by whoever works on the outbox, soon, and together with it what came in of the same conversation
        meanwhile, which may be held in turn. Where the process dies in between, the decision is kept.

        Args:
            review_id: See `InReview.id`.
            answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.

        Raises:
            EditError: If the answer cannot be understood, or edits an item to what may not be; it waits on.
            NotInReviewError: If nothing waits under that id, as somebody else has decided.
        """
        if self._group is None:
            raise NotInReviewError(review_id)
        works = self._open()
        engine = works.engine
        decided = decide_review(engine.outbox, review_id, answer, now=engine.clock.now())
        if not self._immediate:
            works.crew.wake()
        elif error := apply_decision(engine, decided.key):
            raise error

    def stats(self) -> Stats:
        """What was done so far, by all who share the outbox in this process."""
        return self._group.engine.stats() if self._group else Stats()

    # -- ends --

    def close(self, timeout: float | None = None) -> None:
        """Wait for what runs, at most *timeout* (30) seconds, and keep the rest for the next start.

        Where others of this process share the outbox, they go on.
        """
        if self._group is None or self._closed:
            return
        self._closed = True
        REGISTRY.release(self._group, CLOSE_SECONDS if timeout is None else timeout)
        self._group.engine.remove_hooks(*self._hooks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.wrap_future(run_in_thread(self.close, "memgraph-close"))

    def _open(self) -> WorkerGroup:
        works = self._group
        if works is None or self._closed or works.engine.closing:
            raise OutboxError("this invoker is closed; what was submitted before is kept")
        works.crew.ensure_started()
        return works


def _acquire_group(
    outbox: Outbox,
    graph: CompiledStateGraph[Any, Context, Any, Any] | None,
    settings: Settings,
    storage: MemoryStorage | None,
) -> WorkerGroup:
    return WorkerGroup(
        runner_of(outbox, settings, storage, graph=graph), graph=graph, settings=settings, storage=storage
    )


def runner_of(
    outbox: Outbox,
    settings: Settings,
    storage: MemoryStorage | None,
    *,
    graph: CompiledStateGraph[Any, Context, Any, Any] | None = None,
) -> JobRunner:
    """An engine without threads: whoever calls it runs the jobs.

    Args:
        outbox: Where they wait.
        settings: When they are due.
        storage: Where the graph that *settings* describe keeps its memories.
        graph: The memory update; None is that one.
    """
    limits = Limits(
        timing=DebouncePolicy(settings.debounce_seconds, settings.max_wait_seconds),
        max_concurrency=settings.max_concurrency,
        lease_seconds=settings.lease_seconds,
        max_jobs=settings.max_queued,
    )
    return JobRunner(outbox, UpdateExecutor(graph or _graph_of(settings, storage)), limits)


def _graph_of(settings: Settings, storage: MemoryStorage | None) -> CompiledStateGraph[Any, Context, Any, Any]:
    from memgraph.config import make_context
    from memgraph.graph import build_graph

    return build_graph(defaults=make_context(settings).model_copy(update={"storage": storage}))


def _checked_key(scope: object, thread_id: str | None) -> ConversationKey:
    if not isinstance(scope, Scope):
        raise IdentityError(f"scope is a {type(scope).__name__}: say whose memory it is, as in Scope('ada')")
    return ConversationKey(scope, validate_id(thread_id, "thread_id") if thread_id else None)
