"""The upkeep of a memory on LangGraph Server: merges what is known twice, and ends what no longer holds.

Its input is empty. Each run names its user by its context, `{"user_id": ...}`; everything else comes from
`memgraph.yaml` and the environment.
"""

from __future__ import annotations

from memgraph import build_upkeep_graph, load_settings, make_context

graph = build_upkeep_graph(defaults=make_context(load_settings()), output="stages")
