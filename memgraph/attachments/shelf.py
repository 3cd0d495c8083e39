"""Items in SQLite, in the order they came, each user's apart: what `simple` and `blackboard` are made of."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memgraph.attachments import shelf_sql as sql
from memgraph.attachments.item import MemoryItem, Snapshot
from memgraph.errors import MemoryStoreError

if TYPE_CHECKING:
    import sqlite3

    from pydantic import JsonValue

    from memgraph.attachments.database import MemoryDatabase


class Draft(NamedTuple):
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


class Shelf:
    """Items by owner, numbered in the order they came. Any number of threads and processes may write.

    The data of attachments is kept once for each content, whoever sent it, and goes with the last item that has it.

    Args:
        database: With the tables of `shelf_sql`.
        keep: How many items an owner may have; the oldest go.
    """

    def __init__(self, database: MemoryDatabase, *, keep: int) -> None:
        self._database = database
        self._keep = keep

    def add(self, owner: str, draft: Draft) -> int | None:
        """Add an item, durably, and return its number; None where the owner has the same one.

        It costs the same however many there are: the owner's count is kept, and only what has to go is looked for.

        Raises:
            MemoryStoreError: If it cannot be written.
        """
        attached = _data_of(draft)
        row = (draft.digest, draft.summary, " ".join(draft.terms), _document(draft))
        with self._database.writing() as db:
            if draft.digest and db.execute(sql.SELECT_SAME, (owner, draft.digest)).fetchone():
                return None
            number, count = db.execute(sql.COUNT_ITEM, (owner,)).fetchone()
            item = db.execute(sql.INSERT_ITEM, (number, *row)).lastrowid
            assert item is not None  # noqa: S101 - it was inserted
            for digest, data in attached.items():
                db.execute(sql.INSERT_DATA, (digest, base64.b64decode(data)))
                db.execute(sql.INSERT_HELD, (item, digest))
            if count > self._keep:
                _trim(db, number, count - self._keep)
        return item

    def latest(self, owner: str, count: int) -> list[MemoryItem]:
        """Return the last *count* items, the oldest of them first."""
        rows = self._rows(sql.SELECT_LATEST, (owner, count))
        return [self._item(*row) for row in reversed(rows)]

    def items(self, numbers: Iterable[int]) -> dict[int, MemoryItem]:
        """Return items by their numbers, less those that are gone."""
        rows = self._rows(sql.SELECT_ITEMS, (json.dumps(list(numbers)),))
        return {row[0]: self._item(*row) for row in rows}

    def terms(self, numbers: Iterable[int]) -> dict[int, list[str]]:
        """Return terms by the numbers of their items, less those that are gone."""
        return {number: found.split() for number, found in self._rows(sql.SELECT_TERMS, (json.dumps(list(numbers)),))}

    def oldest(self, owner: str) -> int | None:
        """Return the number of the oldest item; None where there is none."""
        rows = self._rows(sql.SELECT_OLDEST, (owner,))
        return rows[0][0] if rows else None

    def check(self) -> None:
        """Open the file.

        Raises:
            MemoryStoreError: If it is not of this kind, or damaged. It is left as it is.
        """
        self._rows(sql.CHECK, ())

    def _rows(self, statement: str, given: Sequence[object]) -> list[tuple[int, str]]:
        with self._database.reading() as db:
            return db.execute(statement, given).fetchall() if db else []

    def _item(self, number: int, document: str) -> MemoryItem:
        try:
            item = MemoryItem.model_validate({"id": f"item_{number}", **json.loads(document)})
        except (ValueError, TypeError) as error:
            raise MemoryStoreError(f"{self._database.name}: item {number} cannot be read: {error}") from error
        return self._with_data(item, number) if _is_holding(item) else item

    def _with_data(self, item: MemoryItem, number: int) -> MemoryItem:
        with self._database.reading() as db:
            rows = db.execute(sql.SELECT_DATA, (number,)).fetchall() if db else []
        data = {digest: base64.b64encode(found).decode() for digest, found in rows}
        return item.model_copy(
            update={
                "input_snapshot": _filled(item.input_snapshot, data),
                "output_snapshot": _filled(item.output_snapshot, data),
            }
        )


def _trim(db: sqlite3.Connection, owner: int, excess: int) -> None:
    """Let the oldest *excess* items of *owner* go, and the data that nothing else holds."""
    going = json.dumps([row[0] for row in db.execute(sql.SELECT_FIRST, (owner, excess))])
    held = [row[0] for row in db.execute(sql.SELECT_HELD, (going,))]
    db.execute(sql.DELETE_ITEMS, (going,))
    db.execute(sql.UNCOUNT, (excess, owner))
    if held:
        db.execute(sql.DELETE_UNHELD, (json.dumps(held),))


def _document(draft: Draft) -> str:
    """Write what has no column of its own, less data. As ASCII, which holds half of a surrogate pair too."""
    without = {"attachments": {"__all__": {"data"}}}
    snapshots = {"input_snapshot": draft.input, "output_snapshot": draft.output}
    dumped = {name: snapshot.model_dump(exclude=without) for name, snapshot in snapshots.items() if snapshot}
    return json.dumps(
        {"content_summary": draft.summary, "metadata": dict(draft.metadata), "timestamp": draft.timestamp, **dumped}
    )


def _data_of(draft: Draft) -> dict[str, str]:
    snapshots = (snapshot for snapshot in (draft.input, draft.output) if snapshot)
    return {part.sha256: part.data for snapshot in snapshots for part in snapshot.attachments if part.data}


def _is_holding(item: MemoryItem) -> bool:
    snapshots = (snapshot for snapshot in (item.input_snapshot, item.output_snapshot) if snapshot)
    return any(part.sha256 for snapshot in snapshots for part in snapshot.attachments)


def _filled(snapshot: Snapshot | None, data: Mapping[str, str]) -> Snapshot | None:
    if snapshot is None:
        return None
    parts = (part.model_copy(update={"data": data.get(part.sha256, "")}) for part in snapshot.attachments)
    return snapshot.model_copy(update={"attachments": tuple(parts)})
