"""Recall as LangGraph Server runs it: langgraph.json points here.

Whose memory it is comes with the run, as `context: {"user_id": ...}`; the rest is what `memgraph.yaml` and the
environment say.
"""

from __future__ import annotations

from memgraph.config import load_settings, make_context
from memgraph.nodes.recall import FactsChosen, FactsRanked, MemoryLoaded, TextRendered
from memgraph.recall_graph import assemble_recall
from memgraph.retrieval.recall import make_pipeline


class Stages(MemoryLoaded, FactsRanked, FactsChosen, TextRendered):
    """Every stage but the messages that came in: with a narrower schema the server would stream nulls."""


settings = load_settings()
defaults = make_context(settings).model_copy(update={"enabled": settings.enabled and settings.injection_enabled})
graph = assemble_recall(defaults, make_pipeline(settings), Stages)
