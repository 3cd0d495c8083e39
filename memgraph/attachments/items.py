"""Memories of items in SQLite: the one table of items, and its queries."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from memgraph._sql import Migration, Schema, Transaction
from memgraph.analysis.secrets import mask
from memgraph.analysis.terms import extract_terms
from memgraph.attachments.database import IMPORT_SUFFIX, VECTOR_TABLE, VECTORS, MemoryDatabase, file_of
from memgraph.attachments.item import MemoryItem, take_snapshot
from memgraph.attachments.store import MemoryStore, SearchResult, StoreConfig, relay
from memgraph.errors import EditError, MemoryStoreError
from memgraph.importers.documents import ExportDocument
from memgraph.importers.stores import is_json_file, read_chatdev_items
from memgraph.models import timestamp
from memgraph.retrieval.vector_store import digest_of
from memgraph.storage.traces import texts_in

if TYPE_CHECKING:
    from pathlib import Path

    from memgraph.attachments.store import Interaction
    from memgraph.models import Scope
    from memgraph.storage.traces import TraceCount

# AUTOINCREMENT: numbers are never reused, so that a reader of one number has read all smaller ones.
ITEMS = """
    CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        items INTEGER NOT NULL  -- 0: only an earlier version counted here
    );
    CREATE TABLE item (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (id),
        digest TEXT,
        summary TEXT NOT NULL,
        terms TEXT NOT NULL,  -- of the summary, separated by spaces
        document TEXT NOT NULL
    );
    CREATE INDEX item_owner ON item (owner, id);
    CREATE UNIQUE INDEX item_digest ON item (owner, digest) WHERE digest IS NOT NULL;
    CREATE TABLE data (
        sha256 TEXT PRIMARY KEY,
        bytes BLOB NOT NULL
    );
    CREATE TABLE held (
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        sha256 TEXT NOT NULL REFERENCES data (sha256),
        PRIMARY KEY (item, sha256)
    ) WITHOUT ROWID;
    CREATE INDEX held_data ON held (sha256);
"""

MIGRATIONS = (
    Migration("item.document", sql=ITEMS),
    *VECTORS,
    # release 0.2 kept vectors by item and not by text
    Migration(
        "vector.numbers",
        sql="""
        INSERT OR IGNORE INTO vector_model SELECT '', '', name, probe FROM model ORDER BY id DESC LIMIT 1;
        INSERT OR IGNORE INTO text_vector
            SELECT '', '', digest_of(summary), numbers FROM vector JOIN item ON item.id = item
            JOIN model ON model.id = model JOIN vector_model USING (name, probe);
        DROP TABLE vector;
        DROP TABLE model
        """,
        removes=True,
    ),
)

# the sequence of numbers stays when all items are deleted
SELECT_EVER = "SELECT seq FROM sqlite_sequence WHERE name = 'item'"
CHECK = "SELECT count(*) FROM (SELECT 1 FROM item LIMIT 1)"

SELECT_SAME = "SELECT 1 FROM item WHERE owner = (SELECT id FROM owner WHERE name = :owner) AND digest = :digest"
INSERT_OWNER = "INSERT INTO owner (name, items) VALUES (:owner, 0) ON CONFLICT DO NOTHING"
INSERT_ITEM = """
    INSERT INTO item (owner, digest, summary, terms, document)
    SELECT id, :digest, :summary, :terms, :document FROM owner WHERE name = :owner
"""
INSERT_DATA = "INSERT INTO data (sha256, bytes) VALUES (:sha256, :bytes) ON CONFLICT DO NOTHING"
INSERT_ITEM_MEDIA = "INSERT INTO held (item, sha256) VALUES (:item, :sha256)"

SELECT_EXCESS = """
    SELECT id, summary FROM item WHERE owner = (SELECT id FROM owner WHERE name = :owner)
    ORDER BY id DESC LIMIT -1 OFFSET :count
"""
DELETE_ITEM = "DELETE FROM item WHERE id = :item"
# a user's own items, and those of a shared memory that were written for the user
SELECT_USERS = """
    SELECT item.id, summary, document FROM item JOIN owner ON owner.id = owner WHERE name = :user_id
    OR (name = '' AND json_extract(document, '$.metadata.user_id') = :user_id) ORDER BY item.id
