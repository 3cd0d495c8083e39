"""What the invokers of one outbox share in a process: the engine, its threads, and who uses them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memgraph._concurrency import SerialExecutor
from memgraph.background import shutdown
from memgraph.background.worker import Worker
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.background.runner import JobRunner
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


class WorkerGroup:
    """An engine with its threads."""

    def __init__(self, engine: JobRunner, *, graph: Any, settings: Settings, storage: MemoryStorage | None) -> None:  # noqa: ANN401
        self.engine = engine
        self.graph = graph
        """The one that was given; None where settings made it."""
        self.settings = settings
        self.storage = storage
        self.crew = Worker(engine)
        self.lane = SerialExecutor()
        self.ref_count = 0

    def conflicts_with(self, graph: object, settings: Settings | None, storage: MemoryStorage | None) -> bool:
        """Whether what is wanted is something else; None is whatever there is."""
        elsewhere = storage is not None and (self.storage is None or storage.name != self.storage.name)
        return elsewhere or graph not in (None, self.graph) or settings not in (None, self.settings)

    def close(self, deadline: float) -> None:
        """Wait for what runs until *deadline*, by time.monotonic. What has not ended by then is left to itself."""
        self.lane.close()
        if self.crew.close(max(0.0, deadline - time.monotonic())):
            self.engine.outbox.close()

    def after_fork(self) -> None:
        """In a child process: the threads are the parent's, and so is what runs."""
        self.lane = SerialExecutor()
        self.engine.after_fork()
        self.crew.after_fork()


class Registry:
    """The works of a process by the name of their outbox: two of one name would run twice what is allowed at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: dict[str, WorkerGroup] = {}

    def acquire(
        self,
        name: str,
        make: Callable[[], WorkerGroup],
        *,
        graph: object,
        settings: Settings | None,
        storage: MemoryStorage | None,
    ) -> WorkerGroup:
        """Return the works of the outbox called *name*, made where there are none.

        Raises:
            ConfigError: If they run another graph, save elsewhere, or have other settings.
        """
        with self._lock:
            works = self._works.get(name)
            if works is None:
                works = self._works[name] = make()
                shutdown.install(self.close_all)
            elif works.conflicts_with(graph, settings, storage):
                raise ConfigError(
                    f"{name} is worked on in this process with another graph, another storage or other settings: "
                    "give the same ones, or none, or close the other invoker first"
                )
            works.ref_count += 1
            return works

    def release(self, works: WorkerGroup, timeout: float) -> None:
        """Close *works* where nobody else uses them."""
        with self._lock:
            works.ref_count -= 1
            if works.ref_count:
                return
            self._works = {name: other for name, other in self._works.items() if other is not works}
            if not self._works:
                shutdown.uninstall()
        works.close(time.monotonic() + timeout)

    def close_all(self, timeout: float) -> None:
        """Close all works, with one time limit for all; those who use them find them closed."""
        deadline = time.monotonic() + timeout
        with self._lock:
            every, self._works = list(self._works.values()), {}
        for works in every:
            works.engine.closing = True
        for works in every:
            works.close(deadline)

    def after_fork(self) -> None:
        """In a child process: see `Works.forked`."""
        self._lock = threading.Lock()
        for works in self._works.values():
            works.after_fork()


REGISTRY = Registry()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=REGISTRY.after_fork)
