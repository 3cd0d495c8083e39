"""Moving in: memories of other systems, read as ours, with a report of what became of each item. No I/O.

A new system is a module with a reader, and a line in READERS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from memgraph.moving.deerflow import read_deerflow
from memgraph.moving.documents import Document
from memgraph.moving.langmem import read_langmem
from memgraph.moving.mem0 import read_mem0
from memgraph.moving.report import Moved, MoveReport, Note

__all__ = ["READERS", "Document", "MoveReport", "Moved", "Note", "Reader"]

Reader = Callable[[Sequence[Document], str | None], Moved]

READERS: Mapping[str, Reader] = MappingProxyType(
    {"deerflow": read_deerflow, "langmem": read_langmem, "mem0": read_mem0}
)
"""By system, what reads its export: given its documents and, where it holds several users', whose are wanted.

Every reader raises EditError where a document cannot be read, is no such export, or holds the memories of several
users and none of them was named.
"""