"""
DELETE_OWNER = "DELETE FROM owner WHERE name = :user_id"
DELETE_UNUSED_DATA = "DELETE FROM data WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.sha256 = data.sha256)"

SELECT_DATA = "SELECT DISTINCT sha256, bytes FROM held JOIN data USING (sha256) WHERE item IN :items"


class ItemConfig(StoreConfig):
    """The configuration of each memory of items."""

    memory_path: str | None = None
    """A file; `auto` is NAME.db in the folder of the run; none is RAM. A JSON file of ChatDev is imported into a file
    next to it, `memory.json.db`."""
    shared: bool = False
    """Whether all users share one memory; if not, each user has a separate one."""


class ItemMemory(MemoryStore):
    """A memory of items by owner, numbered in the order of insertion. Any number of threads and processes may write.

    Media data is stored once for each content, for all owners, and deleted with the last item that has it.

    Args:
        name: Name in the configuration.
        config: The configuration.
        folder: Base of a relative `memory_path`; None is the working folder.
        max_items: Maximum number of items for each owner; the oldest are evicted.
    """

    kind: ClassVar[int]
    """Number of the memory type, kept in the file's application_id."""
    part: ClassVar[str]
    """Name of the memory type in error messages."""

    def __init__(self, name: str, config: ItemConfig, folder: Path | str | None, *, max_items: int) -> None:
        self.name = name
        self._database = MemoryDatabase(
            file_of(config.memory_path, name, folder), schema=Schema(self.part, MIGRATIONS, 4, 0), kind=self.kind
        )
        self._max_items = max_items
        self._shared = config.shared

    def load(self) -> None:
        """Open the file and read from it; a new one next to a JSON file of ChatDev takes the items of that.

        Raises:
            MemoryStoreError: If it is of another type, or damaged. It is left unchanged.
        """
        self._database.rows(CHECK)
        if not self._database.rows(SELECT_EVER) and (items := _chatdev_items(self._database.path)):
            self._database.run(lambda db: self._import(db, items))

    def texts_of(self, user_id: str) -> list[list[str]]:
        rows = self._database.rows(SELECT_USERS, {"user_id": user_id})
        return [texts_in(json.loads(document)) for *_, document in rows]

    def delete_user(self, user_id: str) -> None:
        """Delete the items whose texts `texts_of` returns, with their media data and vectors, also from the log."""
        if not self._database.exists():
            return
        self._database.run(lambda db: _delete_user(db, user_id))
        self._database.truncate_log()

    def find_traces(self, fragments: Collection[str]) -> TraceCount:
        return self._database.find_bytes("", fragments)  # one file for all users

    def close(self) -> None:
        self._database.close()

    def _add(self, exchange: Interaction, summary: str, *, with_input: bool, digest: str | None = None) -> bool:
        """Add an item durably, and return whether it is new.

        Args:
            exchange: What is remembered.
            summary: The text that prompts show.
            with_input: Whether the question is a part of the item, and not only the answer.
            digest: Hash of the content, to store it once for each owner; None stores duplicates.

        Raises:
            MemoryStoreError: If it cannot be written.
        """
        item = MemoryItem(
            id="",
            content_summary=summary,
            input_snapshot=exchange.input if with_input else None,
            output_snapshot=exchange.output,
            metadata=exchange.metadata(shared=self._shared),
            timestamp=timestamp(datetime.now(UTC), "microseconds"),
        )
        return self._database.run(lambda db: _insert(db, self._owner(exchange.scope), item, self._max_items, digest))

    def _import(self, db: Transaction, items: Iterable[MemoryItem]) -> None:
        """Add *items*, all or none, unless there were ever any."""
        if not db.rows(SELECT_EVER):
            for item in items:
                _insert(db, self._owner(None), item, self._max_items)

    def _owner(self, scope: Scope | None) -> str:
        """Return the owner of items: the user, or "" if the user is unknown or all users share the memory."""
        return scope.user_id if scope and not self._shared else ""

    def _items(self, statement: str, values: Mapping[str, object]) -> dict[int, MemoryItem]:
        """Return the items whose numbers and documents *statement* selects, by number."""
        documents = dict(self._database.rows(statement, values))
        rows = self._database.rows(SELECT_DATA, {"items": list(documents)})
        data = {digest: base64.b64encode(found).decode() for digest, found in rows}
        return {number: self._item(number, document, data) for number, document in documents.items()}

    def _results(self, found: Iterable[tuple[MemoryItem, float | None]], reader: Scope | None) -> list[SearchResult]:
        results = [SearchResult(item, str(item.metadata.get("node", "")), score) for item, score in found]
        return relay(results, reader) if self._shared else results

    def _item(self, number: int, document: str, data: Mapping[str, str]) -> MemoryItem:
        try:
            item = MemoryItem.model_validate({"id": f"item_{number}", **json.loads(document)})
        except (ValueError, TypeError) as error:
            raise MemoryStoreError(f"{self._database.name}: item {number} cannot be read: {error}") from error
        snapshots = {"input_snapshot": item.input_snapshot, "output_snapshot": item.output_snapshot}
        return item.model_copy(update={key: each.with_data(data) for key, each in snapshots.items() if each})


