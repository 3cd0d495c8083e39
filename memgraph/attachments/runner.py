"""Running store calls: concurrently, with a timeout, and with errors logged and not raised."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from memgraph._concurrency import DaemonExecutor
from memgraph.attachments.store import SearchResult, Stage

Action = Literal["retrieve", "update"]

logger = logging.getLogger("memgraph.attachments")

DEFAULT_TIMEOUT_SECONDS = 10.0
"""Seconds that a node waits for its memories; longer than for user memory, since texts may have to be embedded."""


class MemoryEvent(TypedDict):
    """The event of one call in the stream "custom"; it contains no text."""

    memory: str
    action: Action
    node: str
    stage: Stage
    hits: int
    """Number of items found; 0 for an update."""
    ms: float
    error: NotRequired[str]
    """Class of the error, if the call failed."""


@dataclass(frozen=True)
class StoreCall:
    """One retrieval or update of a memory."""

    memory: str
    action: Action
    node: str
    stage: Stage
    function: Callable[[], Iterable[SearchResult]]


@dataclass(frozen=True)
class StoreResult:
    """The outcome of a call."""

    call: StoreCall
    found: Sequence[SearchResult] = ()
    seconds: float = 0
    error: BaseException | None = None
    is_late: bool = False
    """Whether it timed out; the call itself goes on."""

    @property
    def event(self) -> MemoryEvent:
        """The event for the stream."""
        call = self.call
        event: MemoryEvent = {
            "memory": call.memory,
            "action": call.action,
            "node": call.node,
            "stage": call.stage,
            "hits": len(self.found),
            "ms": round(self.seconds * 1000, 3),
        }
        return {**event, "error": type(self.error).__name__} if self.error else event

    def log(self) -> None:
        """Write one line to the log, with the error if the call failed."""
        call, ms = self.call, self.seconds * 1000
        what = f"{call.memory} at {call.node} ({call.stage}): {call.action}"
        if self.is_late:
            logger.warning("%s takes longer than %.0f ms; the agent goes on", what, ms)
        elif self.error:
            logger.error("%s failed; the agent goes on", what, exc_info=self.error)
        else:
            found = f", {len(self.found)} found" if call.action == "retrieve" else ""
            logger.info("%s%s, %.1f ms", what, found, ms)


class StoreRunner:
    """Runs calls on its own threads, off the event loop and in an empty context, so that nothing leaks into streams.

    Args:
        wait_seconds: The timeout, after which a running call goes on in the background; None waits without limit.
    """

    def __init__(self, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()

    def run(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """Run *calls* concurrently, and return their results in order."""
        deadline = None if self._wait_seconds is None else time.monotonic() + self._wait_seconds
        return [self._finish(call, future, deadline) for call, future in self._start(calls)]

    async def arun(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """Like `run`, without blocking the event loop."""
        started = self._start(calls)
        if started:
            await asyncio.wait([asyncio.wrap_future(future) for _, future in started], timeout=self._wait_seconds)
        return [self._finish(call, future, 0) for call, future in started]

    def _start(self, calls: Sequence[StoreCall]) -> list[tuple[StoreCall, Future[StoreResult]]]:
        return [(call, self._executor.submit(lambda call=call: _run(call), Context())) for call in calls]

    def _finish(self, call: StoreCall, future: Future[StoreResult], deadline: float | None) -> StoreResult:
        try:
            return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except TimeoutError as error:
            if call.action == "retrieve":  # a queued update still runs, only late
                future.cancel()
            return StoreResult(call, seconds=self._wait_seconds or 0, error=error, is_late=True)


def _run(call: StoreCall) -> StoreResult:
    started = time.perf_counter()
    try:
        found = _validate(call.function())
    except Exception as error:  # noqa: BLE001 - a store may raise anything; the node goes on
        return StoreResult(call, seconds=time.perf_counter() - started, error=error)
    return StoreResult(call, found, time.perf_counter() - started)


def _validate(found: Iterable[object]) -> tuple[SearchResult, ...]:
    """Check the results of a store, which may be of any class."""
    items = tuple(found)
    for item in items:
        if not isinstance(item, SearchResult):
            raise TypeError(f"retrieve must return SearchResult objects, not {type(item).__name__}")
    return cast("tuple[SearchResult, ...]", items)
