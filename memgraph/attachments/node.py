"""Seat: a node with its memories. Turn: one run of it, from what it is told to what is remembered of it."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from memgraph.attachments.binding import BoundStore, resolve_attachments
from memgraph.attachments.context_message import render_context
from memgraph.attachments.item import snapshot_of
from memgraph.attachments.node_io import NodeInput, find_answer, new_messages, read_input, without_block
from memgraph.attachments.runner import Action, StoreCall, StoreResult
from memgraph.attachments.runs import Run, current_runtime
from memgraph.attachments.store import Interaction, SearchQuery, SearchResult, Stage
from memgraph.text.message import text_of

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager


T = TypeVar("T")

logger = logging.getLogger("memgraph.attachments")

_AROUND: ContextVar[tuple[MemoryManager, ...]] = ContextVar("managers_around", default=())
"""The managers of the nodes in which this code runs, the nearest first: so a subgraph sees its parent's memories. It
is a context variable, since that follows a run into its subgraphs, threads and tasks, and reaches no other run."""


@dataclass(frozen=True)
class NodeMemory:
    """What `attach` gives a node."""

    node: str
    """What it is called in memories, logs and events."""
    stage: Stage
    memories: Sequence[Any]
    bound: Sequence[BoundStore] | None
    """The memories, where their manager is known; else they are looked up in the graphs around when it runs."""
    manager: MemoryManager | None
    key: str
    """Of the messages in the node's state."""

    def start_run(self, state: object) -> NodeRun:
        """Begin a run of the node.

        Raises:
            ConfigError: If it attaches a memory that no graph around it has.
        """
        bound = resolve_attachments(self.memories, _AROUND.get(), self.node) if self.bound is None else self.bound
        given = self.log_errors(lambda: read_input(state, self.key)) or NodeInput(state, self.key, ())
        run = self.log_errors(bound[0].manager.runs.current) if bound and given.messages else None
        return NodeRun(self, given, run, bound)

    @contextmanager
    def manager_scope(self) -> Generator[None]:
        """While the node runs, what is inside sees its manager."""
        token = _AROUND.set((*((self.manager,) if self.manager else ()), *_AROUND.get()))
        try:
            yield
        finally:
            _AROUND.reset(token)

    def log_errors(self, call: Callable[[], T]) -> T | None:
        """Return what *call* returns; None where it fails, which costs the node nothing."""
        try:
            return call()
        except Exception:  # a state may hold anything; it is logged, and the agent has its answer
            logger.exception("the memories of %s are left out; the agent goes on", self.node)
            return None


@dataclass(frozen=True)
class NodeRun:
    """One run of a node. Nothing in it waits: calls are only prepared here, and read."""

    seat: NodeMemory
    given: NodeInput
    run: Run | None
    """None: memory is switched off, there is nothing to go by, or it cannot be told whose run it is."""
    bound: Sequence[BoundStore]

    def retrieval_calls(self) -> list[StoreCall]:
        """Return what to ask before the node runs."""
        run, asking = self.run, self.given.question
        if not (run and run.is_told and asking):
            return []
        text = text_of(asking.content).strip()
        query = SearchQuery(text, self.given.messages, run.scope, run.thread_id, self.seat.stage)
        here = (bound for bound in self.bound if bound.attachment.is_read_at(self.seat.stage))
        return [self._call("retrieve", bound, partial(bound.retrieve, query)) for bound in here]

    def build_input(self, called: Sequence[StoreResult]) -> Any:  # noqa: ANN401 - of the state's own type
        """Return the state for the node: a copy with a block of what was found, or itself."""
        _report(called)
        changed = self.seat.log_errors(lambda: self._told({made.call.memory: made.found for made in called}))
        return self.given.state if changed is None else changed

    def update_calls(self, result: object) -> list[StoreCall]:
        """Return what to have remembered of the node's *result*."""
        exchange = self.seat.log_errors(lambda: self._exchange(result)) if self.run else None
        if exchange is None:
            return []
        here = (bound for bound in self.bound if bound.attachment.write)
        return [self._call("update", bound, partial(bound.update, exchange)) for bound in here]

    def clean_output(self, result: Any, called: Sequence[StoreResult]) -> Any:  # noqa: ANN401 - of the result's own type
        """Return *result* less the block: nothing of it gets into anybody's state."""
        _report(called)
        cleaned = self.seat.log_errors(lambda: without_block(result, self.seat.key))
        return result if cleaned is None else cleaned

    def make(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """Make *calls*, and wait."""
        return self.bound[0].manager.calls.run(calls) if calls else []

    async def amake(self, calls: Sequence[StoreCall]) -> list[StoreResult]:
        """As `make`, without blocking the event loop."""
        return await self.bound[0].manager.calls.arun(calls) if calls else []

    def _told(self, found: Mapping[str, Sequence[SearchResult]]) -> object:
        text = render_context(found)
        return self.given.with_context(text) if text else self.given.state

    def _exchange(self, result: object) -> Interaction | None:
        known, asking, run = self.given.messages, self.given.question, self.run
        said = new_messages(result, self.seat.key, known)
        answer = find_answer(said)
        if not (answer and asking and run):
            return None
        conversation = (*known, *said)
        return Interaction(
            snapshot_of(asking), snapshot_of(answer), self.seat.node, conversation, run.scope, run.thread_id
        )

    def _call(self, action: Action, bound: BoundStore, function: Callable[[], Iterable[SearchResult]]) -> StoreCall:
        return StoreCall(bound.attachment.name, action, self.seat.node, self.seat.stage, function)


def _report(called: Sequence[StoreResult]) -> None:
    """One line in the log and one event in the stream for each; outside a graph nobody streams."""
    writer = current_runtime().stream_writer if called else None
    for made in called:
        made.log()
        if writer:
            writer(made.event)


def wrap_function(seat: NodeMemory, node: Any) -> Callable[..., Any]:  # noqa: ANN401 - a function, or what can be called as one
    """Wrap a function. functools.wraps keeps its signature, by which LangGraph knows what it may see."""
    is_plain = inspect.isroutine(node) or isinstance(node, functools.partial)
    function: Callable[..., Any] = cast("Any", node if is_plain else node.__call__)
    wrapped = _awaiting(seat, function) if inspect.iscoroutinefunction(function) else _calling(seat, function)
    wrapped.__name__ = seat.node
    return wrapped


def wrap_runnable(seat: NodeMemory, node: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Wrap a Runnable. It is named in both functions, since that is how LangGraph finds a graph inside them."""

    def invoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return _calling(seat, node.invoke)(state, config)

    async def ainvoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return await _awaiting(seat, node.ainvoke)(state, config)

    return RunnableLambda(invoke, ainvoke, name=seat.node)


def _calling(seat: NodeMemory, node: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(node)
    def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        turn = seat.start_run(state)
        told = turn.build_input(turn.make(turn.retrieval_calls()))
        with seat.manager_scope():
            result = node(told, *args, **kwargs)
        return turn.clean_output(result, turn.make(turn.update_calls(result)))

    return call


def _awaiting(seat: NodeMemory, node: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(node)
    async def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        turn = seat.start_run(state)
        told = turn.build_input(await turn.amake(turn.retrieval_calls()))
        with seat.manager_scope():
            result = await node(told, *args, **kwargs)
        return turn.clean_output(result, await turn.amake(turn.update_calls(result)))

    return call
