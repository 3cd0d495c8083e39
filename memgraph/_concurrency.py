"""Daemon threads: small executors, calls with a timeout, and a time limit that databases keep.

All threads are daemons and none belongs to a `ThreadPoolExecutor`, whose threads are joined at interpreter exit
even if they hang.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Self, TypeVar

T = TypeVar("T")
_Work = Callable[[], None]

_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE", default=math.inf)


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Limit the transactions that begin in this block to *seconds* in all; an outer limit stays."""
    token = _DEADLINE.set(min(_DEADLINE.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def seconds_left() -> float:
    """Return the seconds that the current time limit leaves, negative if it has passed; infinite without one."""
    return _DEADLINE.get() - time.monotonic()


class Closing:
    """A base class: a context manager that calls `close` at its end."""

    def close(self) -> None:
        """Close what was opened."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DaemonExecutor:
    """Small daemon thread pool with timeouts: slow memory never blocks the agent or the event loop.

    Threads start on demand and end when idle, or when the executor is garbage-collected; what was submitted still runs.
    A call that hangs occupies one thread; if all of them hang, later calls stay queued until their timeout.

    Args:
        max_workers: Threads at the same time.
        idle_seconds: Seconds after which an idle thread ends.
        name: Name of the threads.
    """

    def __init__(self, max_workers: int = 8, *, idle_seconds: float = 5.0, name: str = "memgraph-agent") -> None:
        self._pool = _ThreadPool(max_workers, idle_seconds, name)
        weakref.finalize(self, self._pool.close).atexit = False

    def submit(self, call: Callable[[], T], context: Context | None = None) -> Future[T]:
        """Run *call* on a worker thread, in *context* or a copy of the caller's, and return its future."""
        future: Future[T] = Future()
        run = (copy_context() if context is None else context).run
        self._pool.submit(partial(run_into_future, future, partial(run, call)))
        return future

    def run(self, seconds: float | None, call: Callable[[], T]) -> T:
        """Return the result of *call*, waiting at most *seconds*.

        Raises:
            TimeoutError: If it takes longer. A running call goes on; a queued one is cancelled.
        """
        future = self.submit(call)
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    async def arun(self, seconds: float | None, call: Callable[[], T]) -> T:
        """Await the result of *call* as `run` does, without blocking the event loop."""
        return await asyncio.wait_for(asyncio.wrap_future(self.submit(call)), seconds)


class _ThreadPool:
    """The threads of a DaemonExecutor, which they do not keep alive."""

    def __init__(self, max_workers: int, idle_seconds: float, name: str) -> None:
        self.threads: set[threading.Thread] = set()
        self._max_workers = max_workers
        self._idle_seconds = idle_seconds
        self._name = name
        self._queue: deque[_Work] = deque()
        self._idle = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def submit(self, work: _Work) -> None:
        with self._changed:
            self._forget_dead_threads()
            self._queue.append(work)
            if len(self._queue) > self._idle and len(self.threads) < self._max_workers:
                self._start()
            self._changed.notify()

    def close(self) -> None:
        """End the idle threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _forget_dead_threads(self) -> None:
        """Reset the pool in a forked child, which has none of the parent's threads."""
        if self.threads and not any(thread.is_alive() for thread in self.threads):
            self.threads.clear()
            self._idle = 0

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, daemon=True, name=self._name)
        self.threads.add(thread)
        thread.start()

    def _work(self) -> None:
        while work := self._next():
            work()
            del work  # it may hold the executor, which ends this thread once it is garbage-collected

    def _next(self) -> _Work | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._queue or self._is_closed, self._idle_seconds)
            self._idle -= 1
            if self._queue:
                return self._queue.popleft()
            self.threads.discard(threading.current_thread())
            return None


class KeyedExecutor:
    """Runs calls of one key one at a time, in the order of submission, and calls of different keys at the same time.

    It does not use asyncio's default executor, which is small and shared with the application.

    Args:
        max_workers: Threads at the same time.
        name: Name of the threads.
    """

    def __init__(self, max_workers: int, *, name: str) -> None:
        self._executor = DaemonExecutor(max_workers, name=name)
        self._lock = threading.Lock()
        self._queues: dict[object, deque[_Work]] = {}
        self._closed = False

    def submit(self, key: object, call: Callable[[], T]) -> Future[T]:
        """Run *call* after those of *key* that were submitted before, and return its future.

        Raises:
            RuntimeError: If the executor is closed.
        """
        if self._closed:
            raise RuntimeError("cannot submit: the executor is closed")
        future: Future[T] = Future()
        with self._lock:
            queue = self._queues.setdefault(key, deque())
            queue.append(partial(run_into_future, future, call))
            is_first = len(queue) == 1
        if is_first:
            self._start(key)
        return future

    def close(self) -> None:
        """Reject further calls; those submitted before still run."""
        self._closed = True

    def _start(self, key: object) -> None:
        # an empty context: the stream of the caller's run must not see the call
        self._executor.submit(partial(self._run_first, key), Context())

    def _run_first(self, key: object) -> None:
        """Run the first call of *key*; the next one goes to the end of the line, so that all keys get their turn."""
        queue = self._queues[key]
        queue[0]()
        with self._lock:
            queue.popleft()
            if not queue:
                del self._queues[key]
                return
        self._start(key)


def run_in_thread(call: Callable[[], T], name: str) -> Future[T]:
    """Run *call* on a new daemon thread called *name*, in an empty context."""
    future: Future[T] = Future()
    threading.Thread(target=run_into_future, args=(future, call), daemon=True, name=name).start()
    return future


def run_into_future(future: Future[T], call: Callable[[], T]) -> None:
    """Run *call* on this thread unless *future* is cancelled, which gets its result or error."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the caller receives it from the future
        future.set_exception(error)
