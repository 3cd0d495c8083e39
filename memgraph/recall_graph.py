"""Recall as a graph. This is the only file that knows the order.

recall_load -> recall_rank -> recall_fit -> recall_render
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memgraph.context import Context, ContextResolver
from memgraph.langgraph_adapter import MemoryGraph
from memgraph.nodes.errors import recall_error_handler
from memgraph.nodes.recall import (
    Recalling,
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
    recaller: RecallPipeline | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecallGraph:
    """Compile recall.

    Args:
        storage: Where memories are kept, or its URL; default: files in the user's data folder.
        recaller: Budget, weights and ranker; default: `Recaller()`.
        checkpointer: Keeps every stage.

    Returns:
        A graph from `{"messages": [...]}` to `recalled`: the text, its tokens, and which facts got in with
        their scores. Say whose memory it is by `context=Context(user_id=...)`.

    Raises:
        IdentityError: From a run without a user, or with an id that may not be used.
        StorageError: From a run whose memory cannot be read. Inside another graph an error is logged, and
            nothing is recalled.
    """
    return assemble_recall(
        Context(storage=storage), recaller or RecallPipeline(), TextRendered, checkpointer=checkpointer
    )


def assemble_recall(
    defaults: Context,
    recaller: RecallPipeline,
    output: type[Any],
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecallGraph:
    """Put the nodes together; *output* names the keys that come out, by default one, so that a parent's stay."""
    bound = functools.partial(_bound, ContextResolver(defaults), recaller)
    graph = StateGraph(RecallState, context_schema=Context, input_schema=Conversation, output_schema=output)

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
