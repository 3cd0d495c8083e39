"""Memories of items in SQLite: the one table of items, and its queries."""

# ruff: noqa: S608 - statements are built from the constants in this file

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from memgraph._sqlite import transaction
from memgraph.attachments.database import (
    INSERT_MODEL,
    REPLACE_VECTOR,
    VECTORS,
    MemoryDatabase,
    delete_vectors,
)
from memgraph.attachments.item import MemoryItem, Snapshot, format_timestamp, item_source
from memgraph.attachments.store import MemoryStore, SearchResult, relay
from memgraph.errors import MemoryStoreError
from memgraph.retrieval.vector_store import digest_of
from memgraph.storage.traces import texts_in
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from memgraph.attachments.store import Interaction
    from memgraph.models import Scope
    from memgraph.storage.traces import TraceCount

Clock = Callable[[], datetime]

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

OLD_VECTORS = """
    CREATE TABLE model (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        probe BLOB NOT NULL
    );
    CREATE TABLE vector (
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        model INTEGER NOT NULL REFERENCES model (id),
        numbers BLOB NOT NULL,
        PRIMARY KEY (item, model)
    )
"""
"""The vectors of release 0.2, by item and not by text."""
MIGRATIONS = (ITEMS, OLD_VECTORS, VECTORS)

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
DELETE_ITEMS = f"DELETE FROM item WHERE id IN {_VALUES} RETURNING summary"
DECREMENT_OWNER = "UPDATE owner SET items = items - ? WHERE id = ?"
# a user's own items, and those of a shared memory that were written for the user
SELECT_USERS = """
    SELECT item.id, owner, document FROM item JOIN owner ON owner.id = owner WHERE name = :user_id
    OR (name = '' AND json_extract(document, '$.metadata.user_id') = :author) ORDER BY item.id
"""
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
COUNT_ITEMS = "SELECT items FROM owner WHERE name = ?"
SELECT_SINCE = """
    SELECT id, summary, terms FROM item WHERE owner = (SELECT id FROM owner WHERE name = ?) AND id > ? ORDER BY id
"""
SELECT_OLD_VECTORS = """
    SELECT summary, name, probe, numbers FROM vector JOIN item ON item.id = item JOIN model ON model.id = model
    ORDER BY model.id DESC
"""


class ItemText(NamedTuple):
    """The text of an item, and its terms, separated by spaces."""

    number: int
    summary: str
    terms: str


