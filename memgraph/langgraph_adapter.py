"""Everything that depends on LangGraph's internals, so that a new version of LangGraph is checked in one place.

Each part has a contract test in tests/test_langgraph_adapter.py.
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

from langchain_core.runnables import RunnableLambda
from langgraph.channels import LastValue
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.typing import ContextT, InputT, OutputT, StateT
from pydantic import TypeAdapter

from memgraph.errors import EditError
from memgraph.telemetry import trace_run

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph

logger = logging.getLogger("memgraph.update.graph")

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])
Node = Callable[[Any, Runtime[Any]], Any]

_CHECKPOINTER = "__pregel_checkpointer"  # LangGraph exports no name for this key
_TASK_ID = "__pregel_task_id"  # nor for this one
_END = object()
_RECURSION_LIMIT = 10_000
"""Steps of a run. The routes bound their loops, so the smaller limit of a parent graph would only break a run off."""
MAX_DEPTH = 100
"""Levels of nested lists and objects in an edited stage."""
MAX_NUMBER = 2**63 - 1
_HANDLER_SEPARATORS = 1  # in the namespace of an error handler of a root graph: "node|handler"


# -- state ----------------------------------------------------------------------------------------


class ValidatedValue(LastValue[Any]):
    """A state key whose value always has the declared type.

    Edits over HTTP or in Studio arrive as plain JSON, and checkpoints turn a tuple into a list and,
    if they are strict, a model into a dict.
    """

    def __init__(self, typ: Any, key: str = "") -> None:  # noqa: ANN401 - LangGraph passes a type form
        super().__init__(typ, key)
        self._adapter = _type_adapter(typ)

    def from_checkpoint(self, checkpoint: Any) -> Self:  # noqa: ANN401
        restored = super().from_checkpoint(checkpoint)
        if restored.is_available():
            restored.value = self._adapter.validate_python(restored.value, extra="ignore")
        return restored

    def update(self, values: Sequence[Any]) -> bool:
        # LangGraph calls this for every key after every step, and for every route
        for value in values:
            check_storable(value)
        return bool(values) and super().update([self._adapter.validate_python(value) for value in values])


class NodeValue(ValidatedValue):
    """A state key that only nodes write: another object that arrives as plain JSON is an edit, and refused."""

    def update(self, values: Sequence[Any]) -> bool:
        unchanged = self.get() if self.is_available() else None
        for value in values:
            if isinstance(value, Mapping) and self._adapter.validate_python(value) != unchanged:
                raise EditError(f"the stage {self.key} cannot be edited: it names whose memory it is")
        return super().update(values)


def check_storable(value: object) -> None:
    """Check plain JSON that becomes state: a thread whose state cannot be serialized cannot be read any more.

    Raises:
        ValueError: If a number exceeds 64 bits, or the value is nested too deeply.
    """
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        below = list[object]()
        for item in level:
            if isinstance(item, dict):
                below += cast("dict[str, object]", item).values()
            elif isinstance(item, list | tuple):
                below += cast("Sequence[object]", item)
            elif isinstance(item, int | float) and abs(item) > MAX_NUMBER:  # a long integer may be read as a float
                raise ValueError("a number exceeds 64 bits")
        level, depth = below, depth + 1


@functools.cache
def _type_adapter(typ: Any) -> TypeAdapter[Any]:  # noqa: ANN401
    """Cached, since LangGraph creates new channels for every run."""
    return TypeAdapter(typ)


# -- nodes ----------------------------------------------------------------------------------------


def sync_async_node(node: Node, async_node: Callable[[Any, Runtime[Any]], Awaitable[Any]]) -> RunnableLambda[Any, Any]:
    """Combine a function and its async variant into one node.

    A RunnableLambda gets no runtime, so it is looked up; and LangGraph cannot read its annotations, so
    `add_node` needs its input_schema.
    """

    def call(state: Any) -> Any:  # noqa: ANN401
        return node(state, get_runtime())

    async def call_async(state: Any) -> Any:  # noqa: ANN401
        return await async_node(state, get_runtime())

    return RunnableLambda(call, call_async, name=getattr(node, "__name__", None))


def emit_progress(
    runtime: Runtime[Any], node: str, graph: Literal["memory_update", "memory_upkeep"] = "memory_update", **counts: int
) -> None:
    """Emit progress counts, never user text; a no-op without a consumer of the stream mode `custom`.

    The graph is named, since clients of a lead agent receive these events among the agent's own.
    """
    runtime.stream_writer({"graph": graph, "node": node, **counts})


def is_subgraph() -> bool:
    """Return whether the graph of the running error handler runs inside another graph."""
    namespace = str(get_config().get("metadata", {}).get("langgraph_checkpoint_ns", ""))
    return namespace.count("|") > _HANDLER_SEPARATORS


def has_checkpointer(config: RunnableConfig) -> bool:
    """Return whether an interrupted run can be resumed: without a checkpointer it ends without an answer."""
    return config.get("configurable", {}).get(_CHECKPOINTER, ...) is not None


def current_runtime() -> Runtime[Any]:
    """Return the runtime of the running node, or an empty one outside a graph."""
    try:
        return get_runtime() or Runtime()
    except (RuntimeError, KeyError):  # outside a run, or in a run of a LangChain runnable without a graph
        return Runtime()


# -- LangGraph Server ---------------------------------------------------------------------------------


def authenticated_request_user() -> str | None:
    """Return the user whom the server has authenticated for the request that it answers now; None elsewhere."""
    server = sys.modules.get("langgraph_api.utils")
    user: Any = getattr(server.get_auth_ctx() if server else None, "user", None)
    return user.identity if user is not None and user.is_authenticated else None


# -- compiled graphs ------------------------------------------------------------------------------


class MemoryGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph of memgraph. Its drawing omits the error handler that LangGraph adds as a node."""

    writes_to_parent: ClassVar[bool] = True
    """Whether it returns its output if it is a node of another graph. If not, it changes no key of that graph."""

    _warned = False
    """Whether a parent graph without its input was reported."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002, ANN401 # pyright: ignore[reportIncompatibleMethodOverride]
        output: Any = super().invoke(input, config, **options)
        return {} if self._is_silent(config) else output

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002, ANN401 # pyright: ignore[reportIncompatibleMethodOverride]
        output = cast("Any", await super().ainvoke(input, config, **options))
        return {} if self._is_silent(config) else output

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002, ANN401 # pyright: ignore[reportIncompatibleMethodOverride]
        steps = cast("Generator[Any]", super().stream(input, self._own_config(input, config), **options))
        with trace_run(self.name) as current_span, closing(steps):
            while True:
                with current_span():
                    chunk = next(steps, _END)
                if chunk is _END:
                    return
                yield chunk

    async def astream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input: Any,  # noqa: A002, ANN401
        config: RunnableConfig | None = None,
        **options: Any,  # noqa: ANN401
    ) -> AsyncIterator[Any]:
        # LangGraph runs nodes by astream, without options, if a client reads the events of the run
        is_silent = not options and self._is_silent(config)
        steps = cast("AsyncGenerator[Any]", super().astream(input, self._own_config(input, config), **options))
        with trace_run(self.name) as current_span:
            async with aclosing(steps):
                while True:
                    with current_span():
                        chunk = await anext(steps, _END)
                    if chunk is _END:
                        break
                    if not is_silent:
                        yield chunk
        if is_silent:
            yield {}

    def _own_config(self, given: object, config: RunnableConfig | None) -> RunnableConfig:
        """Return *config* without the recursion limit of a parent graph, whose state should have the keys of the input.

        If they are missing, the run goes on and has nothing to do, which is logged once.
        """
        if not _is_of_task(config):
            # without a limit of its own, a call in a node gets that of the graph of the node
            return {"recursion_limit": _RECURSION_LIMIT, **(config or {})}
        keys: frozenset[str] = getattr(self.builder.input_schema, "__required_keys__", frozenset())
        if isinstance(given, Mapping) and not keys <= given.keys() and not self._warned:
            self._warned = True
            logger.warning(
                "%s does nothing: the state of its parent graph has no %s; add it, or call it in your own node",
                self.name,
                " and ".join(sorted(keys - given.keys())),
            )
        return {**(config or {}), "recursion_limit": _RECURSION_LIMIT}

    def _is_silent(self, config: RunnableConfig | None) -> bool:
        """Return whether *config* is that of a task, so that the output would be written to the state of a parent.

        A function that calls the graph gets the output: it passes no config, or it asks for the output when it builds
        the graph.
        """
        return not self.writes_to_parent and _is_of_task(config)

    @classmethod
    def from_compiled(cls, compiled: CompiledStateGraph[StateT, ContextT, InputT, OutputT]) -> Self:
        """Return *compiled* as a graph of this class, built as `CompiledStateGraph.copy` builds copies."""
        return _copy_serde_allowlist(cls(**vars(compiled)), compiled)

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Copy the graph; LangGraph Server does so for every run, to set its checkpointer."""
        return _copy_serde_allowlist(super().copy(update), self)

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """Return the schema of the context, which accepts every key: see `_PermissiveProperties`."""
        schema = super().get_context_jsonschema()
        return {**schema, "properties": _PermissiveProperties(schema["properties"])} if schema else None

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_error_handler(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_error_handler(await super().aget_graph(config, xray=xray))


def _is_of_task(config: RunnableConfig | None) -> bool:
    """Return whether *config* is that of a node of another graph."""
    return _TASK_ID in (config or {}).get("configurable", {})


class _PermissiveProperties(dict[str, Any]):
    """The fields of a schema, which claims to contain every key.

    LangGraph Server silently drops context keys that are not in the schema. A misspelt key must be an error
    instead, as in Python; only clients' own keys, such as `__request`, are dropped.
    """

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or not str(key).startswith("_")


def _copy_serde_allowlist(graph: G, original: CompiledStateGraph[Any, Any, Any, Any]) -> G:
    """Give *graph* the types that a strict checkpointer may load for *original*; LangGraph's copies lack them."""
    graph._serde_allowlist = original._serde_allowlist  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return graph


def _without_error_handler(drawing: Graph) -> Graph:
    for node in [node for name, node in drawing.nodes.items() if "error_handler" in name]:
        drawing.remove_node(node)
    return drawing
