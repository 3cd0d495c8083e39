"""Running store calls: concurrently, with a timeout, and with errors logged and not raised."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from memgraph._concurrency import DaemonExecutor, run_in_thread
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
    """One retrieval or update of a memory by a node, and when it has run, its outcome."""

    memory: str
    action: Action
    node: str
    stage: Stage
    function: Callable[[], object]
    """Returns SearchResult objects if the call is a retrieval."""
    found: Sequence[SearchResult] = ()
    seconds: float = 0
    error: BaseException | None = None
    is_late: bool = False
    """Whether it timed out; the call itself goes on."""

    def run(self) -> StoreCall:
        """Run the call and return its outcome."""
        started = time.perf_counter()
        try:
            result = self.function()
            found = _validate(result) if self.action == "retrieve" else ()
        except Exception as error:  # noqa: BLE001 - a store may raise anything; the node goes on
            return replace(self, seconds=time.perf_counter() - started, error=error)
        return replace(self, seconds=time.perf_counter() - started, found=found)

    @property
    def event(self) -> MemoryEvent:
        """The event for the stream."""
        event: MemoryEvent = {
            "memory": self.memory,
            "action": self.action,
            "node": self.node,
            "stage": self.stage,
            "hits": len(self.found),
            "ms": round(self.seconds * 1000, 3),
        }
        return {**event, "error": type(self.error).__name__} if self.error else event

    def log(self) -> None:
        """Write one line to the log, with the error if the call failed."""
        what, ms = f"{self.memory} at {self.node} ({self.stage}): {self.action}", self.seconds * 1000
        if self.is_late:
            logger.warning("%s takes longer than %.0f ms; the agent goes on", what, ms)
        elif self.error:
            logger.error("%s failed; the agent goes on", what, exc_info=self.error)
        else:
            found = f", {len(self.found)} found" if self.action == "retrieve" else ""
            logger.info("%s%s, %.1f ms", what, found, ms)


class StoreRunner:
    """Runs calls on its own threads, off the event loop and in an empty context, so that nothing leaks into streams.

    Args:
        wait_seconds: The timeout, after which a running call goes on in the background; None waits without limit.
    """

    def __init__(self, *, wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._executor = DaemonExecutor()

    def run(self, calls: Sequence[StoreCall]) -> list[StoreCall]:
        """Run *calls* concurrently, and return their outcomes in order."""
        futures = [self._executor.submit(call.run, Context()) for call in calls]
        wait(futures, self._wait_seconds)
        return [self._outcome(call, future) for call, future in zip(calls, futures, strict=True)]

    async def arun(self, calls: Sequence[StoreCall]) -> list[StoreCall]:
        """Like `run`, without blocking the event loop."""
        waiting = run_in_thread(partial(self.run, calls), "memgraph-memories") if calls else None
        return await asyncio.wrap_future(waiting) if waiting else []

    def _outcome(self, call: StoreCall, future: Future[StoreCall]) -> StoreCall:
        if future.done():
            return future.result()
        if call.action == "retrieve":  # a queued update still runs, only late
            future.cancel()
        return replace(call, seconds=self._wait_seconds or 0, error=TimeoutError(), is_late=True)


def _validate(found: object) -> tuple[SearchResult, ...]:
    """Check the results of a store, which may be of any class."""
    items = tuple(cast("Iterable[object]", found))
    for item in items:
        if not isinstance(item, SearchResult):
            raise TypeError(f"retrieve must return SearchResult objects, not {type(item).__name__}")
    return cast("tuple[SearchResult, ...]", items)
