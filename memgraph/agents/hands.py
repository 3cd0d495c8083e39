"""Hands: a few threads that wait for memory, so that neither an agent nor an event loop has to."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from functools import partial
from typing import TypeVar

T = TypeVar("T")

_Call = Callable[[], None]


class Hands:
    """Daemon threads, started when needed and gone when idle. A pool's would be joined at exit, also if they hang.

    What hangs takes a hand, not the agent; when all hang, what is given later waits in line for its time and gives up.

    Args:
        most: Threads at once.
        idle_seconds: How long a thread without work stays.
    """

    def __init__(self, most: int = 8, *, idle_seconds: float = 5.0) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._line: deque[_Call] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._changed = threading.Condition()

    def give(self, call: Callable[[], T], context: Context | None = None) -> Future[T]:
        """Call *call* in a thread, in *context* or a copy of the caller's; its result comes by the future."""
        future: Future[T] = Future()
        work = partial(_carry_out, future, partial((copy_context() if context is None else context).run, call))
        with self._changed:
            self._count()
            self._line.append(work)
            if len(self._line) > self._idle and len(self._threads) < self._most:
                self._start()
            self._changed.notify()
        return future

    def within(self, seconds: float | None, call: Callable[[], T]) -> T:
        """Return what *call* returns.

        Raises:
            TimeoutError: If that takes longer than *seconds*; what has begun goes on, what has not is let be.
        """
        future = self.give(call)
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    async def awithin(self, seconds: float | None, call: Callable[[], T]) -> T:
        """As `within`, without blocking the event loop."""
        return await asyncio.wait_for(asyncio.wrap_future(self.give(call)), seconds)

    def _count(self) -> None:
        """After a fork the threads are the parent's."""
        if self._threads and not any(thread.is_alive() for thread in self._threads):
            self._threads.clear()
            self._idle = 0

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, daemon=True, name="memgraph-agent")
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        while work := self._next():
            work()

    def _next(self) -> _Call | None:
        with self._changed:
            self._idle += 1
            found = self._changed.wait_for(lambda: self._line, self._idle_seconds)
            self._idle -= 1
            if found:
                return self._line.popleft()
            self._threads.discard(threading.current_thread())
            return None


def _carry_out(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
        future.set_exception(error)
