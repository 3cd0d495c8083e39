"""Storage of items in SQLite: the tables and their queries."""

# ruff: noqa: S608 - statements are built from the constants in this file

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memgraph.attachments.item import MemoryItem, Snapshot
from memgraph.errors import MemoryStoreError
from memgraph.storage.traces import texts_in
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    import sqlite3

    from pydantic import JsonValue

    from memgraph.attachments.database import MemoryDatabase


# AUTOINCREMENT: numbers are never reused, so that a reader of one number has read all smaller ones.
ITEMS = """
    CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,  -- '' is the shared owner
        items INTEGER NOT NULL
    );
    CREATE TABLE item (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (id),
        digest TEXT,
        summary TEXT NOT NULL,
        terms TEXT NOT NULL,  -- of the summary, separated by spaces; a new tokenizer needs a migration
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

# the sequence of numbers stays when all items are deleted
SELECT_EVER = "SELECT seq, '' FROM sqlite_sequence WHERE name = 'item'"
CHECK = "SELECT count(*), '' FROM (SELECT 1 FROM item LIMIT 1)"

SELECT_SAME = "SELECT 1 FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) AND digest = ?"
INCREMENT_OWNER = """
    INSERT INTO owner (name, items) VALUES (?, 1)
    ON CONFLICT (name) DO UPDATE SET items = items + 1 RETURNING id, items
"""
INSERT_ITEM = "INSERT INTO item (owner, digest, summary, terms, document) VALUES (?, ?, ?, ?, ?)"
INSERT_DATA = "INSERT INTO data (sha256, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING"
INSERT_ITEM_MEDIA = "INSERT INTO held (item, sha256) VALUES (?, ?)"

_VALUES = "(SELECT value FROM json_each(?))"

SELECT_FIRST = "SELECT id FROM item WHERE owner = ? ORDER BY id LIMIT ?"
SELECT_ITEM_MEDIA = f"SELECT DISTINCT sha256 FROM held WHERE item IN {_VALUES}"
DELETE_ITEMS = f"DELETE FROM item WHERE id IN {_VALUES}"
DECREMENT_OWNER = "UPDATE owner SET items = items - ? WHERE id = ?"
# a user's own items, and those of a shared memory that were written for the user; %s is one of the columns
_SELECT_USERS = """
    SELECT item.id, owner, %s FROM item JOIN owner ON owner.id = owner WHERE name = :user_id
    OR (name = '' AND json_extract(document, '$.metadata.user_id') = :author) ORDER BY item.id
"""
SELECT_USERS_DOCUMENTS = _SELECT_USERS % "document"
SELECT_USERS_ITEMS = _SELECT_USERS % "''"
DELETE_OWNER = "DELETE FROM owner WHERE name = :user_id"
DELETE_UNUSED_DATA = f"""
    DELETE FROM data WHERE sha256 IN {_VALUES}
    AND NOT EXISTS (SELECT 1 FROM held WHERE held.sha256 = data.sha256)
"""

SELECT_LATEST = """
    SELECT id, document FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) ORDER BY id DESC LIMIT ?
"""
SELECT_ITEMS = f"SELECT id, document FROM item WHERE id IN {_VALUES}"
SELECT_TERMS = f"SELECT id, terms FROM item WHERE id IN {_VALUES}"
SELECT_DATA = "SELECT sha256, bytes FROM held JOIN data USING (sha256) WHERE item = ?"
SELECT_OLDEST = """
    SELECT id, '' FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) ORDER BY id LIMIT 1
