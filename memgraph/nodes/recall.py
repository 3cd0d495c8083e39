"""The four nodes of the recall graph: load, rank, fit, render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from langgraph.runtime import Runtime

from memgraph.context import RunContext
from memgraph.context.runtime import resolve_scope
from memgraph.models import Episode, MemoryDocument
from memgraph.retrieval.memory_index import Ranking
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.render import MIN_LINE_TOKENS, episode_line, fact_line, past_line, render
from memgraph.retrieval.results import Ranked, RankedItem, RecallResult
from memgraph.retrieval.slot_values import earlier_values
from memgraph.retrieval.vector_store import VectorStore
from memgraph.state import Conversation, FitInput, MemoryChosen, MemoryLoaded, MemoryRanked, RankInput, TextRendered
from memgraph.text.tokens import count_tokens


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
