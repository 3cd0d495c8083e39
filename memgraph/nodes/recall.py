"""The four nodes of the recall graph: load, rank, fit, render."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.models import Memory
from memgraph.retrieval.recall import RecallPipeline
from memgraph.retrieval.render import fact_lines, render
from memgraph.retrieval.results import RankedFact, RecallResult, ScoredFact, Selection
from memgraph.state import Conversation, FactsChosen, FactsRanked, FitInput, MemoryLoaded, RankInput, TextRendered
from memgraph.text.tokens import count_tokens


@dataclass(frozen=True)
class RecallContext:
    """The `runtime.context` of a recall node."""

    run: RunContext
    pipeline: RecallPipeline


def recall_load(_: Conversation, runtime: Runtime[RecallContext]) -> MemoryLoaded:
    """Load the memory; an empty one if memory is disabled."""
    run = runtime.context.run
    return {"memory": run.storage.load(resolve_origin(run).scope) if run.enabled else Memory()}


def recall_rank(state: RankInput, runtime: Runtime[RecallContext]) -> FactsRanked:
    """Rank the facts, the best first."""
    pipeline = runtime.context.pipeline
    indexed, ranking = pipeline.rank(state["memory"].facts, pipeline.query(state["messages"]))
    return {
        "ranked": [
            RankedFact(
                id=indexed.facts[index].id,
                score=float(ranking.scores[index]),
                similarity=float(ranking.similarity[index]),
            )
            for index in ranking.order
        ]
    }


def recall_fit(state: FitInput, runtime: Runtime[RecallContext]) -> FactsChosen:
    """Select the summaries and facts that fit the budget, in the order of the stage, which a client may have edited."""
    pipeline, memory = runtime.context.pipeline, state["memory"]
    index_by_id = {fact.id: index for index, fact in enumerate(memory.facts)}
    ranked = {index_by_id[entry.id]: entry for entry in state["ranked"] if entry.id in index_by_id}
    fitted = pipeline.fit(memory, pipeline.lexical_index(memory.facts), list(ranked))
    facts = (
        ScoredFact(fact=memory.facts[index], score=ranked[index].score, similarity=ranked[index].similarity)
        for index in fitted.positions
    )
    return {"chosen": Selection(summaries=fitted.summaries, facts=tuple(facts))}


def recall_render(state: FactsChosen) -> TextRendered:
    """Render the block that goes into a prompt."""
    chosen = state["chosen"]
    text = render(chosen.summaries, fact_lines([entry.fact for entry in chosen.facts]))
    return {"recalled": RecallResult(text=text, tokens=count_tokens(text), facts=chosen.facts)}
