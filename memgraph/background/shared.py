"""Shared workers: invokers of one outbox and of equal configuration use the same runner and threads in a process."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memgraph._concurrency import KeyedExecutor, run_in_thread, time_limit
from memgraph.background import shutdown
from memgraph.background.runner import Client
from memgraph.background.worker import Worker
from memgraph.errors import ConfigError, OutboxError
from memgraph.telemetry import observe_queue

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.background.outbox import Outbox
    from memgraph.background.runner import JobRunner
    from memgraph.context import Context
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

logger = logging.getLogger("memgraph.invoker")

HAND_OVER_SECONDS = 1.0
"""Time at the end of the process in which jobs are left to the next one."""
MAX_IDLE_GROUPS = 8
"""Groups without invokers and without jobs that are kept for the next invoker: making a graph takes 30 ms."""


@dataclass(unsafe_hash=True)
class AgentModel:
    """The chat model of an agent, which is known once the agent has called it.

    All are equal, so that the agents of one configuration share a worker group: it learns with the model that any of
    them has called last.
    """

    latest: BaseChatModel | None = field(default=None, init=False, compare=False)


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What jobs are run with."""

    settings: Settings
    graph: CompiledStateGraph[Any, Context, Any, Any] | None = None
    """The graph that was passed; None if the settings and the models describe it."""
    model: str | BaseChatModel | AgentModel | None = None
    """The chat model that was passed, or an AgentModel; None if the graph or the settings name it."""
    embeddings: Embeddings | None = None
    """The embedding model that was passed; None if the graph or the settings name it."""

    def serves(self, asked: WorkerConfig, settings: Settings | None) -> bool:
        """Whether it is what an invoker with the graph and models of *asked* and these settings asks for.

        None is anything.
        """
        return (
            asked.graph in (None, self.graph)
            and settings in (None, self.settings)
            and asked.model in (None, self.model)
            and asked.embeddings in (None, self.embeddings)
        )

    def can_share_jobs(self, other: WorkerConfig) -> bool:
        """Whether each may run the jobs of the other, since both review the same."""
        return self.graph is other.graph is None and self.settings.review == other.settings.review


class WorkerGroup:
    """A runner, its worker threads, and the invokers that use them.

    Args:
        runner: Runs the jobs.
        config: What it runs them with.
        storage: The storage of the memories; None if it is not known.
        owned: What was opened for it, and is closed with it.
    """

    def __init__(
        self,
        runner: JobRunner,
        config: WorkerConfig,
        *,
        storage: MemoryStorage | None,
        owned: Sequence[Outbox | MemoryStorage] = (),
    ) -> None:
        self.runner = runner
        self.config = config
        self.storage = storage
        self._owned = owned
        self._clients: tuple[weakref.ref[Client], ...] = ()
        self.worker = Worker(runner, is_used=lambda: self.is_used, on_end=REGISTRY.close_surplus)
        self.executor = self._make_executor()
        """Runs `asubmit`, in order for each memory."""
        runner.clients = self.clients

    @property
    def queue(self) -> tuple[str, str | None]:
        """The names of the outbox and the storage whose jobs it runs."""
        return self.runner.outbox.name, self.runner.outbox.storage

    @property
    def is_used(self) -> bool:
        """Whether any invoker uses it."""
        return bool(self.clients())

    def clients(self) -> list[Client]:
        """Return the invokers that use it."""
        return [client for reference in self._clients if (client := reference())]

    def add(self, client: Client) -> None:
        """Record that an invoker uses it."""
        self._clients = tuple(map(weakref.ref, [*self.clients(), client]))

    def remove(self, client: Client) -> None:
        """Record that an invoker uses it no more."""
        self._clients = tuple(weakref.ref(other) for other in self.clients() if other is not client)

    def close(self, deadline: float, *, is_final: bool = False, ends_process: bool = False) -> None:
        """Wait for the running jobs until *deadline*, by time.monotonic; jobs that take longer are abandoned.

        Args:
            deadline: When to give up.
            is_final: Whether the next process may run at once what remains.
            ends_process: Whether that includes the abandoned jobs.
        """
        self.executor.close()
        has_ended = self.worker.close(max(0.0, deadline - time.monotonic()))
        if is_final or ends_process:
            self.runner.hand_over(abandoned=ends_process)
        if has_ended:
            for each in self._owned:
                each.close()

    def after_fork(self) -> None:
        """Reset a forked child: threads and running jobs belong to the parent."""
        self.executor = self._make_executor()
        self.runner.after_fork()
        self.worker.after_fork()

    def _make_executor(self) -> KeyedExecutor:
        return KeyedExecutor(self.runner.settings.max_concurrency, name="memgraph-submit")


