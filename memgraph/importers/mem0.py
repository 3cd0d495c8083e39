"""mem0: the result of `get_all` or an export: a list of memories, possibly under `results` or `memories`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, read_items, thread_source
from memgraph.importers.report import ImportResult

CONFIDENCE = 0.8
"""mem0 stores no confidence; facts that a model extracted count as strongly implied."""


def read_mem0(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read an export of mem0. The run id of a memory becomes its source."""
    items = read_items(documents, ("results", "memories"), "mem0")
    collector = FactCollector("mem0", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=_owner, get_content=_content):
        collector.add(_content(item), _fields(item))
    if any((export := as_item(document.json())) and export.get("relations") for document in documents):
        collector.skip("relations", "memgraph has no graph of relations")
    if items:
        collector.note_change("confidence", f"mem0 stores none, so each fact got {CONFIDENCE}")
    return collector.result()


def _owner(item: Item) -> str:
    return str(item.get("user_id") or "")


def _content(item: Item) -> object:
    return item.get("memory") or item.get("text") or item.get("data")


def _fields(item: Item) -> Item:
    metadata = as_item(item.get("metadata")) or {}
    names = item.get("categories")
    categories = cast("list[object]", names) if isinstance(names, list) else []
    updated = item.get("updated_at")
    return {
        "id": item.get("id"),
        "category": next(iter(categories), None) or metadata.get("category") or metadata.get("type"),
        "created_at": item.get("created_at"),
        "last_confirmed_at": updated if updated != item.get("created_at") else None,
        "source": thread_source(item.get("run_id")),
    }
