"""LangMem: items of a LangGraph store, each with namespace, key and value; a value has its kind and content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, items_of
from memgraph.importers.report import ImportResult

CONFIDENCE = 0.8
"""LangMem keeps no confidence: what a model extracted counts as strongly implied."""


def read_langmem(documents: Sequence[ExportDocument], of: str | None) -> ImportResult:
    """Read the items of a store that LangMem wrote.

    A memory of free text becomes a fact. Of one by a schema of your own each field that is a text becomes a fact,
    `field: text`; the rest is left.
    """
    items = items_of(documents, ("items", "memories", "results"), "langmem")
    basket = FactCollector("langmem", confidence=CONFIDENCE)
    for memory in basket.group(items, of, owner=_owner, content=_content):
        _take(basket, memory)
    if items:
        basket.note_change("confidence", f"LangMem keeps none, so each fact has {CONFIDENCE}")
    return basket.result()


def _take(basket: FactCollector, item: Item) -> None:
    content, fields = _content(item), {"id": item.get("key"), "created_at": item.get("created_at")}
    profile = as_item(content)
    text = profile.get("content") if profile else content
    if isinstance(text, str):
        basket.add(text, fields)
    elif profile:
        _take_profile(basket, profile, fields)
    else:
        basket.skip(content, "it is neither a text nor a profile")


def _take_profile(basket: FactCollector, profile: Item, fields: Item) -> None:
    """Take each text of a profile; an id of its own for each."""
    for name, value in profile.items():
        said = [value] if isinstance(value, str) else value
        if not isinstance(said, list) or not all(isinstance(part, str) for part in cast("list[object]", said)):
            basket.skip(f"{name}: {value}", "it is no text")
            continue
        for part in cast("list[str]", said):
            line = f"{name.replace('_', ' ')}: {part}"
            basket.note_change(line, "it was a field of a profile")
            basket.add(line, {**fields, "id": None})


def _content(item: Item) -> object:
    """What an item says: its value's content, or the value."""
    value = as_item(item.get("value"))
    return value.get("content", value) if value else item.get("value")


def _owner(item: Item) -> str:
    """The namespace, whose parts the application chose."""
    namespace = item.get("namespace") or item.get("prefix") or ""
    parts = cast("list[object]", namespace) if isinstance(namespace, list) else [namespace]
    return "/".join(str(part) for part in parts)
