"""How nodes are wired to LangGraph: a twin for the event loop, a clean drawing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args, get_type_hints

from langchain_core.runnables import RunnableLambda
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.typing import StateT
from pydantic import BaseModel

from memgraph.context import Context
from memgraph.state import Conversation, State

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph
    from langgraph.checkpoint.memory import InMemorySaver

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])
Node = Callable[[Any, Runtime[Any]], Any]


def sync_async_node(node: Node, twin: Callable[[Any, Runtime[Any]], Awaitable[Any]]) -> RunnableLambda[Any, Any]:
    """One node of a function and its async twin.

    A RunnableLambda is given no runtime, so it is looked up; and LangGraph cannot read its annotations, so
    `add_node` must be told its input_schema.
    """

    def call(state: Any) -> Any:  # noqa: ANN401
        return node(state, get_runtime(Context))

    async def call_async(state: Any) -> Any:  # noqa: ANN401
        return await twin(state, get_runtime(Context))

    return RunnableLambda(call, call_async, name=getattr(node, "__name__", None))


class MemoryGraph(CompiledStateGraph[StateT, Context, Conversation, Any]):
    """A graph of ours, compiled. It is drawn as it reads: without the handler that LangGraph adds for errors."""

    @classmethod
    def from_compiled(cls, compiled: CompiledStateGraph[StateT, Context, Conversation, Any]) -> Self:
        """The same graph, drawn so; made as `CompiledStateGraph.copy` makes its copies."""
        return _copy_serde_allowlist(cls(**vars(compiled)), compiled)

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """As LangGraph copies it; LangGraph Server does so for every run, to put its checkpointer in."""
        return _copy_serde_allowlist(super().copy(update), self)

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The form of the context, which refuses no key: see `_Fields`."""
        schema = super().get_context_jsonschema()
        return {**schema, "properties": _PermissiveProperties(schema["properties"])} if schema else None

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_handler(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_handler(await super().aget_graph(config, xray=xray))


class _PermissiveProperties(dict[str, Any]):
    """The fields of a form, which lets every key through.

    LangGraph Server asks it which keys of a context a run may see, and drops the others without a word. A misspelt
    one is to be refused instead, as in Python; clients' own keys, such as `__request`, are dropped.
    """

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or not str(key).startswith("_")


class UpdateGraph(MemoryGraph[State]):
    """The memory update, compiled."""


def _copy_serde_allowlist(graph: G, original: CompiledStateGraph[Any, Any, Any, Any]) -> G:
    """*graph*, knowing the types of *original* that a strict checkpointer may read: copies come without."""
    graph._serde_allowlist = original._serde_allowlist  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return graph


def _without_handler(drawn: Graph) -> Graph:
    for node in [node for name, node in drawn.nodes.items() if "error_handler" in name]:
        drawn.remove_node(node)
    return drawn


def in_memory_saver() -> InMemorySaver:
    """A checkpointer in this process, which knows the types of the state: LangGraph's default one warns of each."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    types = sorted({(kind.__module__, kind.__name__) for kind in _kept_types()})
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=types))


def _kept_types() -> Iterator[type[BaseModel]]:
    for hint in get_type_hints(State).values():
        for kind in (hint, *get_args(hint)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield kind
