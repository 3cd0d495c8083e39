"""The HTTP API of memory, mounted into LangGraph Server: `http.app` in langgraph.json names `app`.

All routes are below /memory. Requests are refused until a token is set (`MEMGRAPH_API_TOKEN`, or `api_tokens` in
memgraph.yaml) or the server authenticates its callers: with `auth` and `"enable_custom_route_auth": true` in
langgraph.json each user reaches only their own memory. `memgraph.protect_store(auth)` in the auth file keeps them out
of the server's own routes below /store.
"""

from __future__ import annotations

from memgraph import create_app, load_settings

app = create_app(load_settings())
