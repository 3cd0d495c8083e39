"""LangGraph: the items of a store, from a running program or from a file with a list of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from memgraph.errors import EditError
from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, read_items
from memgraph.importers.langmem import CONFIDENCE, add_content, namespace_of
from memgraph.importers.report import ImportResult

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

TEXT_KEYS = ("content", "text", "memory", "fact", "data")
"""Keys of a value that hold what is remembered; of a value without them, each text is a fact."""
PAGE_ITEMS = 1_000
MAX_ITEMS = 100_000
"""Maximum number of items that are read from a store."""


def read_langgraph(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read items of a store: objects with `namespace`, `key`, `value` and `created_at`, as `Item.dict()` makes them."""
    items = read_items(documents, ("items", "results"), "langgraph")
    collector = FactCollector("langgraph", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=namespace_of, get_content=_content):
        _add_item(collector, item)
    return collector.result()


def read_store(store: BaseStore, namespace: tuple[str, ...]) -> ImportResult:
    """Read the items of *store* in *namespace* and below it.

    Raises:
        EditError: If there are more than 100,000.
    """
    collector = FactCollector("langgraph", confidence=CONFIDENCE)
    for number, item in enumerate(_iterate_items(store, namespace)):
        if number >= MAX_ITEMS:
            raise EditError(f"the namespace {namespace} has more than {MAX_ITEMS:,} items: import a part of it")
        _add_item(collector, item)
    return collector.result()


def _iterate_items(store: BaseStore, namespace: tuple[str, ...]) -> Iterator[Item]:
    offset = 0
    while page := store.search(namespace, limit=PAGE_ITEMS, offset=offset):
        yield from (cast("Item", item.dict()) for item in page)  # pyright: ignore[reportUnknownMemberType]
        offset += len(page)


def _add_item(collector: FactCollector, item: Item) -> None:
    value = as_item(item.get("value")) or {}
    fields = {"id": item.get("key"), "created_at": item.get("created_at"), "category": value.get("category")}
    add_content(collector, _content(item), fields)


def _content(item: Item) -> object:
    value = as_item(item.get("value"))
    return next((value[key] for key in TEXT_KEYS if value.get(key)), value) if value else item.get("value")
