"""The HTTP API as LangGraph Server serves it: langgraph.json names `app` here, and its routes are below /memory.

Nobody gets in before a token is set (MEMGRAPH_API_TOKEN, or api_tokens in memgraph.yaml), or the server knows who is
calling: with `auth` and `"enable_custom_route_auth": true` in langgraph.json each user reaches their own memory.
"""

from __future__ import annotations

from memgraph.api import create_app
from memgraph.config import load_settings

app = create_app(load_settings())
