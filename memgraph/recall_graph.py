"""Recall as a graph. Only this file defines the order of the nodes.

recall_load -> recall_rank -> recall_fit -> recall_render
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.graph import START, StateGraph

from memgraph.config import load_settings, make_context
from memgraph.context import Context, ContextResolver, SubmittedContext
from memgraph.langgraph_adapter import MemoryGraph
from memgraph.nodes.errors import ErrorHandlers
from memgraph.nodes.recall import RecallNodes
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.state import Conversation, RecallStages, RecallState, TextRendered

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from memgraph.storage import MemoryStorage

NAME = "memory_recall"


class RecallGraph(MemoryGraph[RecallState, Context, Conversation, Any]):
    """The compiled recall graph."""


def build_recall_graph(
    *,
    storage: str | MemoryStorage | None = None,
    pipeline: RecallPipeline | None = None,
    defaults: Context | None = None,
    output: Literal["result", "stages"] = "result",
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecallGraph:
    """Compile recall: what a prompt should contain about a user, step by step.

    ```python
    from langchain_core.messages import HumanMessage

    from memgraph import Context, build_recall_graph

    graph = build_recall_graph(storage="sqlite:memory.db")
    question = {"messages": [HumanMessage("Where do I live?")]}
    print(graph.invoke(question, context=Context(user_id="ada"))["recalled"].tokens)
    ```

    Args:
        storage: Storage, or its URL such as `sqlite:FILE`; default: that of *defaults*.
        pipeline: Token budget, weights and ranker, such as `make_recall_pipeline(settings)`; default:
            `RecallPipeline()`. Its time zone is that of runs whose context names none.
        defaults: Values for every field that the context of a run leaves out, such as `make_context(settings)`.
            None takes the storage of memgraph.yaml and the environment. *storage* replaces the field of this name.
        output: What the graph returns: `result` is `recalled` alone, which touches no other key of a parent graph;
            `stages` is every stage, for LangGraph Server and Studio.
        checkpointer: Stores every stage.

    Returns:
        A graph from `{"messages": [...]}` to `recalled`: the text, its length in tokens, and the selected facts
        and episodes with their scores. Each run names its user by `context=Context(user_id=...)`.

    Raises:
        ConfigError: If the storage is not a valid value.
        IdentityError: From a run without a user, or with an id that is not allowed.
        StorageError: From a run whose memory cannot be read. Inside another graph the error is logged, and
            nothing is recalled.
    """
    if defaults is None:
        storage = make_context(load_settings(), storage=storage).storage
    nodes = RecallNodes(pipeline or RecallPipeline())
    own = Context(timezone=nodes.pipeline.timezone).merge(defaults or Context())
    resolver = ContextResolver(own.merge(Context(storage=storage)))
    graph: StateGraph[RecallState, Context, Conversation, Any] = StateGraph(
        RecallState,
        context_schema=SubmittedContext,
        input_schema=Conversation,
        output_schema=RecallStages if output == "stages" else TextRendered,
    )

    handlers = ErrorHandlers(resolver)
    graph.set_node_defaults(error_handler=handlers.recall_nothing)  # pyright: ignore[reportArgumentType] - NodeError is injected
    graph.add_node("recall_load", resolver.bind(nodes.load))
    graph.add_node("recall_rank", resolver.bind(nodes.rank))
    graph.add_node("recall_fit", resolver.bind(nodes.fit))
    graph.add_node("recall_render", resolver.bind(nodes.render))

    graph.add_edge(START, "recall_load")
    graph.add_edge("recall_load", "recall_rank")
    graph.add_edge("recall_rank", "recall_fit")
    graph.add_edge("recall_fit", "recall_render")
    return RecallGraph.from_compiled(graph.compile(name=NAME, checkpointer=checkpointer))
