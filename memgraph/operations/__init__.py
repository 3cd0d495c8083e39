"""Operations: what can be done with an open memory, once for every door.

`Operations` has them as methods, which MemoryClient inherits; `OPERATIONS` is the table of them, by which the HTTP API
and the MCP server describe and call them. A door parses, calls and renders. To add an operation, write a method in a
module of this package, and one line in the table.
"""

from __future__ import annotations

from memgraph.operations.table import OPERATIONS, Operation, Operations, RequestModel

__all__ = ["OPERATIONS", "Operation", "Operations", "RequestModel"]
