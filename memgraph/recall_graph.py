"""Recall as a graph. This is the only file that knows the order.

recall_load -> recall_rank -> recall_fit -> recall_render
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memgraph.context import Context, ContextResolver
from memgraph.langgraph_adapter import MemoryGraph
from memgraph.nodes.errors import recall_error_handler
from memgraph.nodes.recall import (
    Recalling,
    RecallStages,
    RecallState,
    TextRendered,
    recall_fit,
    recall_load,
    recall_rank,
    recall_render,
)
from memgraph.retrieval.recall import RecallPipeline
from memgraph.state import Conversation

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from memgraph.storage import MemoryStorage

NAME = "memory_recall"


class RecallGraph(MemoryGraph[RecallState]):
    """Recall, compiled."""


def build_recall_graph(
    *,
    storage: str | MemoryStorage | None = None,
    pipeline: RecallPipeline | None = None,
    defaults: Context | None = None,
    output: Literal["result", "stages"] = "result",
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecallGraph:
    """Compile recall: what a prompt should contain about a user, step by step.

        graph = build_recall_graph(storage="sqlite:memory.db")
        graph.invoke({"messages": messages}, context=Context(user_id="ada"))["recalled"].text

    Args:
        storage: Storage, or its URL such as `sqlite:FILE`; default: files in the user's data folder.
        pipeline: Token budget, weights and ranker, such as `make_recall_pipeline(settings)`; default:
            `RecallPipeline()`.
        defaults: Values for every field that the context of a run leaves out, such as `make_context(settings)`.
            *storage* replaces the field of this name.
        output: What the graph returns: `result` is `recalled` alone, which touches no other key of a parent graph;
            `stages` is every stage, for LangGraph Server and Studio.
        checkpointer: Stores every stage.

    Returns:
        A graph from `{"messages": [...]}` to `recalled`: the text, its length in tokens, and the selected facts
        with their scores. Each run names its user by `context=Context(user_id=...)`.

    Raises:
        ConfigError: If the storage is not a valid value.
        IdentityError: From a run without a user, or with an id that is not allowed.
        StorageError: From a run whose memory cannot be read. Inside another graph the error is logged, and
            nothing is recalled.
    """
    resolver = ContextResolver((defaults or Context()).merge(Context(storage=storage)))
    bound = functools.partial(_bound, resolver, pipeline or RecallPipeline())
    graph = StateGraph(
        RecallState,
        context_schema=Context,
        input_schema=Conversation,
        output_schema=RecallStages if output == "stages" else TextRendered,
    )

    graph.set_node_defaults(error_handler=recall_error_handler)  # pyright: ignore[reportArgumentType] - NodeError is injected
    graph.add_node("recall_load", bound(recall_load))
    graph.add_node("recall_rank", bound(recall_rank))
    graph.add_node("recall_fit", bound(recall_fit))
    graph.add_node("recall_render", recall_render)

    graph.add_edge(START, "recall_load")
    graph.add_edge("recall_load", "recall_rank")
    graph.add_edge("recall_rank", "recall_fit")
    graph.add_edge("recall_fit", "recall_render")
    return RecallGraph.from_compiled(graph.compile(name=NAME, checkpointer=checkpointer))


def _bound(resolver: ContextResolver, recaller: RecallPipeline, node: Callable[..., Any]) -> Callable[..., Any]:
    """Give *node* a runtime that knows whose memory it is, and how to recall.

    functools.wraps keeps its annotations, by which LangGraph knows what the node may see.
    """

    @functools.wraps(node)
    def call(state: Any, runtime: Runtime[Any]) -> Any:  # noqa: ANN401
        recalling = Recalling(resolver(runtime, get_config()), recaller)
        return node(state, runtime.override(context=recalling))

    return call
