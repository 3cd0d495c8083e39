"""Recall as a graph. Only this file defines the order of the nodes.

recall_load -> recall_rank -> recall_fit -> recall_render
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memgraph._validation import check_arguments
from memgraph.analysis.tokens import count_tokens
from memgraph.config import load_settings, make_context
from memgraph.context import Context, ContextResolver, RunContext, SubmittedContext
from memgraph.context.runtime import resolve_scope
from memgraph.langgraph_adapter import MemoryGraph
from memgraph.models import Episode, MemoryDocument
from memgraph.retrieval.memory_index import Ranking
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.render import MIN_LINE_TOKENS, episode_line, fact_line, past_line, render
from memgraph.retrieval.results import Ranked, RankedItem, RecallResult
from memgraph.retrieval.slot_values import earlier_values
from memgraph.retrieval.vector_store import VectorStore
from memgraph.state import (
    Conversation,
    FitInput,
    MemoryChosen,
    MemoryLoaded,
    MemoryRanked,
    RankInput,
    RecallStages,
    RecallState,
    TextRendered,
)
from memgraph.update.errors import ErrorHandlers

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from memgraph.storage import MemoryStorage


NAME = "memory_recall"


class RecallGraph(MemoryGraph[RecallState, Context, Conversation, Any]):
    """The compiled recall graph."""


@check_arguments
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


@dataclass(frozen=True)
class RecallNodes:
    """The nodes of a recall graph, which share the pipeline and its caches."""

    pipeline: RecallPipeline

    def load(self, _: Conversation, runtime: Runtime[RunContext]) -> MemoryLoaded:
        """Load the memory; an empty one if memory is disabled."""
        run = runtime.context
        return {"memory": run.open_storage().load(resolve_scope(run)) if run.enabled else MemoryDocument()}

    def rank(self, state: RankInput, runtime: Runtime[RunContext]) -> MemoryRanked:
        """Rank the facts and the episodes, the best first."""
        episodes, vectors = self._episodes_and_vectors(runtime.context)
        pipeline = replace(self.pipeline, timezone=runtime.context.timezone)
        query = pipeline.query(state["messages"])
        ranked = pipeline.rank(state["memory"], episodes, query, vectors=vectors).without_messages(state["messages"])
        fact_ids = [fact.id for fact in ranked.facts.facts]
        episode_ids = [episode.id for episode in ranked.episodes.episodes]
        most = pipeline.max_tokens // MIN_LINE_TOKENS
        return {
            "query": query,
            "ranked": Ranked(
                facts=_items(ranked.fact_ranking, fact_ids),
                episodes=_items(ranked.episode_ranking, episode_ids, most),
                past=_items(ranked.past_ranking, [fact.id for fact in ranked.past.facts]),
                unlearned=tuple(episode_ids[position] for position in ranked.unlearned[:most]),
                answered=ranked.answered,
            ),
        }

    def fit(self, state: FitInput, runtime: Runtime[RunContext]) -> MemoryChosen:
        """Select what fits the budget, in the order of the stage, which a client may have edited."""
        memory, stage = state["memory"], state["ranked"]
        said, vectors = self._episodes_and_vectors(runtime.context)
        pipeline = replace(self.pipeline, timezone=runtime.context.timezone)
        ranked = pipeline.rank(memory, said, state["query"], vectors=vectors)
        positions = ranked.episodes.positions
        ranked = ranked._replace(
            fact_ranking=_to_ranking(stage.facts, [fact.id for fact in ranked.facts.facts]),
            episode_ranking=_to_ranking(stage.episodes, positions),
            past_ranking=_to_ranking(stage.past, [fact.id for fact in ranked.past.facts]),
            unlearned=[positions[name] for name in stage.unlearned if name in positions],
            answered=stage.answered,
        )
        return {"chosen": pipeline.fit(memory, ranked).explained(ranked)}

    def render(self, state: MemoryChosen, runtime: Runtime[RunContext]) -> TextRendered:
        """Render the block that goes into a prompt."""
        chosen, timezone = state["chosen"], runtime.context.timezone
        in_order = partial(sorted, key=attrgetter("position"))
        earlier = earlier_values(entry.fact for entry in chosen.facts)
        lines = (
            *(fact_line(entry.fact, timezone, is_earlier=entry.fact.id in earlier) for entry in in_order(chosen.facts)),
            *(past_line(entry.fact, timezone) for entry in in_order(chosen.past)),
            *(episode_line(entry.episode, timezone, entry.ended) for entry in in_order(chosen.episodes)),
        )
        text = render(chosen.summaries, filter(None, lines), today=chosen.today, profile=chosen.profile)
        return {"recalled": RecallResult.of(chosen, text, count_tokens(text))}

    def _episodes_and_vectors(self, run: RunContext) -> tuple[Sequence[Episode], VectorStore | None]:
        """Return the user's episodes, and what keeps the vectors of the memory if there is an embedding model.

        They are not a stage: there may be thousands, of which few are chosen.
        """
        if not run.enabled:
            return (), None
        storage, scope = run.open_storage(), resolve_scope(run)
        return storage.episodes(scope), storage.vectors(scope) if self.pipeline.embeddings is not None else None


def _items(ranking: Ranking, ids: Sequence[str], most: int | None = None) -> tuple[RankedItem, ...]:
    return tuple(
        RankedItem(id=ids[index], score=float(ranking.scores[index]), similarity=float(ranking.similarity[index]))
        for index in ranking.order[:most]
    )


def _to_ranking(items: Sequence[RankedItem], ids: Iterable[str]) -> Ranking:
    """Return the ranking of *items*, without those that are not among the *ids* of the memory any more."""
    positions = {name: position for position, name in enumerate(ids)}
    scores, similarity = np.zeros(len(positions)), np.zeros(len(positions))
    known = {positions[item.id]: item for item in items if item.id in positions}
    best = np.inf
    for position, item in known.items():
        best = min(best, item.score)  # a client may have edited the order: none counts more than the one before
        scores[position], similarity[position] = best, item.similarity
    return Ranking(list(known), scores, similarity)
