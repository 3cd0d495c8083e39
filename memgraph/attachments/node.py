"""Nodes with memories: one run of a node, with the retrievals before it and the updates after it, in other threads."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config
from typing_extensions import TypedDict

from memgraph._concurrency import DaemonExecutor, run_in_thread
from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.agents.resources import Identity
from memgraph.analysis.message import text_of
from memgraph.analysis.secrets import mask
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.node_io import (
    NodeInput,
    content_without_relayed,
    find_answer,
    is_tool_output,
    new_messages,
    read_input,
    render_context,
    without_context,
)
from memgraph.attachments.store import Interaction, MemoryAttachment, SearchQuery, SearchResult, Stage
from memgraph.errors import ConfigError
from memgraph.langgraph_adapter import current_runtime

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager

T = TypeVar("T")
Action = Literal["retrieve", "update"]
DEFAULT_TIMEOUT_SECONDS = 10.0
"""Seconds that a node waits for its memories; longer than for user memory, since texts may have to be embedded."""

logger = logging.getLogger("memgraph.attachments")

_ENCLOSING: ContextVar[tuple[MemoryManager, ...]] = ContextVar("enclosing_memories", default=())
"""The stores of the enclosing nodes, innermost first, so that a subgraph can use its parent's memories. A context
variable follows a run into its subgraphs, threads and tasks, and is not visible to other runs."""


@dataclass(frozen=True)
class BoundStore:
    """An attachment, and the manager that has its store."""

    stores: MemoryManager
    attachment: MemoryAttachment

    def retrieve(self, query: SearchQuery) -> Sequence[SearchResult]:
        """Search the store as the attachment configures it."""
        name, top_k, threshold = self.attachment.name, self.attachment.top_k, self.attachment.similarity_threshold
        return self.stores.retrieve(name, query, top_k=top_k, threshold=threshold)


def resolve_attachments(entries: object, sets: Sequence[MemoryManager], node: str) -> tuple[BoundStore, ...]:
    """Resolve each of *entries* in the first of *sets* that has a store of its name.

    Raises:
        ConfigError: If an entry is invalid, names an unknown store, or attaches a store twice.
    """
    path = f"attachments.{node}"
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise invalid_value(path, entries, "a list of memories")
    owners = {name: stores for stores in reversed(sets) for name in stores.names}
    found: dict[str, BoundStore] = {}
    for index, entry in enumerate(cast("Sequence[object]", entries)):
        bound = _bind(entry, owners, f"{path}[{index}]")
        if bound.attachment.name in found:
            raise ConfigError(f"{path}[{index}].name is {bound.attachment.name!r}, which is attached there already")
        found[bound.attachment.name] = bound
    return tuple(found.values())


def _bind(entry: object, owners: Mapping[str, MemoryManager], path: str) -> BoundStore:
    attachment = validate_config(MemoryAttachment, {"name": entry} if isinstance(entry, str) else entry, path)
    name = attachment.name
    if name not in owners:
        raise ConfigError(f"{path}.name is {name!r}, and there is no such memory; {suggest(name, owners)}")
    stores = owners[name]
    read_only = stores.store(name).read_only
    if attachment.write and read_only:
        raise ConfigError(f"{path}.write is true, but the memory {name!r} is read-only: leave write out")
    write = not read_only if attachment.write is None else attachment.write
    return BoundStore(stores, attachment.model_copy(update={"write": write}))


@dataclass(frozen=True)
class NodeMemory:
    """The memories of a node."""

    node: str
    """Its name in memories, logs and events."""
    stage: Stage
    memories: Sequence[Any]
    bound: Sequence[BoundStore] | None
    """The resolved memories; None to look them up in the enclosing nodes at each run."""
    stores: MemoryManager | None
    """The stores that nodes inside this one can use."""
    key: str
    """Key of the messages in the node's state."""

    def start_run(self, state: object) -> NodeRun:
        """Start a run of the node.

        Raises:
            ConfigError: If it attaches a memory that no enclosing node has.
        """
        bound = resolve_attachments(self.memories, _ENCLOSING.get(), self.node) if self.bound is None else self.bound
        node_input = self.log_errors(lambda: read_input(state, self.key)) or NodeInput(state, self.key, ())
        identity = None
        if bound and node_input.messages:
            identities = bound[0].stores.identities
            identity = self.log_errors(lambda: identities.resolve_anonymous(current_runtime(), ensure_config()))
        runner = bound[0].stores.runner if bound else StoreRunner()
        return NodeRun(self, node_input, identity, bound, runner)

    @contextmanager
    def store_scope(self) -> Generator[None]:
        """Make the node's stores available to the nodes inside it."""
        token = _ENCLOSING.set((*((self.stores,) if self.stores else ()), *_ENCLOSING.get()))
        try:
            yield
        finally:
            _ENCLOSING.reset(token)

    def log_errors(self, call: Callable[[], T]) -> T | None:
        """Return the result of *call*; log an error and return None if it fails."""
        try:
            return call()
        except Exception:  # a state may hold anything; the node must run all the same
            logger.exception("the node %s runs without its memories", self.node)
            return None


