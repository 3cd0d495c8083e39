"""The stages of a recall. Each is what one node returns; RecallState is their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from memgraph.context import RunContext
from memgraph.models import Memory
from memgraph.nodes.filter_messages import resolve_origin
from memgraph.retrieval.recall import RecallPipeline
from memgraph.retrieval.render import fact_lines, render
from memgraph.retrieval.results import RankedFact, RecallResult, ScoredFact, Selection
from memgraph.state import Conversation, ValidatedValue
from memgraph.text.tokens import count_tokens


@dataclass(frozen=True)
class Recalling:
    """What a node of recall finds in `runtime.context`."""

    run: RunContext
    """Whose memory, and where it is kept."""
    recaller: RecallPipeline


class MemoryLoaded(TypedDict):
    """The document as it is stored."""

    memory: Annotated[Memory, ValidatedValue]


class FactsRanked(TypedDict):
    """Where each fact stands, the best first."""

    ranked: Annotated[list[RankedFact], ValidatedValue]


class FactsChosen(TypedDict):
    """What fits the budget."""

    chosen: Annotated[Selection, ValidatedValue]


class TextRendered(TypedDict):
    """What a prompt is told about the user. The one key that comes out."""

    recalled: Annotated[RecallResult, ValidatedValue]


class RecallStages(MemoryLoaded, FactsRanked, FactsChosen, TextRendered):
    """Every stage, without the conversation."""


class RecallState(Conversation, RecallStages):
    """Every key of the graph."""


def recall_load(_: Conversation, runtime: Runtime[Recalling]) -> MemoryLoaded:
    """Read the memory; an empty one where memory is switched off."""
    run = runtime.context.run
    return {"memory": run.storage.load(resolve_origin(run).scope) if run.enabled else Memory()}


class RankInput(Conversation, MemoryLoaded):
    """What recall_rank reads."""


def recall_rank(state: RankInput, runtime: Runtime[Recalling]) -> FactsRanked:
    """Order the facts, the best first."""
    recaller = runtime.context.recaller
    indexed, ranking = recaller.rank(state["memory"].facts, recaller.query(state["messages"]))
    return {
        "ranked": [
            RankedFact(
                id=indexed.facts[place].id,
                score=float(ranking.scores[place]),
                similarity=float(ranking.similarity[place]),
            )
            for place in ranking.order
        ]
    }


class FitInput(MemoryLoaded, FactsRanked):
    """What recall_fit reads."""


def recall_fit(state: FitInput, runtime: Runtime[Recalling]) -> FactsChosen:
    """Choose the summaries and the facts that are said. A client may have changed the order meanwhile."""
    recaller, memory = runtime.context.recaller, state["memory"]
    places = {fact.id: place for place, fact in enumerate(memory.facts)}
    placed = {places[entry.id]: entry for entry in state["ranked"] if entry.id in places}
    fitted = recaller.fit(memory, recaller.lexical_index(memory.facts), list(placed))
    facts = (
        ScoredFact(fact=memory.facts[place], score=placed[place].score, similarity=placed[place].similarity)
        for place in fitted.positions
    )
    return {"chosen": Selection(summaries=fitted.summaries, facts=tuple(facts))}


def recall_render(state: FactsChosen) -> TextRendered:
    """Write the block that goes into a prompt."""
    chosen = state["chosen"]
    text = render(chosen.summaries, fact_lines([entry.fact for entry in chosen.facts]))
    return {"recalled": RecallResult(text=text, tokens=count_tokens(text), facts=chosen.facts)}