class ItemMemory(MemoryStore):
    """A memory of items by owner, numbered in the order of insertion. Any number of threads and processes may write.

    Media data is stored once for each content, for all owners, and deleted with the last item that has it.

    Args:
        name: Name in the configuration.
        path: The file; None is RAM.
        kind: Number of the memory type, kept in the file's application_id.
        what: Name of the memory type in error messages.
        max_items: Maximum number of items for each owner; the oldest are evicted.
        shared: Whether all users share the items.
        now: Returns the current time.
    """

    def __init__(
        self, name: str, *, path: Path | None, kind: int, what: str, max_items: int, shared: bool, now: Clock
    ) -> None:
        self.name = name
        self._database = MemoryDatabase(path, migrations=MIGRATIONS, kind=kind, what=what, upgrade=_move_vectors)
        self._max_items = max_items
        self._shared = shared
        self._now = now

    def load(self) -> None:
        """Open the file and read from it.

        Raises:
            MemoryStoreError: If it is of another type, or damaged. It is left unchanged.
        """
        self._rows(CHECK, ())

    def texts_of(self, user_id: str) -> list[list[str]]:
        return [texts_in(json.loads(document)) for _, _, document in self._rows(SELECT_USERS, _user(user_id))]

    def delete_user(self, user_id: str) -> None:
        """Delete the items whose texts `texts_of` returns, with their media data and vectors, also from the log."""
        if not self._database.exists():
            return
        with self._database.writing() as db:
            items: dict[int, list[int]] = {}
            for item, owner, _ in db.execute(SELECT_USERS, _user(user_id)).fetchall():
                items.setdefault(owner, []).append(item)
            for owner, numbers in items.items():
                _delete(db, owner, numbers)
            db.execute(DELETE_OWNER, _user(user_id))
        self._database.truncate_log()

    def find_traces(self, fragments: Collection[str]) -> TraceCount:
        return self._database.find_traces(fragments)

    def close(self) -> None:
        self._database.close()

    def since(self, owner: str, number: int) -> tuple[int, list[ItemText]]:
        """Return how many items the owner has, and those after *number*."""
        count = self._rows(COUNT_ITEMS, (owner,))
        return (count[0][0] if count else 0), [ItemText(*row) for row in self._rows(SELECT_SINCE, (owner, number))]

    def terms(self, numbers: Iterable[int]) -> dict[int, list[str]]:
        """Return the terms of items by their numbers; deleted ones are missing."""
        return {number: found.split() for number, found in self._rows(SELECT_TERMS, (json.dumps(list(numbers)),))}

    def _add(
        self,
        exchange: Interaction,
        summary: str,
        *,
        snapshots: Mapping[str, Snapshot],
        digest: str | None = None,
        terms: Sequence[str] = (),
    ) -> bool:
        """Add an item durably, and return whether it is new.

        The cost does not grow with the number of items: each owner's count is stored, and only evicted rows are read.

        Args:
            exchange: Has the owner and the metadata.
            summary: The text that prompts show.
            snapshots: The item's `input_snapshot` and `output_snapshot`.
            digest: Hash of the content, to store it once for each owner; None stores duplicates.
            terms: Terms of the summary, for lexical search.

        Raises:
            MemoryStoreError: If it cannot be written.
        """
        owner = self._owner(exchange.scope)
        document = {
            "content_summary": summary,
            "metadata": dict(exchange.metadata_of(shared=self._shared)),
            "timestamp": format_timestamp(self._now()),
            # media data is stored apart
            **{key: each.model_dump(exclude={"attachments": {"__all__": {"data"}}}) for key, each in snapshots.items()},
        }
        # as ASCII, which can hold half of a surrogate pair
        row = (digest, summary, " ".join(terms), json.dumps(document))
        media = {part.sha256: part.data for each in snapshots.values() for part in each.attachments if part.data}
        with self._database.writing() as db:
            if digest and db.execute(SELECT_SAME, (owner, digest)).fetchone():
                return False
            number, count = db.execute(INCREMENT_OWNER, (owner,)).fetchone()
            item = db.execute(INSERT_ITEM, (number, *row)).lastrowid
            for sha256, data in media.items():
                db.execute(INSERT_DATA, (sha256, base64.b64decode(data)))
                db.execute(INSERT_ITEM_MEDIA, (item, sha256))
            if count > self._max_items:
                oldest = db.execute(SELECT_FIRST, (number, count - self._max_items)).fetchall()
                _delete(db, number, [each[0] for each in oldest])
        return True

    def _owner(self, scope: Scope | None) -> str:
        """Return the owner of items: the user, or "" if the user is unknown or all users share the memory."""
        return scope.user_id if scope and not self._shared else ""

    def _latest(self, owner: str, count: int) -> list[MemoryItem]:
        """Return the latest *count* items, oldest first."""
        rows = self._rows(SELECT_LATEST, (owner, count))
        return [self._item(*row) for row in reversed(rows)]

    def _items(self, numbers: Iterable[int]) -> dict[int, MemoryItem]:
        """Return items by their numbers; deleted ones are missing."""
        rows = self._rows(SELECT_ITEMS, (json.dumps(list(numbers)),))
        return {row[0]: self._item(*row) for row in rows}

    def _results(self, found: Iterable[tuple[MemoryItem, float | None]], reader: Scope | None) -> list[SearchResult]:
        results = [SearchResult(item, item_source(item), score) for item, score in found]
        return relay(results, reader) if self._shared else results

    def _rows(self, statement: str, values: Sequence[object] | Mapping[str, str]) -> list[tuple[Any, ...]]:
        with self._database.reading() as db:
            return db.execute(statement, values).fetchall() if db else []

    def _item(self, number: int, document: str) -> MemoryItem:
        try:
            item = MemoryItem.model_validate({"id": f"item_{number}", **json.loads(document)})
        except (ValueError, TypeError) as error:
            raise MemoryStoreError(f"{self._database.name}: item {number} cannot be read: {error}") from error
        snapshots = {"input_snapshot": item.input_snapshot, "output_snapshot": item.output_snapshot}
        with_media = {key: each for key, each in snapshots.items() if each and any(p.sha256 for p in each.attachments)}
        if not with_media:
            return item
        data = {digest: base64.b64encode(found).decode() for digest, found in self._rows(SELECT_DATA, (number,))}
        return item.model_copy(update={key: _with_media(each, data) for key, each in with_media.items()})


def _delete(db: sqlite3.Connection, owner: int, items: Sequence[int]) -> None:
    """Delete *items* of *owner*, their vectors, and the media data that no other item has."""
    numbers = json.dumps(items)
    digests = [row[0] for row in db.execute(SELECT_ITEM_MEDIA, (numbers,))]
    delete_vectors(db, [row[0] for row in db.execute(DELETE_ITEMS, (numbers,)).fetchall()])
    db.execute(DECREMENT_OWNER, (len(items), owner))
    if digests:
        db.execute(DELETE_UNUSED_DATA, (json.dumps(digests),))


def _move_vectors(db: sqlite3.Connection) -> None:
    """Move the vectors of release 0.2, those of the newest model."""
    rows = db.execute(SELECT_OLD_VECTORS).fetchall()
    newest = [row for row in rows if row[1:3] == rows[0][1:3]]
    with transaction(db):
        if newest:
            model = db.execute(INSERT_MODEL, newest[0][1:3]).lastrowid
            vectors = [(bytes.fromhex(digest_of(summary)), model, numbers) for summary, _, _, numbers in newest]
            db.executemany(REPLACE_VECTOR, vectors)
        db.execute("DELETE FROM vector")
        db.execute("DELETE FROM model")


def _user(user_id: str) -> dict[str, str]:
    return {"user_id": user_id, "author": clean(user_id)}


def _with_media(snapshot: Snapshot, data: Mapping[str, str]) -> Snapshot:
    parts = (part.model_copy(update={"data": data.get(part.sha256, "")}) for part in snapshot.attachments)
    return snapshot.model_copy(update={"attachments": tuple(parts)})
