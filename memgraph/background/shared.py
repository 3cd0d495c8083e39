"""Shared workers: all invokers of one outbox in a process use the same runner and threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memgraph._concurrency import KeyedExecutor
from memgraph.background import shutdown
from memgraph.background.worker import Worker
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.background.runner import JobRunner
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


class WorkerGroup:
    """A runner, its worker threads, and how many invokers use them.

    Args:
        runner: Runs the jobs.
        graph: The graph that was passed; None if the settings describe it.
        settings: The settings that the runner was made with.
        storage: The storage of the memories; None if it is not known.
    """

    def __init__(self, runner: JobRunner, *, graph: Any, settings: Settings, storage: MemoryStorage | None) -> None:  # noqa: ANN401
        self.runner = runner
        self.graph = graph
        self.settings = settings
        self.storage = storage
        self.worker = Worker(runner)
        self.executor = self._make_executor()
        """Runs `asubmit`, in order for each memory."""
        self.ref_count = 0

    def conflicts_with(self, graph: object, settings: Settings | None) -> bool:
        """Whether these differ from the group's own; None matches anything."""
        return graph not in (None, self.graph) or settings not in (None, self.settings)

    def close(self, deadline: float, *, close_outbox: bool = True) -> None:
        """Wait for the running jobs until *deadline*, by time.monotonic; jobs that take longer are abandoned."""
        self.executor.close()
        if self.worker.close(max(0.0, deadline - time.monotonic())) and close_outbox:
            self.runner.outbox.close()

    def after_fork(self) -> None:
        """Reset a forked child: threads and running jobs belong to the parent."""
        self.executor = self._make_executor()
        self.runner.after_fork()
        self.worker.after_fork()

    def _make_executor(self) -> KeyedExecutor:
        return KeyedExecutor(self.runner.limits.max_concurrency, name="memgraph-submit")


class Registry:
    """The worker groups of a process, by outbox and storage: a second group would double the concurrency."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[tuple[str, str], WorkerGroup] = {}

    def acquire(
        self,
        outbox: str,
        storage: str,
        make: Callable[[], WorkerGroup],
        *,
        graph: object,
        settings: Settings | None,
        any_storage: bool,
    ) -> WorkerGroup:
        """Return the group of an outbox and a storage, both by name; make it if there is none.

        With *any_storage*, a group of the outbox with another storage is as good, unless its settings differ.

        Raises:
            ConfigError: If it runs another graph, or has other settings.
        """
        with self._lock:
            group = self._groups.get((outbox, storage))
            if any_storage:
                others = (other for (name, _), other in self._groups.items() if name == outbox)
                group = next((each for each in others if not each.conflicts_with(graph, settings)), group)
            if group is None:
                group = self._groups[outbox, storage] = make()
                shutdown.install(self.close_all)
            elif group.conflicts_with(graph, settings):
                raise ConfigError(
                    f"{outbox} is in use in this process for {storage} with another graph or other settings: "
                    "pass the same ones, or none, or close the other invoker first"
                )
            group.ref_count += 1
            return group

    def release(self, group: WorkerGroup, timeout: float) -> None:
        """Close *group* if no other invoker uses it."""
        with self._lock:
            group.ref_count -= 1
            if group.ref_count:
                return
            self._groups = {key: other for key, other in self._groups.items() if other is not group}
            if not self._groups:
                shutdown.uninstall()
            name = group.runner.outbox.name
            is_shared = any(outbox == name for outbox, _ in self._groups)
        group.close(time.monotonic() + timeout, close_outbox=not is_shared)

    def close_all(self, timeout: float) -> None:
        """Close all groups within one time limit; invokers that still use them find them closed."""
        deadline = time.monotonic() + timeout
        with self._lock:
            groups, self._groups = list(self._groups.values()), {}
        for group in groups:
            group.runner.is_closing = True
        for group in groups:
            group.close(deadline)

    def after_fork(self) -> None:
        """Reset a forked child, see `WorkerGroup.after_fork`."""
        self._lock = threading.Lock()
        for group in self._groups.values():
            group.after_fork()


REGISTRY = Registry()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=REGISTRY.after_fork)
