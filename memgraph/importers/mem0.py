"""mem0: what `get_all` returns, or an export of it: a list of memories, or one under `results` or `memories`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, items_of
from memgraph.importers.report import ImportResult

CONFIDENCE = 0.8
"""mem0 keeps no confidence: what a model extracted counts as strongly implied."""


def read_mem0(documents: Sequence[ExportDocument], of: str | None) -> ImportResult:
    """Read an export of mem0. The run that a memory is of becomes its source."""
    items = items_of(documents, ("results", "memories"), "mem0")
    basket = FactCollector("mem0", confidence=CONFIDENCE)
    for memory in basket.group(items, of, owner=_owner, content=_content):
        basket.add(_content(memory), _fields(memory))
    if any((whole := as_item(document.json())) and whole.get("relations") for document in documents):
        basket.skip("relations", "there is no graph of relations here")
    if items:
        basket.note_change("confidence", f"mem0 keeps none, so each fact has {CONFIDENCE}")
    return basket.result()


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
        "source": item.get("run_id"),
    }
