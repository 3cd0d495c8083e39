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

from memgraph.agents.hands import Hands
from memgraph.attachments.store import Found, Stage

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
class Call:
    """One thing to ask of a memory."""

    memory: str
    action: Action
    node: str
    stage: Stage
    function: Callable[[], Iterable[Found]]


@dataclass(frozen=True)
class Called:
    """What came of a call."""

    call: Call
    found: Sequence[Found] = ()
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


class Calls:
    """Makes calls in threads of its own: not on an event loop, and not in a run's context, into whose stream they leak.

    Args:
        wait_seconds: How long is waited; a call that has begun goes on beside the agent. None is for ever.
    """

    def __init__(self, *, wait_seconds: float | None = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._hands = Hands()

    def make(self, calls: Sequence[Call]) -> list[Called]:
        """Make *calls* at the same time; return what came of each, in their order."""
        end = None if self._wait_seconds is None else time.monotonic() + self._wait_seconds
        return [self._ended(call, future, end) for call, future in self._begun(calls)]

    async def amake(self, calls: Sequence[Call]) -> list[Called]:
        """As `make`, without blocking the event loop."""
        begun = self._begun(calls)
        if begun:
            await asyncio.wait([asyncio.wrap_future(future) for _, future in begun], timeout=self._wait_seconds)
        return [self._ended(call, future, 0) for call, future in begun]

    def _begun(self, calls: Sequence[Call]) -> list[tuple[Call, Future[Called]]]:
        return [(call, self._hands.give(lambda call=call: _made(call), Context())) for call in calls]

    def _ended(self, call: Call, future: Future[Called], end: float | None) -> Called:
        try:
            return future.result(None if end is None else max(0.0, end - time.monotonic()))
        except TimeoutError as error:
            if call.action == "retrieve":  # what is to be remembered is remembered late
                future.cancel()
            return Called(call, seconds=self._wait_seconds or 0, error=error, is_late=True)


def _made(call: Call) -> Called:
    started = time.perf_counter()
    try:
        found = _checked(call.function())
    except Exception as error:  # noqa: BLE001 - anybody's class; it is logged, and the agent has its answer
        return Called(call, seconds=time.perf_counter() - started, error=error)
    return Called(call, found, time.perf_counter() - started)


def _checked(found: Iterable[object]) -> tuple[Found, ...]:
    """What a memory found, which may be anybody's class."""
    items = tuple(found)
    for item in items:
        if not isinstance(item, Found):
            raise TypeError(f"a memory answers with Found, not with {type(item).__name__}")
    return cast("tuple[Found, ...]", items)