class Registry:
    """The worker groups of a process.

    A group may lose its invokers without being closed, for example if an agent is built for each request. It then runs
    the jobs that are pending, unless another group does, and is kept for the next invoker of equal configuration.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: list[WorkerGroup] = []
        self._exit_deadline: float | None = None

    def __len__(self) -> int:
        return len(self._groups)

    def acquire(
        self,
        client: Client,
        queue: tuple[str, str | None],
        config: WorkerConfig,
        make: Callable[[], WorkerGroup],
        *,
        settings: Settings | None,
        any_storage: bool,
    ) -> WorkerGroup:
        """Return the group for *client*; make it if there is none.

        Args:
            client: The invoker.
            queue: See `WorkerGroup.queue`.
            config: What the jobs of *client* are run with if *make* is called.
            make: Makes a group.
            settings: The settings that were passed; None matches those of any group.
            any_storage: Whether a group of the same outbox with another storage is as good.

        Raises:
            ConfigError: If a group that runs the same jobs has another graph or another review.
        """
        with self._lock:
            same_queue = [group for group in self._groups if group.queue == queue]
            same_outbox = [group for group in self._groups if group.queue[0] == queue[0]] if any_storage else []
            groups = (group for group in (*same_queue, *same_outbox) if group.config.serves(config, settings))
            found = next(groups, None)
            if found is None:
                _check_others(config, queue, same_queue)
                found = make()
            found.add(client)
            self._groups = [*(group for group in self._groups if group is not found), found]
        self.close_surplus()
        return found

    def start(self, group: WorkerGroup, *, keep_polling: bool = True) -> None:
        """Start the threads of *group*, and close it when the process ends; *keep_polling* as in `Worker.start`."""
        if group.worker.is_polling:
            return
        with self._lock:
            if group not in self._groups:  # a forked child starts to use what it inherited
                self._groups = [*self._groups, group]
            handle_sigterm = keep_polling and group.config.settings.handle_sigterm
            shutdown.install(self.close_all, handle_sigterm=handle_sigterm)
            shutdown.call_before_exit(self.finish_pending)
            group.worker.start(keep_polling=keep_polling)

    def run_pending(self, group: WorkerGroup) -> None:
        """Run the jobs that an earlier process left, on a thread that ends once none is pending."""
        is_running = any(other.worker.is_running and other.queue == group.queue for other in self._groups)
        if group.runner.outbox.may_have_jobs() and not is_running:
            self.start(group, keep_polling=False)

    def release(self, group: WorkerGroup, client: Client, timeout: float | None, *, wait: bool) -> None:
        """Close *group* if no other invoker uses it; before that, learn from what is pending if *wait*.

        It takes *timeout* seconds at most; None is the group's `exit_seconds`, and HAND_OVER_SECONDS to leave the rest.
        """
        limit = group.config.settings.exit_seconds + HAND_OVER_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + limit
        with self._lock:
            if group.clients() != [client]:
                group.remove(client)
                return
        if wait:
            _learn_pending([group], limit)
        with self._lock:
            group.remove(client)
            if group.is_used:
                return
            self._groups = [other for other in self._groups if other is not group]
            if not any(other.worker.is_running for other in self._groups):
                shutdown.uninstall()
        group.close(deadline, is_final=True)

    def close_surplus(self) -> None:
        """Close the groups that are not worth keeping, on a thread."""
        with self._lock:
            surplus = self._remove_surplus()
        if surplus:
            run_in_thread(lambda: _close_all(surplus, shutdown.EXIT_SECONDS), "memgraph-close")

    def finish_pending(self) -> None:
        """Learn from what is pending, each group within its `exit_seconds`: at a normal exit of the process."""
        began = self._exit_deadline = time.monotonic()
        if not shutdown.CAN_START_THREADS:  # running jobs may end; what is pending waits for the next process
            self.close_all(shutdown.EXIT_SECONDS)
            return
        try:
            groups = [group for group in self._groups if group.worker.is_running]
            self._exit_deadline += max((group.config.settings.exit_seconds for group in groups), default=0.0)
            with time_limit(self._exit_deadline - began + HAND_OVER_SECONDS):
                _learn_pending(groups)
        except KeyboardInterrupt:
            self._exit_deadline = began

    def close_all(self, timeout: float | None) -> None:
        """Close all groups at the end of the process; invokers that still use them find them closed.

        Args:
            timeout: One limit for all, in seconds. None is what `finish_pending` has left.
        """
        with self._lock:
            groups, self._groups = self._groups, []
        if timeout is None:
            deadline = self._exit_deadline
            # below 0 if the outbox stands still: then the time to leave the rest is used up, too
            timeout = shutdown.EXIT_SECONDS if deadline is None else deadline - time.monotonic()
        _close_all(groups, timeout, ends_process=True)

    def queue_depth(self) -> int:
        """Return the number of pending jobs in the outboxes of the groups that are in use.

        Raises:
            OutboxError: If an outbox cannot be read.
        """
        runners = {group.queue: group.runner for group in tuple(self._groups) if group.is_used}
        return sum(len(runner.outbox.pending(now=runner.now())) for runner in runners.values())

    def after_fork(self) -> None:
        """Reset a forked child. Its own invokers get groups of their own, whatever the parent's are configured like."""
        self._lock = threading.Lock()
        for group in self._groups:
            group.after_fork()
        self._groups = []
        self._exit_deadline = None

    def _remove_surplus(self) -> list[WorkerGroup]:
        """Remove and return unused groups: those whose jobs another one runs, and all but the last that have none."""
        running = {group.queue for group in self._groups if group.is_used and group.worker.is_running}
        idle, surplus = 0, list[WorkerGroup]()
        for group in reversed(self._groups):
            if group.is_used or group.worker.is_busy:
                continue
            if group.worker.is_running:
                is_surplus = group.queue in running
                running.add(group.queue)
            else:
                idle += 1
                is_surplus = idle > MAX_IDLE_GROUPS
            if is_surplus:
                surplus.append(group)
        self._groups = [group for group in self._groups if group not in surplus]
        return surplus


