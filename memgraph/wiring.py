"""How nodes are wired to LangGraph: a complete context, a twin for the event loop, a clean drawing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableLambda
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime

from memgraph.context import Context, Resolver
from memgraph.state import Conversation, State

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph

Node = Callable[[Any, Runtime[Any]], Any]


def bound_to(resolver: Resolver, node: Callable[..., Any]) -> Callable[..., Any]:
    """Give *node* a runtime whose context is complete, and of our own type.

    functools.wraps keeps its annotations, by which LangGraph knows what the node may see.
    """
    if inspect.iscoroutinefunction(node):

        @functools.wraps(node)
        async def call_async(state: Any, runtime: Runtime[Any]) -> Any:  # noqa: ANN401
            return await node(state, runtime.override(context=resolver(runtime, get_config())))

        return call_async

    @functools.wraps(node)
    def call(state: Any, runtime: Runtime[Any]) -> Any:  # noqa: ANN401
        return node(state, runtime.override(context=resolver(runtime, get_config())))

    return call


def both_ways(node: Node, twin: Callable[[Any, Runtime[Any]], Awaitable[Any]]) -> RunnableLambda[Any, Any]:
    """One node of a function and its async twin.

    A RunnableLambda is given no runtime, so it is looked up; and LangGraph cannot read its annotations, so
    `add_node` must be told its input_schema.
    """

    def call(state: Any) -> Any:  # noqa: ANN401
        return node(state, get_runtime(Context))

    async def call_async(state: Any) -> Any:  # noqa: ANN401
        return await twin(state, get_runtime(Context))

    return RunnableLambda(call, call_async, name=getattr(node, "__name__", None))


class UpdateGraph(CompiledStateGraph[State, Context, Conversation, Any]):
    """The compiled graph. It is drawn as it reads: without the handler that LangGraph adds for errors."""

    @classmethod
    def of(cls, compiled: CompiledStateGraph[State, Context, Conversation, Any]) -> UpdateGraph:
        """The same graph, drawn so; made as `CompiledStateGraph.copy` makes its copies."""
        return cls(**vars(compiled))

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_handler(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        return _without_handler(await super().aget_graph(config, xray=xray))


def _without_handler(drawn: Graph) -> Graph:
    for node in [node for name, node in drawn.nodes.items() if "error_handler" in name]:
        drawn.remove_node(node)
    return drawn
