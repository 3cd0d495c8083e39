"""The routes: one file a resource, and ROUTERS names them all."""

from __future__ import annotations

from memgraph.api.routes import conversations, documents, facts, recall, reviews, service, summaries, transfer

ROUTERS = tuple(
    part.router for part in (documents, facts, summaries, recall, transfer, conversations, reviews, service)
)