"""


class NewItem(NamedTuple):
    """An item to add."""

    summary: str
    input: Snapshot | None
    output: Snapshot | None
    metadata: Mapping[str, JsonValue]
    timestamp: str
    digest: str | None = None
    """Hash of the content, to store it once for each owner; None stores duplicates."""
    terms: Sequence[str] = ()
    """Terms of the summary, for lexical search."""


class ItemStore:
    """Items by owner, numbered in the order of insertion. Any number of threads and processes may write.

    Media data is stored once for each content, for all owners, and deleted with the last item that has it.

    Args:
        database: A database with the tables of `ITEMS`.
        max_items: Maximum number of items for each owner; the oldest are evicted.
    """

    def __init__(self, database: MemoryDatabase, *, max_items: int) -> None:
        self._database = database
        self._max_items = max_items

    def add(self, owner: str, new: NewItem) -> int | None:
        """Add an item durably, and return its number; None if the owner has an equal one.

        The cost does not grow with the number of items: each owner's count is stored, and only evicted rows are read.

        Raises:
            MemoryStoreError: If it cannot be written.
        """
        with self._database.writing() as db:
            return self._insert(db, owner, new)

    def import_once(self, owner: str, read: Callable[[], Iterable[NewItem]]) -> None:
        """Add the items that *read* returns, unless the store has ever had any: all of them, or none.

        Raises:
            MemoryStoreError: If they cannot be written.
        """
        if self._rows(SELECT_EVER, ()):
            return
        items = list(read())
        with self._database.writing() as db:
            if not db.execute(SELECT_EVER).fetchone():
                for item in items:
                    self._insert(db, owner, item)

    def _insert(self, db: sqlite3.Connection, owner: str, new: NewItem) -> int | None:
        if new.digest and db.execute(SELECT_SAME, (owner, new.digest)).fetchone():
            return None
        number, count = db.execute(INCREMENT_OWNER, (owner,)).fetchone()
        row = (new.digest, new.summary, " ".join(new.terms), _document(new))
        item = db.execute(INSERT_ITEM, (number, *row)).lastrowid
        assert item is not None  # noqa: S101 - it was inserted
        for digest, data in _media_data(new).items():
            db.execute(INSERT_DATA, (digest, base64.b64decode(data)))
            db.execute(INSERT_ITEM_MEDIA, (item, digest))
        if count > self._max_items:
            _evict(db, number, count - self._max_items)
        return item

    def latest(self, owner: str, count: int) -> list[MemoryItem]:
        """Return the latest *count* items, oldest first."""
        rows = self._rows(SELECT_LATEST, (owner, count))
        return [self._item(*row) for row in reversed(rows)]

    def items(self, numbers: Iterable[int]) -> dict[int, MemoryItem]:
        """Return items by their numbers; deleted ones are missing."""
        rows = self._rows(SELECT_ITEMS, (json.dumps(list(numbers)),))
        return {row[0]: self._item(*row) for row in rows}

    def terms(self, numbers: Iterable[int]) -> dict[int, list[str]]:
        """Return the terms of items by their numbers; deleted ones are missing."""
        return {number: found.split() for number, found in self._rows(SELECT_TERMS, (json.dumps(list(numbers)),))}

    def oldest(self, owner: str) -> int | None:
        """Return the number of the oldest item, or None."""
        rows = self._rows(SELECT_OLDEST, (owner,))
        return rows[0][0] if rows else None

    def texts_of(self, user_id: str) -> list[list[str]]:
        """Return the texts of each item of a user, also of those written for the user in a shared memory."""
        with self._database.reading() as db:
            rows = db.execute(SELECT_USERS_DOCUMENTS, _user(user_id)).fetchall() if db else []
        return [texts_in(json.loads(document)) for _, _, document in rows]

    def delete_user(self, user_id: str) -> None:
        """Delete the items whose texts `texts_of` returns, with their media data and vectors, also from the log.

        Raises:
            MemoryStoreError: If they cannot be deleted.
        """
        if not self._database.exists():
            return
        with self._database.writing() as db:
            items: dict[int, list[int]] = {}
            for item, owner, _ in db.execute(SELECT_USERS_ITEMS, _user(user_id)).fetchall():
                items.setdefault(owner, []).append(item)
            for owner, numbers in items.items():
                _delete(db, owner, numbers)
            db.execute(DELETE_OWNER, _user(user_id))
        self._database.truncate_log()

    def check(self) -> None:
        """Open the file and read from it.

        Raises:
            MemoryStoreError: If it is of another type, or damaged. It is left unchanged.
        """
        self._rows(CHECK, ())

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[int, str]]:
        with self._database.reading() as db:
            return db.execute(statement, values).fetchall() if db else []

    def _item(self, number: int, document: str) -> MemoryItem:
        try:
            item = MemoryItem.model_validate({"id": f"item_{number}", **json.loads(document)})
        except (ValueError, TypeError) as error:
            raise MemoryStoreError(f"{self._database.name}: item {number} cannot be read: {error}") from error
        return self._with_data(item, number) if _has_media(item) else item

    def _with_data(self, item: MemoryItem, number: int) -> MemoryItem:
        with self._database.reading() as db:
            rows = db.execute(SELECT_DATA, (number,)).fetchall() if db else []
        data = {digest: base64.b64encode(found).decode() for digest, found in rows}
        return item.model_copy(
            update={
                "input_snapshot": _with_media(item.input_snapshot, data),
                "output_snapshot": _with_media(item.output_snapshot, data),
            }
        )


def _evict(db: sqlite3.Connection, owner: int, excess: int) -> None:
    """Delete the oldest *excess* items of *owner*."""
    _delete(db, owner, [row[0] for row in db.execute(SELECT_FIRST, (owner, excess))])


def _delete(db: sqlite3.Connection, owner: int, items: Sequence[int]) -> None:
    """Delete *items* of *owner*, and the media data that no other item has."""
    numbers = json.dumps(items)
    digests = [row[0] for row in db.execute(SELECT_ITEM_MEDIA, (numbers,))]
    db.execute(DELETE_ITEMS, (numbers,))
    db.execute(DECREMENT_OWNER, (len(items), owner))
    if digests:
        db.execute(DELETE_UNUSED_DATA, (json.dumps(digests),))


def _user(user_id: str) -> dict[str, str]:
    return {"user_id": user_id, "author": clean(user_id)}


def _document(new: NewItem) -> str:
    """Serialize what has no column, without media data. As ASCII, which can hold half of a surrogate pair."""
    without = {"attachments": {"__all__": {"data"}}}
    snapshots = {"input_snapshot": new.input, "output_snapshot": new.output}
    dumped = {name: snapshot.model_dump(exclude=without) for name, snapshot in snapshots.items() if snapshot}
    return json.dumps(
        {"content_summary": new.summary, "metadata": dict(new.metadata), "timestamp": new.timestamp, **dumped}
    )


def _media_data(new: NewItem) -> dict[str, str]:
    snapshots = (snapshot for snapshot in (new.input, new.output) if snapshot)
    return {part.sha256: part.data for snapshot in snapshots for part in snapshot.attachments if part.data}


def _has_media(item: MemoryItem) -> bool:
    snapshots = (snapshot for snapshot in (item.input_snapshot, item.output_snapshot) if snapshot)
    return any(part.sha256 for snapshot in snapshots for part in snapshot.attachments)


def _with_media(snapshot: Snapshot | None, data: Mapping[str, str]) -> Snapshot | None:
    if snapshot is None:
        return None
    parts = (part.model_copy(update={"data": data.get(part.sha256, "")}) for part in snapshot.attachments)
    return snapshot.model_copy(update={"attachments": tuple(parts)})
