"""Moving in: memories of other systems, read as ours, with a report of what became of each item. No I/O.

A new system is a module with a reader, and a line in READERS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from memgraph.importers.deerflow import read_deerflow
from memgraph.importers.documents import ExportDocument
from memgraph.importers.langmem import read_langmem
from memgraph.importers.mem0 import read_mem0
from memgraph.importers.report import ImportReport, ImportResult, Note

__all__ = ["READERS", "ExportDocument", "ImportReport", "ImportResult", "Note", "Reader"]

Reader = Callable[[Sequence[ExportDocument], str | None], ImportResult]

READERS: Mapping[str, Reader] = MappingProxyType(
    {"deerflow": read_deerflow, "langmem": read_langmem, "mem0": read_mem0}
)
"""By system, what reads its export: given its documents and, where it holds several users', whose are wanted.

Every reader raises EditError where a document cannot be read, is no such export, or holds the memories of several
users and none of them was named.
"""
