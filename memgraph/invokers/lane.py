"""Threads for an event loop, which must not wait for a disk itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar, cast

from memgraph.errors import OutboxError

T = TypeVar("T")

_Call = tuple["Future[object]", Callable[[], object]]


class Lane:
    """One thread that calls what it is given, in order.

    Started at first use. A thread of its own, since asyncio's default executor is small and others use it.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._lock = threading.Lock()

    def run(self, call: Callable[[], T]) -> Future[T]:
        """Call *call* after all that was given before; what it returns, or raises, comes by the future.

        Raises:
            OutboxError: If the lane is closed.
        """
        future: Future[object] = Future()
        with self._lock:
            if self._closed:
                raise OutboxError("this invoker is closed; what was submitted before is kept")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="memgraph-submit")
                self._thread.start()
            self._calls.put((future, call))
        return cast("Future[T]", future)

    def close(self) -> None:
        """Let the thread end after what it was given."""
        with self._lock:
            self._closed = True
            self._calls.put(None)

    def _work(self) -> None:
        while given := self._calls.get():
            future, call = given
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
                future.set_exception(error)


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Call *call* in a thread of its own."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="memgraph-close").start()
    return future
