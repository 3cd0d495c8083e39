"""Import of the memories that ChatDev stored: once, into the database next to the JSON file, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from memgraph.attachments.database import IMPORT_SUFFIX
from memgraph.attachments.item import format_timestamp, take_snapshot
from memgraph.attachments.item_store import ItemStore, NewItem
from memgraph.errors import EditError, MemoryStoreError
from memgraph.importers.chatdev import is_json_file, read_chatdev_items
from memgraph.importers.documents import ExportDocument
from memgraph.retrieval.terms import extract_terms
from memgraph.text.secrets import mask

NO_OWNER = ""
"""The owner of items without a user; ChatDev has none."""


def import_chatdev(database: Path | None, items: ItemStore, now: Callable[[], datetime]) -> None:
    """Import the JSON file that *database* is next to, if there is one and the database has never had an item.

    Raises:
        MemoryStoreError: If it is not a memory of ChatDev.
    """
    if database is None or database.suffix != IMPORT_SUFFIX or not is_json_file(source := database.with_suffix("")):
        return
    items.import_once(NO_OWNER, lambda: _read(source, now()))


def _read(source: Path, now: datetime) -> Iterator[NewItem]:
    try:
        found = read_chatdev_items(ExportDocument(str(source), source.read_bytes()))
    except (EditError, OSError) as error:
        raise MemoryStoreError(f"{error}. It was left unchanged; set another memory_path") from error
    for item in found:
        summary = mask(item.content)
        yield NewItem(
            summary,
            take_snapshot(item.input or None),
            take_snapshot(item.output or item.content),
            {"node": item.role},
            format_timestamp(item.at or now),
            terms=extract_terms(summary),
        )
