"""Importers: convert exports of other memory systems, and report what was changed or skipped. No I/O.

To add a system, write a module with a reader and add a line to READERS. Exports of conversations are different: they
have to be learned from. They are read by `memgraph.importers.chats`, whose table is CHAT_READERS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from memgraph.importers.chats import CHAT_READERS
from memgraph.importers.deerflow import read_deerflow
from memgraph.importers.documents import ExportDocument as ExportDocument
from memgraph.importers.documents import ImportReport as ImportReport
from memgraph.importers.documents import ImportResult as ImportResult
from memgraph.importers.documents import Note as Note
from memgraph.importers.markdown import read_markdown
from memgraph.importers.markdown import render_markdown as render_markdown
from memgraph.importers.stores import read_chatdev, read_langgraph, read_langmem, read_mem0
from memgraph.importers.stores import read_store as read_store

Reader = Callable[[Sequence[ExportDocument], str | None], ImportResult]

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "chatdev": read_chatdev,
        "deerflow": read_deerflow,
        "langgraph": read_langgraph,
        "langmem": read_langmem,
        "markdown": read_markdown,
        "mem0": read_mem0,
    }
)
"""The reader of each system. Its arguments are the documents of an export and the owner whose memories to import.

A reader raises an EditError if a document cannot be read or is not such an export, or if there are memories of several
owners and none is selected.
"""

CHAT_SYSTEMS = tuple(CHAT_READERS)
"""The systems whose exported conversations can be learned from."""
