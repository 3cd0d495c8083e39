"""The four nodes of the recall graph: load, rank, fit, render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_origin
from memgraph.models import Episode, Memory
from memgraph.retrieval.fact_index import Ranking
from memgraph.retrieval.lines import MIN_LINE_TOKENS, episode_lines, fact_lines
from memgraph.retrieval.recall import RankedMemory, RecallPipeline
from memgraph.retrieval.render import render
from memgraph.retrieval.results import Ranked, RankedItem, RecallResult
from memgraph.retrieval.vector_store import VectorStore
from memgraph.state import Conversation, FitInput, MemoryChosen, MemoryLoaded, MemoryRanked, RankInput, TextRendered
from memgraph.text.tokens import count_tokens


@dataclass(frozen=True)
class RecallContext:
    """The `runtime.context` of a recall node."""

    run: RunContext
    pipeline: RecallPipeline

    def episodes(self) -> Sequence[Episode]:
        """Return the episodes of the user. They are not a stage: there may be thousands, of which few are chosen."""
        return self.run.open_storage().episodes(resolve_origin(self.run).scope) if self.run.enabled else ()

    def vectors(self) -> VectorStore | None:
        """Return what keeps the vectors of the user's memory."""
        return self.run.open_storage().vectors(resolve_origin(self.run).scope) if self.run.enabled else None


def recall_load(_: Conversation, runtime: Runtime[RecallContext]) -> MemoryLoaded:
    """Load the memory; an empty one if memory is disabled."""
    run = runtime.context.run
    return {"memory": run.open_storage().load(resolve_origin(run).scope) if run.enabled else Memory()}


def recall_rank(state: RankInput, runtime: Runtime[RecallContext]) -> MemoryRanked:
    """Rank the facts and the episodes, the best first."""
    context, pipeline = runtime.context, runtime.context.pipeline
    query = pipeline.query(state["messages"])
    ranked = pipeline.rank(state["memory"].facts, context.episodes(), query, vectors=context.vectors())
    fact_ids = [fact.id for fact in ranked.facts.facts]
    episode_ids = [episode.id for episode in ranked.episodes.episodes]
    most = pipeline.max_tokens // MIN_LINE_TOKENS
    return {
        "ranked": Ranked(
            facts=_items(ranked.fact_ranking, fact_ids, len(fact_ids)),
            episodes=_items(ranked.episode_ranking, episode_ids, most),
        )
    }


def _items(ranking: Ranking, ids: Sequence[str], most: int) -> tuple[RankedItem, ...]:
    return tuple(
        RankedItem(id=ids[index], score=float(ranking.scores[index]), similarity=float(ranking.similarity[index]))
        for index in ranking.order[:most]
    )


def recall_fit(state: FitInput, runtime: Runtime[RecallContext]) -> MemoryChosen:
    """Select what fits the budget, in the order of the stage, which a client may have edited."""
    pipeline, memory, stage = runtime.context.pipeline, state["memory"], state["ranked"]
    facts, episodes = pipeline.lexical_indexes(memory.facts, runtime.context.episodes())
    ranked = RankedMemory(
        facts,
        _to_ranking(stage.facts, {fact.id: index for index, fact in enumerate(memory.facts)}),
        episodes,
        _to_ranking(stage.episodes, episodes.positions),
    )
    fitted = pipeline.fit(memory, ranked)
    return {"chosen": pipeline.explain(ranked, fitted, pipeline.query(state["messages"]), pipeline.today())}


def _to_ranking(items: Sequence[RankedItem], positions: Mapping[str, int]) -> Ranking:
    """Return the ranking of *items*, without those that are not in the memory any more."""
    scores, similarity = np.zeros(len(positions)), np.zeros(len(positions))
    known = {positions[item.id]: item for item in items if item.id in positions}
    for position, item in known.items():
        scores[position], similarity[position] = item.score, item.similarity
    return Ranking(list(known), scores, similarity)


def recall_render(state: MemoryChosen, runtime: Runtime[RecallContext]) -> TextRendered:
    """Render the block that goes into a prompt."""
    chosen, timezone = state["chosen"], runtime.context.pipeline.timezone
    facts = [entry.fact for entry in sorted(chosen.facts, key=lambda entry: entry.position)]
    episodes = [entry.episode for entry in sorted(chosen.episodes, key=lambda entry: entry.position)]
    lines = (*fact_lines(facts, timezone), *episode_lines(episodes, timezone))
    text = render(chosen.summaries, (line for line in lines if line), today=chosen.today)
    return {
        "recalled": RecallResult(text=text, tokens=count_tokens(text), facts=chosen.facts, episodes=chosen.episodes)
    }
