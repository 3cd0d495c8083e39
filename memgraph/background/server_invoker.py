"""ServerInvoker: conversations are handed to LangGraph Server, which keeps them and learns from them when due."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import ChatMessage, message_chunk_to_message

from memgraph.background.clock import Clock, SystemClock
from memgraph.background.invoker import Stats
from memgraph.background.langgraph_client import DualClient
from memgraph.background.langgraph_protocol import RunProtocol
from memgraph.background.langgraph_runs import InterruptedThread, ServerRun, context_of, scope_metadata, thread_metadata
from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.reviews import PendingReview, StoredDecision
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import Raw, checked_messages, dump_messages, load_messages, load_raw
from memgraph.errors import ConfigError, IdentityError, NotInReviewError
from memgraph.models import Scope, validate_id
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from types import TracebackType

    from langchain_core.messages import MessageLikeRepresentation
    from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

    from memgraph.state import Conversation

_UNDONE = ("busy", "interrupted")
_FIRST_LOOK, _LONGEST_LOOK = 0.05, 0.5


class ServerInvoker:
    """Has memory updates run by LangGraph Server, when conversations have been quiet for a while.

        with ServerInvoker("http://127.0.0.1:2024") as invoker:
            invoker.submit(messages, Scope("ada"), "thread-1")

    Each conversation (user, agent, thread) has one thread of the server, on which one run waits. What is
    submitted meanwhile goes into a new run together with what the waiting or running one carries, which is rolled
    back. What was submitted is with the server when `submit` returns, and is as durable as the server is. Any
    number of clients may submit. A failed update is tried again, up to 5 times in all, when its conversation goes on.

    Args:
        server: Its URL, or a client of langgraph_sdk, which stays open.
        assistant: Name or id of the assistant that learns.
        settings: How long to wait; None is the defaults. Of the rest, only `enabled: false` counts here, which
            makes all of this do nothing at all: what limits an update is what the server was configured with.
        storage: Where the server keeps the memories, or its URL; only `forget` needs to know.
        clock: What time it is; all clients and the server should agree on it.

    Raises:
        ConfigError: If *server* is no URL of one, or *storage* cannot be opened.
    """

    def __init__(
        self,
        server: str | SyncLangGraphClient | LangGraphClient,
        assistant: str = "memory_update",
        *,
        settings: Settings | None = None,
        storage: str | MemoryStorage | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings = settings or Settings()
        self._enabled = settings.enabled
        self._protocol = RunProtocol(assistant, DebouncePolicy(settings.debounce_seconds, settings.max_wait_seconds))
        self._storage = open_storage(storage) if storage is not None else None
        self._clock = clock or SystemClock()
        self._client = DualClient(server)
        self._submitted = 0
        self._counting = threading.Lock()

    # -- handing over --

    def submit(self, messages: Sequence[MessageLikeRepresentation], scope: Scope, thread_id: str | None = None) -> None:
        """Hand *messages* over; once this returns, the server has them.

        Args:
            messages: What was said, the oldest first: only what is new, or all of the conversation again. What is
                handed over while it waits is merged by message id, the later version counts.
            scope: Whose memory learns. A server that knows who is calling lets that user's learn.
            thread_id: Which conversation, 1-256 characters; empty counts as absent.

        Raises:
            IdentityError: If an id may not be used.
            ConversationError: If *messages* is no conversation.
            OutboxError: If the server could not be reached or refused; these will not be learned from.
        """
        key, raw = _checked_key(scope, thread_id), _as_raw(messages)
        if self._enabled and raw:
            self._client.run(self._protocol.submit(key, raw, self._clock.now()))
            self._count()

    async def asubmit(
        self, messages: Sequence[MessageLikeRepresentation], scope: Scope, thread_id: str | None = None
    ) -> None:
        """As `submit`, without ever blocking the event loop."""
        key, raw = _checked_key(scope, thread_id), await asyncio.to_thread(_as_raw, messages)
        if self._enabled and raw:
            await self._client.ask_async(self._protocol.submit(key, raw, self._clock.now()))
            self._count()

    # -- running --

    def flush(self, timeout: float | None = None) -> bool:
        """Start all that waits now, without its quiet time, and wait for it at most *timeout* seconds.

        Returns:
            Whether all of it was learned from. False: some of it failed, or is in review now, or time ran out. What was
            in review before is not waited for, and does not count.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        left, watched, look = self._expedite(), set[str](), _FIRST_LOOK
        busy = frozenset(left)
        ended: list[ServerRun] = []
        while True:
            seen = {thread: self._runs(thread) for thread in left}
            left = [thread for thread, runs in seen.items() if any(run.is_open for run in runs)]
            watched.update(run.id for thread in left for run in seen[thread] if run.is_open)
            ended += [run for thread, runs in seen.items() if thread not in left for run in runs]
            if not left:
                has_failed = any(run.id in watched and run.status != "success" for run in ended)
                return not (has_failed or (busy and busy.intersection(each.thread for each in self._in_review())))
            if deadline is not None and time.monotonic() + look > deadline:
                return False
            time.sleep(look)
            look = min(2 * look, _LONGEST_LOOK)

    def flush_nowait(self) -> None:
        """Start all that waits now, without waiting for it."""
        self._expedite()

    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Start what failed once more, all of it or that of one scope or thread; return how many jobs."""
        count = 0
        for thread in self._threads(self._metadata(scope, thread_id), (None,)):
            for run in self._client.run(self._protocol.failed(thread)):
                self._client.run(self._protocol.retry(thread, run, self._clock.now()))
                count += 1
        return count

    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope*, what waits to be learned for it, and the server's threads of its updates.

        What is said later is learned anew.

        Raises:
            ConfigError: If the invoker was not told where the memories are; nothing is deleted then.
            StorageError: If the memory could not be deleted.
            OutboxError: If the server could not be reached or refused.
        """
        if self._storage is None:
            raise ConfigError(
                "forget has to know where the server keeps its memories: say ServerInvoker(url, storage=...)"
            )
        threads = self._threads(self._metadata(scope), (None,))
        dropped = [self._client.run(self._protocol.cancel(thread)) for thread in threads]
        self._storage.delete(scope)
        for key, messages in itertools.chain.from_iterable(dropped):
            contextvars.Context().run(_pass_by, self._storage, key, messages)
        for thread in threads:
            self._client.run(self._protocol.clear(thread))

    # -- looking --

    def pending(self) -> Sequence[Job]:
        """What waits or runs, what is due first, first; also what was interrupted, though not for review."""
        runs = [run for thread in self._threads(self._metadata(), _UNDONE) for run in self._runs(thread)]
        jobs = [run.job() for run in runs if run.is_open or run.status == "interrupted"]
        return sorted(jobs, key=lambda job: job.due_at)

    def failed(self) -> Sequence[Job]:
        """What failed, with its error. It asks once or more for every conversation the server knows.

        The server keeps the error of a thread's last run only; of an earlier one the status is told.
        """
        threads = self._threads(self._metadata(), (None,))
        return [job for thread in threads for job in self._client.run(self._protocol.jobs(thread))]

    def in_review(self) -> Sequence[PendingReview]:
        """What a person has to agree to before it is learned, the earliest first.

        What is submitted meanwhile takes the place of it: all of it is then proposed anew.
        """
        return tuple(asked for waiting in self._in_review() for asked in waiting.asked)

    def decide(self, review_id: str, answer: object) -> None:
        """Decide what waits under *review_id*; the server learns what was agreed to, without asking the model again.

        Args:
            review_id: See `InReview.id`.
            answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.

        Raises:
            EditError: If the answer cannot be understood, or edits an item to what may not be; it waits on.
            NotInReviewError: If nothing waits under that id, as somebody else has decided.
            OutboxError: If the server could not be reached or refused.
        """
        every = ((waiting, asked) for waiting in self._in_review() for asked in waiting.asked)
        found = next(((waiting, asked) for waiting, asked in every if asked.id == review_id), None)
        if found is None:
            raise NotInReviewError(review_id)
        waiting, asked = found
        said = StoredDecision.of(asked.proposal, answer).model_dump(mode="json", exclude_unset=True)["answer"]
        self._client.run(self._protocol.decide(waiting, asked, said, self._clock.now()))

    def stats(self) -> Stats:
        """How many submissions this invoker made; what became of them, the server's own metrics tell."""
        return Stats(submitted=self._submitted)

    # -- ends --

    def close(self, timeout: float | None = None) -> None:
        """Close the connections that were opened here. The server goes on without us, so nothing is waited for."""
        del timeout
        self._client.close()

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
        self.close()

    def _count(self) -> None:
        with self._counting:
            self._submitted += 1

    def _expedite(self) -> list[str]:
        threads = self._threads(self._metadata(), ("busy",))
        for thread in threads:
            self._client.run(self._protocol.expedite(thread, self._clock.now()))
        return threads

    def _in_review(self) -> list[InterruptedThread]:
        return self._client.run(self._protocol.in_review(self._metadata())) if self._enabled else []

    def _metadata(self, scope: Scope | None = None, thread_id: str | None = None) -> dict[str, Any]:
        """What to look for in the metadata of threads."""
        if scope is None:
            return {"assistant": self._protocol.assistant, **({"thread_id": thread_id} if thread_id else {})}
        if thread_id:
            return thread_metadata(self._protocol.assistant, ConversationKey(scope, thread_id))
        return scope_metadata(self._protocol.assistant, scope)

    def _threads(self, notes: Mapping[str, Any], statuses: Iterable[str | None]) -> list[str]:
        return self._client.run(self._protocol.threads(notes, statuses)) if self._enabled else []

    def _runs(self, thread: str) -> list[ServerRun]:
        return [run for run in self._client.run(self._protocol.runs(thread)) or () if run.is_ours]


