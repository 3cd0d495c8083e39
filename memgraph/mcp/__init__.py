"""The MCP server: assistants such as Claude, Cursor and VS Code search and change the memory of their user.

```python
from memgraph import MemoryClient
from memgraph.mcp import create_server

server = create_server(MemoryClient("sqlite:memory.db", model="offline"), lambda _: "ada")
```

`memgraph mcp` runs it over stdio or over HTTP. It needs the extra `mcp`.
"""

from __future__ import annotations

try:
    from memgraph.mcp.server import create_mcp_app, create_server
except ModuleNotFoundError as error:
    raise ImportError(f"the MCP server needs {error.name}: pip install 'langgraph-memgraph[mcp]'") from error

__all__ = ["create_mcp_app", "create_server"]
