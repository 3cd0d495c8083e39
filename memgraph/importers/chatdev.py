"""ChatDev: the JSON files in which its memories of the types simple, blackboard and file store their items.

Its memories of the type mem0 have no file: read an export of mem0 instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast

from memgraph.errors import EditError
from memgraph.importers.documents import ExportDocument, FactCollector, ImportResult, Item, as_item, item_in, text_in
from memgraph.text.dates import parse_time

CONFIDENCE = 0.5
"""ChatDev stores no confidence, and its items are what agents wrote."""
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
    collector = FactCollector("chatdev", confidence=CONFIDENCE)
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
