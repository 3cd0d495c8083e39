"""The HTTP API: what is remembered, read and corrected by other programs, and conversations handed over.

    app = create_app(load_settings())

Everything is below `/memory`. langgraph.json mounts it beside LangGraph Server's own routes; `memgraph serve` runs
it alone.
"""

from __future__ import annotations

from memgraph.api.app import create_app
from memgraph.api.auth import Authenticator

__all__ = ["Authenticator", "create_app"]
