"""The memory update on LangGraph Server: learns from a conversation.

Each run names its user by its context, `{"user_id": ...}`; everything else comes from `memgraph.yaml` and the
environment. The server adds its own checkpointer and store, so the graph is compiled without them.
"""

from __future__ import annotations

from memgraph import build_graph, load_settings, make_context

graph = build_graph(defaults=make_context(load_settings()), output="stages")