def _checked_key(scope: object, thread_id: str | None) -> ConversationKey:
    if not isinstance(scope, Scope):
        raise IdentityError(f"scope is a {type(scope).__name__}: say whose memory it is, as in Scope('ada')")
    return ConversationKey(scope, validate_id(thread_id, "thread_id") if thread_id else None)


def _as_raw(messages: Sequence[MessageLikeRepresentation]) -> list[Raw]:
    """Write *messages* such that the graph on the server can read them: it is handed plain JSON.

    It knows no chunks, nor roles of one's own, which memory does not learn from anyway.
    """
    whole = (message_chunk_to_message(message) for message in checked_messages(messages))
    return load_raw(dump_messages([message for message in whole if not isinstance(message, ChatMessage)]))


def _pass_by(storage: MemoryStorage, key: ConversationKey, messages: list[Raw]) -> None:
    """Mark *messages*, said before the deletion, as learned, by an update whose model finds nothing in them."""
    from memgraph.background.execution import NullChatModel
    from memgraph.context import Context
    from memgraph.graph import build_graph

    graph = build_graph(model=NullChatModel(), storage=storage)
    conversation: Conversation = {"messages": load_messages(messages)}
    graph.invoke(conversation, context=Context.model_validate(context_of(key)))  # pyright: ignore[reportUnknownMemberType]
