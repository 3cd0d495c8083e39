"""Calls of memories: several at once, within a time, and none that costs an agent its answer."""

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

WAIT_SECONDS = 10.0
"""How long a node waits for a memory. It is longer than for a memory of users, since a text may have to be embedded."""


class MemoryEvent(TypedDict):
    """What a stream of custom events tells of a memory that was asked or fed; no text of it."""

    memory: str
    action: Action
    node: str
    stage: Stage
    hits: int
    """Items found; 0 for an update."""
    ms: float
    error: NotRequired[str]
    """The kind of error, where it failed."""


@dataclass(frozen=True)
class StoreCall:
    """One thing to ask of a memory."""

    memory: str
    action: Action
    node: str
    stage: Stage
    function: Callable[[], Iterable[SearchResult]]


@dataclass(frozen=True)
class StoreResult:
    """What came of a call."""

    call: StoreCall
    found: Sequence[SearchResult] = ()
    seconds: float = 0
    error: BaseException | None = None
    is_late: bool = False
    """Whether it goes on, and nobody waits for it any more."""

    @property
    def event(self) -> MemoryEvent:
        """What is told of it."""
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
        """Leave one line, and where it failed, why."""
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
    """Makes calls in threads of its own: not on an event loop, and not in a run's context, into whose stream they leak.

    Args:
        wait_seconds: How long is waited; a call that has begun goes on beside the agent. None is for ever.
    """

    def __init__(self, *, wait_seconds: float | None = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._hands = DaemonExecutor()

    def run(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """Make *calls* at the same time; return what came of each, in their order."""
        end = None if self._wait_seconds is None else time.monotonic() + self._wait_seconds
        return [self._finish(call, future, end) for call, future in self._start(calls)]

    async def arun(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """As `make`, without blocking the event loop."""
        begun = self._start(calls)
        if begun:
            await asyncio.wait([asyncio.wrap_future(future) for _, future in begun], timeout=self._wait_seconds)
        return [self._finish(call, future, 0) for call, future in begun]

    def _start(self, calls: Sequence[StoreCall]) -> list[tuple[StoreCall, Future[StoreResult]]]:
        return [(call, self._hands.submit(lambda call=call: _made(call), Context())) for call in calls]

    def _finish(self, call: StoreCall, future: Future[StoreResult], end: float | None) -> StoreResult:
        try:
            return future.result(None if end is None else max(0.0, end - time.monotonic()))
        except TimeoutError as error:
            if call.action == "retrieve":  # what is to be remembered is remembered late
                future.cancel()
            return StoreResult(call, seconds=self._wait_seconds or 0, error=error, is_late=True)


def _made(call: StoreCall) -> StoreResult:
    started = time.perf_counter()
    try:
        found = _checked(call.function())
    except Exception as error:  # noqa: BLE001 - anybody's class; it is logged, and the agent has its answer
        return StoreResult(call, seconds=time.perf_counter() - started, error=error)
    return StoreResult(call, found, time.perf_counter() - started)


def _checked(found: Iterable[object]) -> tuple[SearchResult, ...]:
    """What a memory found, which may be anybody's class."""
    items = tuple(found)
    for item in items:
        if not isinstance(item, SearchResult):
            raise TypeError(f"a memory answers with SearchResult, not with {type(item).__name__}")
    return cast("tuple[SearchResult, ...]", items)
