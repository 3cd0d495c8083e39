"""The graph of this name of langgraph.json, from the package: a langgraph.json can name that module, too."""

from __future__ import annotations

from memgraph.graphs.memory_recall import graph

__all__ = ["graph"]
