"""recall_rank: how well each fact fits the last exchanges."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.nodes.recall_state import FactsRanked, MemoryLoaded, Recalling
from memgraph.retrieval.recalled import Placed
from memgraph.state import Conversation


class Asked(Conversation, MemoryLoaded):
    """What recall_rank reads."""


def recall_rank(state: Asked, runtime: Runtime[Recalling]) -> FactsRanked:
    """Order the facts, the best first."""
    recaller = runtime.context.recaller
    indexed, ranking = recaller.rank(state["memory"].facts, recaller.query(state["messages"]))
    return {
        "ranked": [
            Placed(
                id=indexed.facts[place].id,
                score=float(ranking.scores[place]),
                similarity=float(ranking.similarity[place]),
            )
            for place in ranking.order
        ]
    }
