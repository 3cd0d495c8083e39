"""Nodes with memories: one run of a node, from the retrievals before it to the updates after it."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config

from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.agents.identity import Identity
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
from memgraph.attachments.runner import Action, StoreCall, StoreRunner
from memgraph.attachments.store import Interaction, MemoryAttachment, SearchQuery, SearchResult, Stage
from memgraph.errors import ConfigError
from memgraph.langgraph_adapter import current_runtime
from memgraph.text.message import text_of
from memgraph.text.secrets import mask

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager

T = TypeVar("T")

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
        return [self._call("retrieve", bound, partial(bound.retrieve, query)) for bound in readable]

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
        writable = (bound for bound in self.bound if bound.attachment.write)
        return [
            self._call("update", bound, partial(bound.stores.update, bound.attachment.name, exchange))
            for bound in writable
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

    def _call(self, action: Action, bound: BoundStore, function: Callable[[], object]) -> StoreCall:
        return StoreCall(bound.attachment.name, action, self.memory.node, self.memory.stage, function)


def _report(results: Sequence[StoreCall]) -> None:
    """Write each of *results* to the log and, inside a graph, to the stream."""
    writer = current_runtime().stream_writer if results else None
    for result in results:
        result.log()
        if writer:
            writer(result.event)


def wrap_function(memory: NodeMemory, node: Any) -> Callable[..., Any]:  # noqa: ANN401 - a function or another callable
    """Wrap a function. functools.wraps keeps its signature, from which LangGraph derives what to inject."""
    is_plain = inspect.isroutine(node) or isinstance(node, functools.partial)
    function: Callable[..., Any] = cast("Any", node if is_plain else node.__call__)
    wrapped = _wrap_async(memory, function) if inspect.iscoroutinefunction(function) else _wrap_sync(memory, function)
    wrapped.__name__ = memory.node
    return wrapped


def wrap_runnable(memory: NodeMemory, node: Runnable[Any, Any]) -> Runnable[Any, Any]:
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
