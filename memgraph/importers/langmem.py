"""LangMem: items of a LangGraph store with a namespace, a key and a value, which has a kind and a content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, read_items
from memgraph.importers.report import ImportResult

CONFIDENCE = 0.8
"""LangMem stores no confidence; facts that a model extracted count as strongly implied."""


def read_langmem(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read the items of a store that LangMem wrote.

    Free text becomes a fact. Of a profile with a custom schema, each text field becomes a fact `field: text`; other
    fields are skipped.
    """
    items = read_items(documents, ("items", "memories", "results"), "langmem")
    collector = FactCollector("langmem", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=namespace_of, get_content=_content):
        _add_item(collector, item)
    if items:
        collector.note_change("confidence", f"LangMem stores none, so each fact got {CONFIDENCE}")
    return collector.result()


def _add_item(collector: FactCollector, item: Item) -> None:
    add_content(collector, _content(item), {"id": item.get("key"), "created_at": item.get("created_at")})


def add_content(collector: FactCollector, content: object, fields: Item) -> None:
    """Add a text as a fact, or each text of a profile as one."""
    profile = as_item(content)
    text = profile.get("content") if profile else content
    if isinstance(text, str):
        collector.add(text, fields)
    elif profile:
        _add_profile(collector, profile, fields)
    else:
        collector.skip(content, "it is neither a text nor a profile")


def _add_profile(collector: FactCollector, profile: Item, fields: Item) -> None:
    """Add each text of a profile as a fact with a new id."""
    for name, value in profile.items():
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in cast("list[object]", parts)):
            collector.skip(f"{name}: {value}", "it is not a text")
            continue
        for part in cast("list[str]", parts):
            line = f"{name.replace('_', ' ')}: {part}"
            collector.note_change(line, "it was a field of a profile")
            collector.add(line, {**fields, "id": None})


def _content(item: Item) -> object:
    """Return the content of an item's value, or the value itself if it has none."""
    value = as_item(item.get("value"))
    return value.get("content", value) if value else item.get("value")


def namespace_of(item: Item) -> str:
    """Return the namespace, which the application chose."""
    namespace = item.get("namespace") or item.get("prefix") or ""
    parts = cast("list[object]", namespace) if isinstance(namespace, list) else [namespace]
    return "/".join(str(part) for part in parts)
