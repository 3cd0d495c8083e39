"""The HTTP API: other programs read, edit and recall memories, and submit conversations.

```python
from memgraph import create_app, load_settings

app = create_app(load_settings())
```

All routes are below `/memory`. LangGraph Server mounts the app next to its own routes (langgraph.json);
`memgraph serve` runs it alone.
"""

from __future__ import annotations

from memgraph.api.app import create_app
from memgraph.api.auth import Authenticator

__all__ = ["Authenticator", "create_app"]
