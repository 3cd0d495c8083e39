"""Items on disk: the tables, and what is read from and written to them."""

# ruff: noqa: S608 - statements are built from the constants in this file

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memgraph.attachments.item import MemoryItem, Snapshot
from memgraph.errors import MemoryStoreError

if TYPE_CHECKING:
    import sqlite3

    from pydantic import JsonValue

    from memgraph.attachments.database import MemoryDatabase


# AUTOINCREMENT: a number is never used again, so that who has seen one has seen all before it.
ITEMS = """
    CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,  -- '' is nobody in particular
        items INTEGER NOT NULL
    );
    CREATE TABLE item (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (id),
        digest TEXT,
        summary TEXT NOT NULL,
        terms TEXT NOT NULL,  -- of the summary, with blanks between them; a change of `terms` has to write them anew
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

CHECK = "SELECT count(*), '' FROM (SELECT 1 FROM item LIMIT 1)"

SELECT_SAME = "SELECT 1 FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) AND digest = ?"
INCREMENT_OWNER = """
    INSERT INTO owner (name, items) VALUES (?, 1)
    ON CONFLICT (name) DO UPDATE SET items = items + 1 RETURNING id, items
"""
INSERT_ITEM = "INSERT INTO item (owner, digest, summary, terms, document) VALUES (?, ?, ?, ?, ?)"
INSERT_DATA = "INSERT INTO data (sha256, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING"
INSERT_HELD = "INSERT INTO held (item, sha256) VALUES (?, ?)"

_GIVEN = "(SELECT value FROM json_each(?))"

SELECT_FIRST = "SELECT id FROM item WHERE owner = ? ORDER BY id LIMIT ?"
SELECT_HELD = f"SELECT DISTINCT sha256 FROM held WHERE item IN {_GIVEN}"
DELETE_ITEMS = f"DELETE FROM item WHERE id IN {_GIVEN}"
DECREMENT_OWNER = "UPDATE owner SET items = items - ? WHERE id = ?"
DELETE_UNHELD = f"""
    DELETE FROM data WHERE sha256 IN {_GIVEN}
    AND NOT EXISTS (SELECT 1 FROM held WHERE held.sha256 = data.sha256)
"""

SELECT_LATEST = """
    SELECT id, document FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) ORDER BY id DESC LIMIT ?
"""
SELECT_ITEMS = f"SELECT id, document FROM item WHERE id IN {_GIVEN}"
SELECT_TERMS = f"SELECT id, terms FROM item WHERE id IN {_GIVEN}"
SELECT_DATA = "SELECT sha256, bytes FROM held JOIN data USING (sha256) WHERE item = ?"
SELECT_OLDEST = """
    SELECT id, '' FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) ORDER BY id LIMIT 1
