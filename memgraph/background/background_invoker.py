"""BackgroundInvoker: durable memory updates on background threads of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from memgraph._concurrency import run_in_thread
from memgraph._validation import check_arguments, invalid_value
from memgraph.background import open_outbox
from memgraph.background.execution import OnStart, UpdateExecutor
from memgraph.background.invoker import Invoker, Stats
from memgraph.background.outbox import Job, Outbox
from memgraph.background.runner import Client, JobRunner, OnError, OnUpdate
from memgraph.background.serialization import dump_submission, validate_key, validate_messages
from memgraph.background.shared import REGISTRY, AgentModel, WorkerConfig, WorkerGroup
from memgraph.config import default_model, given_settings, make_context, make_storage
from memgraph.editing.history import discard_copies
from memgraph.errors import ConfigError, OutboxClosedError
from memgraph.llm import OFFLINE
from memgraph.models import MemoryDocument, Scope
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.backups import Backups

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.background.invoker import Messages
    from memgraph.context import Context

UNKNOWN_STORAGE = "unknown"
"""The storage that jobs name if a graph that `build_graph` did not make is passed without its storage."""


class BackgroundInvoker(Invoker):
    """Runs memory updates on threads of this process after conversations have been quiet for a while.

    ```python
    from langchain_core.messages import HumanMessage

    from memgraph import BackgroundInvoker, Scope, build_graph

    graph = build_graph(model="offline", storage="sqlite:memory.db")
    with BackgroundInvoker(graph, outbox="sqlite:outbox.db") as invoker:
        invoker.submit([HumanMessage("I live in Lisbon.")], Scope("ada"), "thread-1")
        invoker.flush()
    ```

    A submission is on disk before `submit` returns and is removed only after the memory was saved, so a process that
    is killed resumes at its next start. Several processes can share an outbox and its work: a job is run by any invoker
    of its outbox and storage. Within a process, invokers of equal configuration share one set of threads. They start
    with the first submission, or at once if an earlier process left jobs; a forked child has none until it submits.
    Nothing runs in the context of the caller, which may be a node of a running graph.

    What the user said is kept as episodes before `submit` returns, if `build_graph` made the graph.

    Close it, or just drop it: then its threads run what is pending, and end. A normal exit of the interpreter, and the
    `close` of the last invoker, run what is due, or was submitted here, for at most `exit_seconds`. On SIGTERM, if the
    process would be killed by it, running updates have 10 seconds to finish; see the setting `handle_sigterm`. The next
    process runs the rest at once.

    Args:
        graph: The memory update; None is the one that *settings* describe.
        outbox: The queue of conversations: a URL (`sqlite:FILE`, `postgresql://...`, `memory:`), a path, or an Outbox,
            which is not closed here.
            None is the outbox of the settings, else a file in the platform's folder for user data, one for each
            storage. Invokers with different storages may share an outbox: a job is run only for the storage that it
            was submitted for.
        settings: Delays and limits; None reads them as `load_settings` does, or takes those of the
            invokers that share the outbox. With `enabled: false` the invoker does nothing at all.
        storage: The storage of *graph*; needed only if it is not made by `build_graph`. Without it, the jobs of such a
            graph are run by any invoker of the outbox that does not know its storage either. A storage that is opened
            here, from a URL or the settings, is closed with the last invoker that uses it.
        model: The chat model that learns if *graph* is None; None is the one of *settings*. An AgentModel is named
            by `use_model`; until then, jobs of earlier processes wait. Invokers of one outbox and storage may have
            different models and limits, but not different graphs, or values of the setting `review`.
        embeddings: The embedding model that makes the vectors of what is learned if *graph* is None; None is the one of
            *settings*.
        immediate: Whether `submit` runs the update itself and raises its error, without any threads. For tests and
            scripts.
        on_update: Called with an UpdateResult after each update, on the thread that ran it.
        on_error: Called with a Claim and the error after each failed attempt. Errors of hooks are logged.
        on_start: Called with a ConversationKey and the RunnableConfig of an update before it runs. The callbacks, tags
            and metadata that it adds reach the chat model, such as those of a tracer.

    Raises:
        ConfigError: If the outbox, the model or the storage cannot be opened, the storage is the one of the running
            graph (`langgraph:` without a store), which background updates cannot use, or the outbox is in use in this
            process for the same storage with another graph or another `review`.
    """

    @check_arguments
    def __init__(
        self,
        graph: CompiledStateGraph[Any, Context, Any, Any] | None = None,
        *,
        outbox: str | Outbox | None = None,
        settings: Settings | None = None,
        storage: str | MemoryStorage | None = None,
        model: str | BaseChatModel | AgentModel | None = None,
        embeddings: Embeddings | None = None,
        immediate: bool = False,
        on_update: OnUpdate | None = None,
        on_error: OnError | None = None,
        on_start: OnStart | None = None,
    ) -> None:
        if graph is not None and not hasattr(graph, "invoke"):  # such as a storage, which other classes take first
            raise invalid_value("graph", graph, "a graph that build_graph returns; name the others: storage=...")
        self._immediate = immediate
        self._client = Client(on_update, on_error, on_start)
        self._closed = False
        self._group: WorkerGroup | None = None
        effective = given_settings(settings)
        if not effective.enabled:
            return
        known_storage, opened = _find_storage(storage, graph, effective)
        if known_storage is not None and known_storage.needs_running_graph:
            raise ConfigError(
                f"{known_storage.name} is the store of the running graph, which an update in the background does not "
                "have: pass storage=LangGraphStorage(store) with the store that the agent is compiled with, or learn "
                "in the run itself by build_graph(...) as its last node; on LangGraph Server pass a ServerInvoker"
            )
        queue = open_outbox(effective.outbox if outbox is None else outbox, storage=known_storage)
        queue = queue.for_storage(known_storage.name if known_storage else UNKNOWN_STORAGE)
        owned = opened if isinstance(outbox, Outbox) else [queue, *opened]
        config = WorkerConfig(effective, graph, model, embeddings)
        with ExitStack() as unused:
            for each in owned:
                unused.callback(each.close)
            self._group = REGISTRY.acquire(
                self._client,
                (queue.name, queue.storage),
                config,
                lambda: WorkerGroup(
                    make_runner(queue, config, known_storage), config, storage=known_storage, owned=owned
                ),
                settings=settings,
                any_storage=all(given is None for given in (graph, storage, settings, model, embeddings)),
            )
            if self._group.runner.outbox is queue:
                unused.pop_all()
        if not (immediate or isinstance(model, AgentModel)):
            REGISTRY.run_pending(self._group)

    @property
    def storage(self) -> MemoryStorage | None:
        """The storage of the memories; None if it is not known, or the invoker is disabled."""
        return self._group.storage if self._group else None

    @property
    def outbox(self) -> Outbox | None:
        """The outbox of the jobs; None if memory is disabled."""
        return self._group and self._open().runner.outbox

    def start(self) -> None:
        """Start the threads that run jobs, instead of with the first submission.

        For a process that runs the jobs of others. On the main thread, it also installs the handler of SIGTERM.
        """
        if self._group is not None and not self._immediate:
            REGISTRY.start(self._open())

    def resume(self) -> None:
        """Run the jobs that an earlier process left, also if no agent has called its model yet."""
        if self._group is not None:
            REGISTRY.run_pending(self._open())

    def use_model(self, model: BaseChatModel) -> None:
        """Learn with *model* from now on, if this invoker was made with an AgentModel. Does not block."""
        group = self._group
        if group is None or not isinstance(agent_model := group.config.model, AgentModel):
            return
        is_first, agent_model.latest = agent_model.latest is None, model
        if is_first and not self._immediate:
            run_in_thread(lambda: REGISTRY.run_pending(group), "memgraph-start")

    # -- submitting --

    def submit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit *messages*; once this returns they are in the outbox. See `Invoker.submit`.

        Raises:
            OutboxError: If the outbox fails.
            OutboxClosedError: If the invoker is closed.
        """
        if self._group is None:
            return
        group = self._open()
        key, valid = validate_key(scope, thread_id), validate_messages(messages)
        if not valid:
            return
        group.runner.submit(key, dump_submission(valid, at, group.runner.now()))
        if not self._immediate:
            REGISTRY.start(group)
            group.worker.wake()
        elif error := group.runner.drain_conversation(key):
            raise error

    async def asubmit(
        self, messages: Messages, scope: Scope, thread_id: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Submit without ever blocking the event loop, see `submit`."""
        if self._group is not None:
            self.start()
            key, group = validate_key(scope, thread_id), self._open()
            await asyncio.wrap_future(
                group.executor.submit(key.scope, lambda: self.submit(messages, key.scope, key.thread_id, at=at))
            )

    # -- running --

    @check_arguments
    def flush(self, timeout: float | None = None) -> bool:
        """Run all pending jobs now, without waiting for quiet, and wait for them at most *timeout* seconds.

        Returns:
            Whether all of them were learned from. False if one failed and will be retried, or the time ran out.
        """
        if self._group is None:
            return True
        group = self._open()
        if self._immediate:
            return group.runner.drain()
        REGISTRY.start(group)
        return group.worker.flush(timeout)

    @check_arguments
    def flush_nowait(self, scope: Scope | None = None, thread_id: str | None = None) -> None:
        """Run pending jobs now, all or those of one scope or thread, without waiting for them."""
        if self._group is not None:
            group = self._open()
            group.runner.outbox.expedite(now=group.runner.now(), scope=scope, thread_id=thread_id)
            self._wake()

    @check_arguments
    def forget(self, scope: Scope) -> None:
        """Delete the memory of *scope*, its backups and its jobs. Later submissions are learned from again.

        Raises:
            ConfigError: If the invoker has a graph, but was not given its storage.
            StorageError: If the memory could not be deleted.
        """
        if self._group is None:
            return
        group = self._open()
        if group.storage is None:
            raise ConfigError(
                "forget needs the storage of the graph: pass it, as in BackgroundInvoker(graph, storage=...)"
            )
        discard_copies(group.storage, scope, Backups.of(group.storage.name, group.config.settings.api_backups))
        # in this order: after a crash in between, whichever worker runs the jobs sees that the memory was deleted
        self.discard(scope, group.storage.delete(scope))

    def discard(self, scope: Scope, tombstone: MemoryDocument) -> None:
        """Mark what was submitted before the deletion that *tombstone* records as learned, without a model call."""
        if self._group is not None:
            self._open().runner.discard(scope, tombstone)

    # -- jobs --

    def pending(self) -> Sequence[Job]:
        """Return the jobs that wait or run, in the order of their due times."""
        if self._group is None:
            return ()
        runner = self._open().runner
        return runner.outbox.pending(now=runner.now())

    def failed(self) -> Sequence[Job]:
        """Return the dead letters: jobs that failed for good, with their errors."""
        return self._open().runner.outbox.dead_letters() if self._group else ()

    @check_arguments
    def retry(self, scope: Scope | None = None, thread_id: str | None = None) -> int:
        """Requeue dead letters, all or those of one scope or thread; return how many jobs."""
        if self._group is None:
            return 0
        group = self._open()
        count = group.runner.outbox.retry(now=group.runner.now(), scope=scope, thread_id=thread_id)
        self._wake()
        return count

    def stats(self) -> Stats:
        """Return the counts so far of all invokers that share the outbox in this process."""
        return self._group.runner.stats() if self._group else Stats()

    # -- closing --

    @check_arguments
    def close(self, timeout: float | None = None, *, wait: bool = True) -> None:
        """Learn from what is pending, for at most `exit_seconds`, as a normal exit does.

        An invoker that others of this process share the threads with does not wait: they keep running.

        Args:
            timeout: Maximum seconds that it takes, the running jobs included; None is `exit_seconds`, and a
                second to leave the rest.
            wait: Whether to learn. If not, it waits for running jobs only. What remains is due at once for the next
                process.
        """
        if self._group is None or self._closed:
            return
        self._closed = True
        REGISTRY.release(self._group, self._client, timeout, wait=wait)

    def _open(self) -> WorkerGroup:
        group = self._group
        if group is None or self._closed or group.runner.is_closing:
            raise OutboxClosedError("this invoker is closed; earlier submissions are kept")
        return group

    def _wake(self) -> None:
        """Run jobs that were changed in the outbox."""
        self.start()
        self._open().worker.wake()


def make_runner(outbox: Outbox, config: WorkerConfig, storage: MemoryStorage | None) -> JobRunner:
    """Make a runner, which has no threads of its own.

    Args:
        outbox: The queue.
        config: What it runs the jobs with.
        storage: The storage of the graph, if *config* has none.
    """
    settings, model = config.settings, config.model
    if isinstance(model, AgentModel):
        update = _make_graph(config, storage, OFFLINE)  # each run names the model
        executor = UpdateExecutor(update, lambda: model.latest or default_model(settings), settings)
    else:
        executor = UpdateExecutor(config.graph or _make_graph(config, storage, model), upkeep=settings)
    return JobRunner(outbox, executor, settings)


def _make_graph(
    config: WorkerConfig, storage: MemoryStorage | None, model: str | BaseChatModel | None
) -> CompiledStateGraph[Any, Context, Any, Any]:
    from memgraph.update.graph import build_graph

    return build_graph(
        defaults=make_context(config.settings, model=model, storage=storage, embeddings=config.embeddings)
    )


def _find_storage(
    storage: str | MemoryStorage | None, graph: CompiledStateGraph[Any, Context, Any, Any] | None, settings: Settings
) -> tuple[MemoryStorage | None, list[MemoryStorage]]:
    """Return the storage of the memories, None if it is not known; and what was opened here."""
    if isinstance(storage, MemoryStorage):
        return storage, []
    if graph and storage is None:
        from memgraph.update.graph import UpdateGraph

        return (graph.storage if isinstance(graph, UpdateGraph) else None), []
    opened = make_storage(settings) if storage is None else open_storage(storage)
    return opened, [opened]
