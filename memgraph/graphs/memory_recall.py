"""Recall on LangGraph Server: returns what a prompt should contain about a user.

Each run names its user by its context, `{"user_id": ...}`; everything else comes from `memgraph.yaml` and the
environment.
"""

from __future__ import annotations

from memgraph import build_recall_graph, load_settings, make_context, make_recall_pipeline

settings = load_settings()
defaults = make_context(settings).model_copy(update={"enabled": settings.enabled and settings.injection_enabled})
graph = build_recall_graph(defaults=defaults, pipeline=make_recall_pipeline(settings), output="stages")
