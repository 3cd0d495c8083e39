"""The memories that ChatDev stored as JSON: read once, into the database next to the file, which stays as it is."""

from __future__ import annotations

from pathlib import Path

from memgraph.attachments.database import IMPORT_SUFFIX
from memgraph.errors import EditError, MemoryStoreError
from memgraph.importers.chatdev import ChatDevItem, is_json_file, read_chatdev_items
from memgraph.importers.documents import ExportDocument


def chatdev_file(database: Path | None) -> Path | None:
    """Return the JSON file that *database* is next to, if there is one."""
    if database is None or database.suffix != IMPORT_SUFFIX:
        return None
    source = database.with_suffix("")
    return source if is_json_file(source) else None


def read_items(source: Path) -> list[ChatDevItem]:
    """Return the items of a JSON file, the oldest first.

    Raises:
        MemoryStoreError: If it is not a memory of ChatDev.
    """
    try:
        return read_chatdev_items(ExportDocument(str(source), source.read_bytes()))
    except (EditError, OSError) as error:
        raise MemoryStoreError(f"{error}. It was left unchanged; set another memory_path") from error