@dataclass(frozen=True)
class NodeRun:
    """One run of a node: it prepares the calls that *runner* runs, and reads their outcomes."""

    memory: NodeMemory
    input: NodeInput
    identity: Identity | None
    """None if memory is off, the input has no messages, or the identity of the run is invalid."""
    bound: Sequence[BoundStore]
    runner: StoreRunner

    def retrieval_calls(self) -> list[StoreCall]:
        """Return the calls to run before the node."""
        identity, question, stage = self.identity, self.input.question, self.memory.stage
        if not (identity and identity.inject and question):
            return []
        text = mask(text_of(question.content)).strip()
        query = SearchQuery(text, self.input.messages, identity.scope, identity.thread_id, stage)
        readable = (bound for bound in self.bound if bound.attachment.is_read_at(stage))
        return [
            StoreCall(each.attachment.name, "retrieve", self.memory, partial(each.retrieve, query)) for each in readable
        ]

    def build_input(self, results: Sequence[StoreCall]) -> Any:  # noqa: ANN401 - of the state's own type
        """Return the state for the node: a copy with a block of what was found, or the state itself."""
        _report(results)
        found = {each.memory: each.found for each in results}
        changed = self.memory.log_errors(lambda: self.input.with_context(render_context(found)))
        return self.input.state if changed is None else changed

    def update_calls(self, result: object) -> list[StoreCall]:
        """Return the calls to run after the node, which returned *result*."""
        exchange = self.memory.log_errors(lambda: self._make_interaction(result)) if self.identity else None
        if exchange is None:
            return []
        writable = [(each.attachment.name, each.stores) for each in self.bound if each.attachment.write]
        return [
            StoreCall(name, "update", self.memory, partial(stores.update, name, exchange)) for name, stores in writable
        ]

    def clean_output(self, result: Any, results: Sequence[StoreCall]) -> Any:  # noqa: ANN401 - of the result's own type
        """Return *result* without the block, which must not enter the graph's state."""
        _report(results)
        cleaned = self.memory.log_errors(lambda: without_context(result, self.memory.key))
        return result if cleaned is None else cleaned

    def _make_interaction(self, result: object) -> Interaction | None:
        known, question, identity = self.input.messages, self.input.question, self.identity
        new = new_messages(result, self.memory.key, known)
        answer = find_answer(new)
        if not (answer and question and identity):
            return None
        return Interaction(
            take_snapshot(None if is_tool_output(question) else content_without_relayed(question)),
            take_snapshot(answer),
            self.memory.node,
            (*known, *new),
            identity.scope,
            identity.thread_id,
        )


def _report(results: Sequence[StoreCall]) -> None:
    """Write each of *results* to the log and, inside a graph, to the stream."""
    writer = current_runtime().stream_writer if results else None
    for result in results:
        result.log()
        if writer:
            writer(result.event)


# -- calls ------------------------------------------------------------------------------------------


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
    at: NodeMemory
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
            "node": self.at.node,
            "stage": self.at.stage,
            "hits": len(self.found),
            "ms": round(self.seconds * 1000, 3),
        }
        return {**event, "error": type(self.error).__name__} if self.error else event

    def log(self) -> None:
        """Write one line to the log, with the error if the call failed."""
        what, ms = f"{self.memory} at {self.at.node} ({self.at.stage}): {self.action}", self.seconds * 1000
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


# -- wrappers ----------------------------------------------------------------------------------------


def wrap(memory: NodeMemory, node: Any) -> Any:  # noqa: ANN401 - a Runnable, or a callable of any kind
    """Wrap a node so that it reads and writes the memories."""
    wrapper = _wrap_runnable if isinstance(node, Runnable) else _wrap_function
    return wrapper(memory, cast("Any", node))


def _wrap_function(memory: NodeMemory, node: Any) -> Callable[..., Any]:  # noqa: ANN401 - a function or another callable
    """Wrap a function. functools.wraps keeps its signature, from which LangGraph derives what to inject."""
    is_plain = inspect.isroutine(node) or isinstance(node, functools.partial)
    function: Callable[..., Any] = cast("Any", node if is_plain else node.__call__)
    wrapped = _wrap_async(memory, function) if inspect.iscoroutinefunction(function) else _wrap_sync(memory, function)
    wrapped.__name__ = memory.node
    return wrapped


def _wrap_runnable(memory: NodeMemory, node: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Wrap a Runnable. Both functions refer to it directly, since LangGraph finds a subgraph by their closures."""

    def invoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return _wrap_sync(memory, node.invoke)(state, config)

    async def ainvoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return await _wrap_async(memory, node.ainvoke)(state, config)

    return RunnableLambda(invoke, ainvoke, name=memory.node)


def _wrap_sync(memory: NodeMemory, node: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(node)
    def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        run = memory.start_run(state)
        node_input = run.build_input(run.runner.run(run.retrieval_calls()))
        with memory.store_scope():
            result = node(node_input, *args, **kwargs)
        return run.clean_output(result, run.runner.run(run.update_calls(result)))

    return call


def _wrap_async(memory: NodeMemory, node: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(node)
    async def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        run = memory.start_run(state)
        node_input = run.build_input(await run.runner.arun(run.retrieval_calls()))
        with memory.store_scope():
            result = await node(node_input, *args, **kwargs)
        return run.clean_output(result, await run.runner.arun(run.update_calls(result)))

    return call
