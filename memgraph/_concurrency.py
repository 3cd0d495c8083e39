"""Daemon threads: small executors, calls with a timeout, and a time limit that databases keep.

All threads are daemons and none belongs to a `ThreadPoolExecutor`, whose threads are joined at interpreter exit
even if they hang.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
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


class FairSemaphore:
    """A semaphore that serves threads in their order: with that of `threading`, a thread in a loop starves the others.

    Args:
        count: How many threads may have it at a time.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, timeout: float = threading.TIMEOUT_MAX) -> bool:
        """Take a slot; return whether it was given within *timeout* seconds."""
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            self._waiting.append(turn)
        try:
            if turn.wait(timeout):
                return True
        except BaseException:  # a signal, such as that of Ctrl+C
            if not self._withdraw(turn):
                self.release()
            raise
        return not self._withdraw(turn)

    def _withdraw(self, turn: threading.Event) -> bool:
        """Wait for *turn* no longer; return False if it was given meanwhile."""
        with self._lock:
            is_given = turn.is_set()
            if not is_given:
                self._waiting.remove(turn)
        return not is_given

    def release(self) -> None:
        """Give the slot to the thread that has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


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
    """Runs calls on a few daemon threads, with timeouts: slow memory never blocks the agent or the event loop.

    A call starts a thread, unless *max_workers* run; a thread ends when nothing is queued. A call that hangs occupies
    one thread; if all of them hang, later calls stay queued until their timeout.

    Args:
        max_workers: Threads at the same time.
        name: Name of the threads.
    """

    def __init__(self, max_workers: int = 8, *, name: str = "memgraph-agent") -> None:
        self._max_workers = max_workers
        self._name = name
        self._threads: set[threading.Thread] = set()
        self._queue: deque[_Work] = deque()
        self._lock = threading.Lock()

    def submit(self, call: Callable[[], T], context: Context | None = None) -> Future[T]:
        """Run *call* on a worker thread, in *context* or a copy of the caller's, and return its future."""
        future: Future[T] = Future()
        run = (copy_context() if context is None else context).run
        with self._lock:
            self._queue.append(partial(run_into_future, future, partial(run, call)))
            self._threads = {thread for thread in self._threads if thread.is_alive()}  # a forked child has none
            if len(self._threads) < self._max_workers:
                thread = threading.Thread(target=self._work, daemon=True, name=self._name)
                thread.start()
                self._threads.add(thread)
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

    def _work(self) -> None:
        while work := self._next():
            work()

    def _next(self) -> _Work | None:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            self._threads.discard(threading.current_thread())
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
