"""Items of memory stores: LangMem and LangGraph, with a namespace, a key and a value, mem0, and ChatDev.

An export of mem0 is the result of `get_all`, or a list of memories, possibly under `results` or `memories`. Those of
ChatDev are the JSON files in which its memories of the types simple, blackboard and file store their items. Its
memories of the type mem0 have no file: read an export of mem0 instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from memgraph.analysis.dates import parse_time
from memgraph.errors import EditError
from memgraph.importers.documents import (
    ExportDocument,
    FactCollector,
    ImportResult,
    Item,
    as_item,
    exported_items,
    item_in,
    text_in,
    thread_source,
)

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

CONFIDENCE = 0.8
"""None of them stores a confidence; facts that a model extracted count as strongly implied."""
CHATDEV_CONFIDENCE = 0.5
"""The items of ChatDev are what agents wrote."""


# -- LangMem --------------------------------------------------------------------------------------


def read_langmem(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read the items of a store that LangMem wrote.

    Free text becomes a fact. Of a profile with a custom schema, each text field becomes a fact `field: text`; other
    fields are skipped.
    """
    items = exported_items(documents, ("items", "memories", "results"), "langmem")
    collector = FactCollector("langmem", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=item_namespace, get_content=_content):
        add_content(collector, _content(item), {"id": item.get("key"), "created_at": item.get("created_at")})
    if items:
        collector.note_change("confidence", f"LangMem stores none, so each fact got {CONFIDENCE}")
    return collector.result()


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


def item_namespace(item: Item) -> str:
    """Return the namespace, which the application chose."""
    namespace = item.get("namespace") or item.get("prefix") or ""
    parts = cast("list[object]", namespace) if isinstance(namespace, list) else [namespace]
    return "/".join(str(part) for part in parts)


# -- LangGraph ------------------------------------------------------------------------------------

TEXT_KEYS = ("content", "text", "memory", "fact", "data")
"""Keys of a value that hold what is remembered; of a value without them, each text is a fact."""
PAGE_ITEMS = 1_000
MAX_ITEMS = 100_000
"""Maximum number of items that are read from a store."""


def read_langgraph(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read items of a store: objects with `namespace`, `key`, `value` and `created_at`, as `Item.dict()` makes them."""
    items = exported_items(documents, ("items", "results"), "langgraph")
    collector = FactCollector("langgraph", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=item_namespace, get_content=_value_text):
        _add_value(collector, item)
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
        _add_value(collector, item)
    return collector.result()


def _iterate_items(store: BaseStore, namespace: tuple[str, ...]) -> Iterator[Item]:
    offset = 0
    while page := store.search(namespace, limit=PAGE_ITEMS, offset=offset):
        yield from (cast("Item", item.dict()) for item in page)  # pyright: ignore[reportUnknownMemberType]
        offset += len(page)


def _add_value(collector: FactCollector, item: Item) -> None:
    value = as_item(item.get("value")) or {}
    fields = {"id": item.get("key"), "created_at": item.get("created_at"), "category": value.get("category")}
    add_content(collector, _value_text(item), fields)


def _value_text(item: Item) -> object:
    value = as_item(item.get("value"))
    return next((value[key] for key in TEXT_KEYS if value.get(key)), value) if value else item.get("value")


# -- mem0 -----------------------------------------------------------------------------------------


def read_mem0(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read an export of mem0. The run id of a memory becomes its source."""
    items = exported_items(documents, ("results", "memories"), "mem0")
    collector = FactCollector("mem0", confidence=CONFIDENCE)
    for item in collector.select(items, owner, get_owner=_owner, get_content=_mem0_text):
        collector.add(_mem0_text(item), _fields(item))
    if any((export := as_item(document.json())) and export.get("relations") for document in documents):
        collector.skip("relations", "memgraph has no graph of relations")
    if items:
        collector.note_change("confidence", f"mem0 stores none, so each fact got {CONFIDENCE}")
    return collector.result()


def _owner(item: Item) -> str:
    return str(item.get("user_id") or "")


def _mem0_text(item: Item) -> object:
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


# -- ChatDev --------------------------------------------------------------------------------------

_HEAD_BYTES = 200


class ChatDevItem(NamedTuple):
    """An item of a memory of ChatDev."""

    content: str
    """The text that its prompts show."""
    input: str
    output: str
    role: str
    """The node that wrote it, or the document of a passage."""
    at: datetime | None


def is_json_file(path: Path) -> bool:
    """Return whether *path* is a file that begins as a JSON list or object does, and so is not a database."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"[", b"{"}
    except OSError:
        return False


def read_chatdev_items(document: ExportDocument) -> list[ChatDevItem]:
    """Return the items of a memory of ChatDev, in the order of writing.

    Raises:
        EditError: If *document* is not such a file.
    """
    value = document.json()
    mapping = as_item(value)
    items = cast("object", mapping.get("contents") if mapping else value)
    found = list(map(as_item, cast("list[object]", items))) if isinstance(items, list) else [None]
    if not all(item is not None and isinstance(item.get("content_summary"), str) for item in found):
        raise EditError(
            f"{document.name} is not a memory of ChatDev: it is neither a list of items with a content_summary nor an "
            "index with such a list as its contents"
        )
    return [_parse_item(item) for item in found if item is not None]


def read_chatdev(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read memories of ChatDev, which have no users. The node that wrote an item is not kept."""
    if owner is not None:
        raise EditError("memories of ChatDev have no users: leave out --of")
    collector = FactCollector("chatdev", confidence=CHATDEV_CONFIDENCE)
    for document in documents:
        for item in read_chatdev_items(document):
            collector.add(item.content, {"created_at": item.at})
    return collector.result()


def _parse_item(item: Item) -> ChatDevItem:
    return ChatDevItem(
        content=text_in(item, "content_summary"),
        input=text_in(item_in(item, "input_snapshot"), "text"),
        output=text_in(item_in(item, "output_snapshot"), "text"),
        role=text_in(item_in(item, "metadata"), "agent_role", "file_name"),
        at=parse_time(item.get("timestamp")),
    )
