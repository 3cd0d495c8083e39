"""ServerInvoker: memory updates that LangGraph Server stores, schedules and runs."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from langchain_core.messages import ChatMessage, message_chunk_to_message

from memgraph._concurrency import DaemonExecutor
from memgraph._validation import check_arguments
from memgraph.background.invoker import Invoker, Stats
from memgraph.background.langgraph_protocol import RunProtocol, ServerClient, ServerRun, run_context
from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.schedule import Clock, DebouncePolicy
from memgraph.background.serialization import (
    Raw,
    dump_messages,
    load_messages,
    load_raw,
    validate_key,
    validate_messages,
    with_submission_time,
)
from memgraph.config import given_settings
from memgraph.editing.history import discard_copies
from memgraph.errors import ConfigError
from memgraph.models import Scope
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.backups import Backups

if TYPE_CHECKING:
    from datetime import datetime

    from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

    from memgraph.background.invoker import Messages
    from memgraph.state import Conversation

UNFINISHED_STATUSES = ("busy", "interrupted")
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 0.5


class ServerInvoker(Invoker):
    """Runs memory updates on LangGraph Server after conversations have been quiet for a while.

    <!-- not run: needs the server -->
    ```python
    from langchain_core.messages import HumanMessage

    from memgraph import Scope, ServerInvoker

    with ServerInvoker("http://127.0.0.1:2024") as invoker:
        invoker.submit([HumanMessage("I live in Lisbon.")], Scope("ada"), "thread-1")
    ```

    Each conversation (user, agent, thread) has one thread on the server, with one pending run. A new submission
    creates a run that includes the conversation of the open one, which is rolled back. When `submit` returns, the
    server has the submission, which is as durable as the server is. Any number of clients may submit. A failed update
    is retried, up to 5 attempts in all, at the next submission to its conversation.

    Args:
        server: Its URL, or a client of langgraph_sdk, which is not closed here.
        assistant: Name or id of the assistant that learns.
        settings: Delays; None reads them as `load_settings` does. With `enabled: false` the invoker does nothing
            at all. Everything else
            is configured on the server.
        storage: The storage that the server uses, or its URL; needed by `forget` only.
        clock: The time of day, which all clients and the server should agree on; tests inject a fake.

    Raises:
        ConfigError: If *server* is not the URL of a server, or *storage* cannot be opened.
    """

    @check_arguments
    def __init__(
        self,
        server: str | SyncLangGraphClient | LangGraphClient,
        assistant: str = "memory_update",
        *,
        settings: Settings | None = None,
        storage: str | MemoryStorage | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings = given_settings(settings)
        self._enabled = settings.enabled
        self._backup_folder = settings.api_backups
        self._storage = open_storage(storage) if storage is not None else None
        self._now = clock.now if clock else time.time
        self._client = ServerClient(server)
        timing = DebouncePolicy(settings.debounce_seconds, settings.max_wait_seconds)
        self._protocol = RunProtocol(assistant, timing, self._client.send)
        self._executor = DaemonExecutor(name="memgraph-submit")
        self._submitted = 0
        self._counting = threading.Lock()

    # -- submitting --

    def submit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit *messages*; once this returns, the server has them. See `Invoker.submit`.

        A server with authentication uses the authenticated user instead of the one of *scope*.

        Raises:
            OutboxError: If the server cannot be reached or rejects them; they will not be learned from.
        """
        self._submit(self._protocol, messages, scope, thread_id, at)

    async def asubmit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit without ever blocking the event loop, see `submit`."""
        protocol = replace(self._protocol, send=self._client.sender(asyncio.get_running_loop()))
        await self._executor.arun(None, lambda: self._submit(protocol, messages, scope, thread_id, at))

    def _submit(
        self, protocol: RunProtocol, messages: Messages, scope: Scope, thread_id: str | None, at: datetime | None
    ) -> None:
        now = self._now()
        key, raw = validate_key(scope, thread_id), _to_raw(messages, at, now)
        if self._enabled and raw:
            protocol.submit(key, raw, now)
            with self._counting:
                self._submitted += 1

    # -- running --

    @check_arguments
    def flush(self, timeout: float | None = None) -> bool:
        """Start all pending runs now, without waiting for quiet, and wait for them at most *timeout* seconds.

        Returns:
            Whether all of them were learned from. False if one failed, or the time ran out.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        open_threads, open_runs, interval = self._expedite(), set[int](), FIRST_POLL_SECONDS
        ended: list[ServerRun] = []
        while True:
            runs_by_thread = {thread: self._runs(thread) for thread in open_threads}
            open_threads = [thread for thread, runs in runs_by_thread.items() if any(run.is_open for run in runs)]
            open_runs.update(run.id for thread in open_threads for run in runs_by_thread[thread] if run.is_open)
            ended += [run for thread, runs in runs_by_thread.items() if thread not in open_threads for run in runs]
            if not open_threads:
                return not any(run.id in open_runs and run.status != "success" for run in ended)
            if deadline is not None and time.monotonic() + interval > deadline:
                return False
            time.sleep(interval)
            interval = min(2 * interval, MAX_POLL_SECONDS)

    @check_arguments
    def flush_nowait(self) -> None:
        """Start all pending runs now, without waiting for them."""
        self._expedite()

    @check_arguments
    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Restart failed runs, all or those of one scope or thread; return how many."""
        count = 0
        for thread in self._threads(scope, thread_id):
            for run in self._protocol.failed(thread):
                self._protocol.retry(thread, run, self._now())
                count += 1
        return count

    @check_arguments
    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope*, its backups on this machine, its runs, and its threads on the server.

        Later submissions are learned from again.

        Raises:
            ConfigError: If the invoker was created without *storage*; then nothing is deleted.
            StorageError: If the memory could not be deleted.
            OutboxError: If the server cannot be reached or rejects a request.
        """
        if self._storage is None:
            raise ConfigError("forget needs the storage of the server: pass it, as in ServerInvoker(url, storage=...)")
        threads = self._threads(scope)
        cancelled = [self._protocol.cancel(thread) for thread in threads]
        discard_copies(self._storage, scope, Backups.of(self._storage.name, self._backup_folder))
        self._storage.delete(scope)
        for key, messages in itertools.chain.from_iterable(cancelled):
            contextvars.Context().run(_mark_as_learned, self._storage, key, messages)
        for thread in threads:
            self._protocol.clear(thread)

    # -- jobs --

    def pending(self) -> Sequence[Job]:
        """Return the jobs that wait, run, or were interrupted, in order of their due times."""
        threads = [thread for status in UNFINISHED_STATUSES for thread in self._threads(status=status)]
        runs = [run for thread in dict.fromkeys(threads) for run in self._runs(thread)]
        return sorted((run for run in runs if run.is_open or run.status == "interrupted"), key=lambda run: run.due_at)

    def failed(self) -> Sequence[Job]:
        """Return the failed runs with their errors. It takes at least one request for each conversation on the server.

        The server keeps the error of a thread's last run only; an earlier one has its status as error.
        """
        return [job for thread in self._threads() for job in self._protocol.jobs(thread)]

    def stats(self) -> Stats:
        """Return the number of submissions of this invoker; for results see the server's own metrics."""
        return Stats(submitted=self._submitted)

    # -- closing --

    @check_arguments
    def close(self, timeout: float | None = None, *, wait: bool = True) -> None:
        """Close the connections that were opened here. It waits for nothing, since the runs are on the server."""
        del timeout, wait
        self._client.close()

    def _expedite(self) -> list[str]:
        threads = self._threads(status="busy")
        for thread in threads:
            self._protocol.expedite(thread, self._now())
        return threads

    def _threads(
        self, scope: Scope | None = None, thread_id: str | None = None, status: str | None = None
    ) -> list[str]:
        return self._protocol.threads(scope, thread_id, status) if self._enabled else []

    def _runs(self, thread: str) -> list[ServerRun]:
        return [run for run in self._protocol.runs(thread) if run.is_ours]


def _to_raw(messages: Messages, at: datetime | None, now: float) -> list[Raw]:
    """Return *messages* as JSON that the graph on the server accepts, with the time of the submission.

    It accepts neither chunks nor messages with custom roles, which memory does not learn from anyway.
    """
    complete = (message_chunk_to_message(message) for message in validate_messages(messages))
    raw = load_raw(dump_messages([message for message in complete if not isinstance(message, ChatMessage)]))
    return with_submission_time(raw, at, now)


def _mark_as_learned(storage: MemoryStorage, key: ConversationKey, messages: list[Raw]) -> None:
    """Advance the watermark over *messages* from before a deletion, by an update whose model finds nothing in them."""
    from memgraph.background.execution import NOTHING_KEPT
    from memgraph.context import Context
    from memgraph.update.graph import build_graph

    graph = build_graph(storage=storage, defaults=NOTHING_KEPT)
    conversation: Conversation = {"messages": load_messages(messages)}
    graph.invoke(conversation, context=Context.model_validate(run_context(key)))  # pyright: ignore[reportUnknownMemberType]
