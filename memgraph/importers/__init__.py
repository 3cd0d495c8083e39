"""Importers: convert exports of other memory systems, and report what was changed or skipped. No I/O.

To add a system, write a module with a reader and add a line to READERS.
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
"""The reader of each system. Its arguments are the documents of an export and the owner whose memories to import.

A reader raises an EditError if a document cannot be read or is not such an export, or if there are memories of several
owners and none is selected.
"""