def _check_others(config: WorkerConfig, queue: tuple[str, str | None], groups: Sequence[WorkerGroup]) -> None:
    """Raise ConfigError if one of *groups*, which run the same jobs, may not run those of *config*."""
    in_use = [group for group in groups if group.is_used or group.worker.is_running]
    if not all(config.can_share_jobs(group.config) for group in in_use):
        raise ConfigError(
            f"{queue[0]} is in use in this process for {queue[1]} with another graph or other settings: "
            "pass the same ones, or none, or close the other invoker first"
        )


def _learn_pending(groups: Sequence[WorkerGroup], timeout: float = math.inf) -> None:
    """Learn from what is pending, each group within its `exit_seconds` and all within *timeout*; log an error."""
    began = time.monotonic()
    limits = [(group, min(group.config.settings.exit_seconds, timeout)) for group in groups if group.worker.is_running]
    try:
        waiting = [(group, limit, group.worker.expedite_own()) for group, limit in limits if limit]
        shutdown.show_progress(sum(len(jobs) for *_, jobs in waiting), max((limit for _, limit in limits), default=0.0))
        for group, limit, jobs in waiting:
            group.worker.wait_for(jobs, began + limit)
    except OutboxError as error:
        logger.error("what the outbox holds waits for the next start, and what it has not taken is lost: %s", error)  # noqa: TRY400 - expected, no traceback


def _close_all(groups: Sequence[WorkerGroup], timeout: float, *, ends_process: bool = False) -> None:
    """Close *groups* within one time limit."""
    deadline = time.monotonic() + timeout
    for group in groups:
        group.runner.is_closing = True
    with time_limit(timeout + HAND_OVER_SECONDS):
        for group in groups:
            group.close(deadline, ends_process=ends_process)


REGISTRY = Registry()
observe_queue(REGISTRY.queue_depth)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=REGISTRY.after_fork)