def _insert(db: Transaction, owner: str, item: MemoryItem, max_items: int, digest: str | None = None) -> bool:
    """Insert an item with its media data, and evict the oldest; False if the owner has it already."""
    without_data = {"attachments": {"__all__": {"data"}}}  # which is stored apart
    excluded = {"id": True, "input_snapshot": without_data, "output_snapshot": without_data}
    document = item.model_dump(exclude=excluded, exclude_defaults=True)
    row = {
        "owner": owner,
        "digest": digest,
        "summary": item.content_summary,
        "terms": " ".join(extract_terms(item.content_summary)),
        "document": json.dumps(document),  # as ASCII, which can hold half of a surrogate pair
    }
    if digest and db.row(SELECT_SAME, row):
        return False
    db.execute(INSERT_OWNER, row)
    number = db.execute(INSERT_ITEM, row).lastrowid
    snapshots = [each for each in (item.input_snapshot, item.output_snapshot) if each]
    media = {part.sha256: part.data for each in snapshots for part in each.attachments if part.data}
    for sha256, data in media.items():
        db.execute(INSERT_DATA, {"sha256": sha256, "bytes": base64.b64decode(data)})
        db.execute(INSERT_ITEM_MEDIA, {"item": number, "sha256": sha256})
    _delete(db, db.rows(SELECT_EXCESS, {"owner": owner, "count": max_items}))
    return True


def _chatdev_items(database: Path | None) -> list[MemoryItem]:
    """Return the items of the JSON file of ChatDev that *database* is next to, the oldest first; none without one.

    Raises:
        MemoryStoreError: If it is not a memory of ChatDev.
    """
    source = database.with_suffix("") if database and database.suffix == IMPORT_SUFFIX else None
    if source is None or not is_json_file(source):
        return []
    try:
        found = read_chatdev_items(ExportDocument(str(source), source.read_bytes()))
    except (EditError, OSError) as error:
        raise MemoryStoreError(f"{error}. It was left unchanged; set another memory_path") from error
    return [
        MemoryItem(
            id="",
            content_summary=mask(item.content),
            input_snapshot=take_snapshot(item.input or None),
            output_snapshot=take_snapshot(item.output or item.content),
            metadata={"node": item.role},
            timestamp=timestamp(item.at or datetime.now(UTC), "microseconds"),
        )
        for item in found
    ]


def _delete_user(db: Transaction, user_id: str) -> None:
    _delete(db, [(item, summary) for item, summary, _ in db.rows(SELECT_USERS, {"user_id": user_id})])
    db.execute(DELETE_OWNER, {"user_id": user_id})


def _delete(db: Transaction, items: Sequence[tuple[Any, ...]]) -> None:
    """Delete items, given by number and summary, their vectors, and the media data that no other item has."""
    if items:
        # if another item has the text as well, it is embedded again
        VECTOR_TABLE.delete(db, [digest_of(summary) for _, summary in items])
        db.execute(DELETE_ITEM, [{"item": number} for number, _ in items])
        db.execute(DELETE_UNUSED_DATA)
