"""The HTTP API: other programs read, edit and recall memories, and submit conversations.

```python
from memgraph import create_app, load_settings

app = create_app(load_settings())
```

All routes are below `/memory`. LangGraph Server mounts the app next to its own routes (langgraph.json);
`memgraph serve` runs it alone.
"""

from __future__ import annotations

try:
    from memgraph.api.app import create_app
    from memgraph.api.auth import Authenticator
except ModuleNotFoundError as error:
    raise ImportError(f"the HTTP API needs {error.name}: pip install 'langgraph-memgraph[api]'") from error

__all__ = ["Authenticator", "create_app"]
