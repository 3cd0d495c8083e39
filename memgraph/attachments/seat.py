"""Seat: a node with its memories. Turn: one run of it, from what it is told to what is remembered of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph.attachments.block import rendered
from memgraph.attachments.calls import Action, Call, Called
from memgraph.attachments.item import snapshot_of
from memgraph.attachments.lookup import Bound, looked_up
from memgraph.attachments.node_input import NodeInput, read_input
from memgraph.attachments.node_output import answer_in, new_messages, without_block
from memgraph.attachments.runs import Run, current_runtime
from memgraph.attachments.store import Exchange, Found, Query, Stage
from memgraph.text.content import text_of

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager

T = TypeVar("T")

logger = logging.getLogger("memgraph.attachments")

_AROUND: ContextVar[tuple[MemoryManager, ...]] = ContextVar("managers_around", default=())
"""The managers of the nodes in which this code runs, the nearest first: so a subgraph sees its parent's memories. It
is a context variable, since that follows a run into its subgraphs, threads and tasks, and reaches no other run."""


@dataclass(frozen=True)
class Seat:
    """What `attach` gives a node."""

    node: str
    """What it is called in memories, logs and events."""
    stage: Stage
    memories: Sequence[Any]
    bound: Sequence[Bound] | None
    """The memories, where their manager is known; else they are looked up in the graphs around when it runs."""
    manager: MemoryManager | None
    key: str
    """Of the messages in the node's state."""

    def begin(self, state: object) -> Turn:
        """Begin a run of the node.

        Raises:
            ConfigError: If it attaches a memory that no graph around it has.
        """
        bound = looked_up(self.memories, _AROUND.get(), self.node) if self.bound is None else self.bound
        given = self.guarded(lambda: read_input(state, self.key)) or NodeInput(state, self.key, ())
        run = self.guarded(bound[0].manager.runs.current) if bound and given.messages else None
        return Turn(self, given, run, bound)

    @contextmanager
    def around(self) -> Generator[None]:
        """While the node runs, what is inside sees its manager."""
        token = _AROUND.set((*((self.manager,) if self.manager else ()), *_AROUND.get()))
        try:
            yield
        finally:
            _AROUND.reset(token)

    def guarded(self, call: Callable[[], T]) -> T | None:
        """Return what *call* returns; None where it fails, which costs the node nothing."""
        try:
            return call()
        except Exception:  # a state may hold anything; it is logged, and the agent has its answer
            logger.exception("the memories of %s are left out; the agent goes on", self.node)
            return None


@dataclass(frozen=True)
class Turn:
    """One run of a node. Nothing in it waits: calls are only prepared here, and read."""

    seat: Seat
    given: NodeInput
    run: Run | None
    """None: memory is switched off, there is nothing to go by, or it cannot be told whose run it is."""
    bound: Sequence[Bound]

    def reads(self) -> list[Call]:
        """Return what to ask before the node runs."""
        run, asking = self.run, self.given.asking
        if not (run and run.is_told and asking):
            return []
        text = text_of(asking.content).strip()
        query = Query(text, self.given.messages, run.scope, run.thread_id, self.seat.stage)
        here = (bound for bound in self.bound if bound.attachment.is_read_at(self.seat.stage))
        return [self._call("retrieve", bound, partial(bound.retrieve, query)) for bound in here]

    def told(self, called: Sequence[Called]) -> Any:  # noqa: ANN401 - of the state's own type
        """Return the state for the node: a copy with a block of what was found, or itself."""
        _report(called)
        changed = self.seat.guarded(lambda: self._told({made.call.memory: made.found for made in called}))
        return self.given.state if changed is None else changed

    def writes(self, result: object) -> list[Call]:
        """Return what to have remembered of the node's *result*."""
        exchange = self.seat.guarded(lambda: self._exchange(result)) if self.run else None
        if exchange is None:
            return []
        here = (bound for bound in self.bound if bound.attachment.write)
        return [self._call("update", bound, partial(bound.update, exchange)) for bound in here]

    def ended(self, result: Any, called: Sequence[Called]) -> Any:  # noqa: ANN401 - of the result's own type
        """Return *result* less the block: nothing of it gets into anybody's state."""
        _report(called)
        cleaned = self.seat.guarded(lambda: without_block(result, self.seat.key))
        return result if cleaned is None else cleaned

    def make(self, calls: Sequence[Call]) -> list[Called]:
        """Make *calls*, and wait."""
        return self.bound[0].manager.calls.make(calls) if calls else []

    async def amake(self, calls: Sequence[Call]) -> list[Called]:
        """As `make`, without blocking the event loop."""
        return await self.bound[0].manager.calls.amake(calls) if calls else []

    def _told(self, found: Mapping[str, Sequence[Found]]) -> object:
        text = rendered(found)
        return self.given.told(text) if text else self.given.state

    def _exchange(self, result: object) -> Exchange | None:
        known, asking, run = self.given.messages, self.given.asking, self.run
        said = new_messages(result, self.seat.key, known)
        answer = answer_in(said)
        if not (answer and asking and run):
            return None
        conversation = (*known, *said)
        return Exchange(
            snapshot_of(asking), snapshot_of(answer), self.seat.node, conversation, run.scope, run.thread_id
        )

    def _call(self, action: Action, bound: Bound, function: Callable[[], Iterable[Found]]) -> Call:
        return Call(bound.attachment.name, action, self.seat.node, self.seat.stage, function)


def _report(called: Sequence[Called]) -> None:
    """One line in the log and one event in the stream for each; outside a graph nobody streams."""
    writer = current_runtime().stream_writer if called else None
    for made in called:
        made.log()
        if writer:
            writer(made.event)
