"""recall_render: how it is said."""

from __future__ import annotations

from memgraph.nodes.recall_state import FactsChosen, TextRendered
from memgraph.retrieval.recalled import Recalled
from memgraph.retrieval.render import fact_line, render
from memgraph.text.tokens import count_tokens


def recall_render(state: FactsChosen) -> TextRendered:
    """Write the block that goes into a prompt."""
    chosen = state["chosen"]
    text = render(chosen.summaries, [fact_line(entry.fact) for entry in chosen.facts])
    return {"recalled": Recalled(text=text, tokens=count_tokens(text), facts=chosen.facts)}