"""


class NewItem(NamedTuple):
    """An item to be."""

    summary: str
    input: Snapshot | None
    output: Snapshot | None
    metadata: Mapping[str, JsonValue]
    timestamp: str
    digest: str | None = None
    """Of its content: an owner has it once. None is kept however often it comes."""
    terms: Sequence[str] = ()
    """Of the summary, for those who look for words."""


class ItemStore:
    """Items by owner, numbered in the order they came. Any number of threads and processes may write.

    The data of attachments is kept once for each content, whoever sent it, and goes with the last item that has it.

    Args:
        database: With the tables of `shelf_sql`.
        keep: How many items an owner may have; the oldest go.
    """

    def __init__(self, database: MemoryDatabase, *, keep: int) -> None:
        self._database = database
        self._keep = keep

    def add(self, owner: str, draft: NewItem) -> int | None:
        """Add an item, durably, and return its number; None where the owner has the same one.

        It costs the same however many there are: the owner's count is kept, and only what has to go is looked for.

        Raises:
            MemoryStoreError: If it cannot be written.
        """
        attached = _data_of(draft)
        row = (draft.digest, draft.summary, " ".join(draft.terms), _document(draft))
        with self._database.writing() as db:
            if draft.digest and db.execute(SELECT_SAME, (owner, draft.digest)).fetchone():
                return None
            number, count = db.execute(INCREMENT_OWNER, (owner,)).fetchone()
            item = db.execute(INSERT_ITEM, (number, *row)).lastrowid
            assert item is not None  # noqa: S101 - it was inserted
            for digest, data in attached.items():
                db.execute(INSERT_DATA, (digest, base64.b64decode(data)))
                db.execute(INSERT_HELD, (item, digest))
            if count > self._keep:
                _trim(db, number, count - self._keep)
        return item

    def latest(self, owner: str, count: int) -> list[MemoryItem]:
        """Return the last *count* items, the oldest of them first."""
        rows = self._rows(SELECT_LATEST, (owner, count))
        return [self._item(*row) for row in reversed(rows)]

    def items(self, numbers: Iterable[int]) -> dict[int, MemoryItem]:
        """Return items by their numbers, less those that are gone."""
        rows = self._rows(SELECT_ITEMS, (json.dumps(list(numbers)),))
        return {row[0]: self._item(*row) for row in rows}

    def terms(self, numbers: Iterable[int]) -> dict[int, list[str]]:
        """Return terms by the numbers of their items, less those that are gone."""
        return {number: found.split() for number, found in self._rows(SELECT_TERMS, (json.dumps(list(numbers)),))}

    def oldest(self, owner: str) -> int | None:
        """Return the number of the oldest item; None where there is none."""
        rows = self._rows(SELECT_OLDEST, (owner,))
        return rows[0][0] if rows else None

    def check(self) -> None:
        """Open the file.

        Raises:
            MemoryStoreError: If it is not of this kind, or damaged. It is left as it is.
        """
        self._rows(CHECK, ())

    def _rows(self, statement: str, given: Sequence[object]) -> list[tuple[int, str]]:
        with self._database.reading() as db:
            return db.execute(statement, given).fetchall() if db else []

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


def _trim(db: sqlite3.Connection, owner: int, excess: int) -> None:
    """Let the oldest *excess* items of *owner* go, and the data that nothing else holds."""
    going = json.dumps([row[0] for row in db.execute(SELECT_FIRST, (owner, excess))])
    held = [row[0] for row in db.execute(SELECT_HELD, (going,))]
    db.execute(DELETE_ITEMS, (going,))
    db.execute(DECREMENT_OWNER, (excess, owner))
    if held:
        db.execute(DELETE_UNHELD, (json.dumps(held),))


def _document(draft: NewItem) -> str:
    """Write what has no column of its own, less data. As ASCII, which holds half of a surrogate pair too."""
    without = {"attachments": {"__all__": {"data"}}}
    snapshots = {"input_snapshot": draft.input, "output_snapshot": draft.output}
    dumped = {name: snapshot.model_dump(exclude=without) for name, snapshot in snapshots.items() if snapshot}
    return json.dumps(
        {"content_summary": draft.summary, "metadata": dict(draft.metadata), "timestamp": draft.timestamp, **dumped}
    )


def _data_of(draft: NewItem) -> dict[str, str]:
    snapshots = (snapshot for snapshot in (draft.input, draft.output) if snapshot)
    return {part.sha256: part.data for snapshot in snapshots for part in snapshot.attachments if part.data}


def _has_media(item: MemoryItem) -> bool:
    snapshots = (snapshot for snapshot in (item.input_snapshot, item.output_snapshot) if snapshot)
    return any(part.sha256 for snapshot in snapshots for part in snapshot.attachments)


def _with_media(snapshot: Snapshot | None, data: Mapping[str, str]) -> Snapshot | None:
    if snapshot is None:
        return None
    parts = (part.model_copy(update={"data": data.get(part.sha256, "")}) for part in snapshot.attachments)
    return snapshot.model_copy(update={"attachments": tuple(parts)})
