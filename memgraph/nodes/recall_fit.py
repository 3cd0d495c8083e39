"""recall_fit: what of the memory fits the budget."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.nodes.recall_state import FactsChosen, FactsRanked, MemoryLoaded, Recalling
from memgraph.retrieval.recalled import Chosen
from memgraph.retrieval.scored import ScoredFact


class Ordered(MemoryLoaded, FactsRanked):
    """What recall_fit reads."""


def recall_fit(state: Ordered, runtime: Runtime[Recalling]) -> FactsChosen:
    """Choose the summaries and the facts that are said. A client may have changed the order meanwhile."""
    recaller, memory = runtime.context.recaller, state["memory"]
    places = {fact.id: place for place, fact in enumerate(memory.facts)}
    placed = {places[entry.id]: entry for entry in state["ranked"] if entry.id in places}
    fitted = recaller.fit(memory, recaller.indexed(memory.facts), list(placed))
    facts = (
        ScoredFact(fact=memory.facts[place], score=placed[place].score, similarity=placed[place].similarity)
        for place in fitted.places
    )
    return {"chosen": Chosen(summaries=fitted.summaries, facts=tuple(facts))}
