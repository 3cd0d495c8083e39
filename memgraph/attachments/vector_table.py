"""The table of item vectors in SQLite, each with the model that made it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memgraph.retrieval.embeddings import Vector

if TYPE_CHECKING:
    from memgraph.attachments.database import MemoryDatabase
    from memgraph.attachments.embedding import Embedder

VECTORS = """
    CREATE TABLE model (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        probe BLOB NOT NULL  -- its vector of a fixed sentence
    );
    CREATE TABLE vector (
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        model INTEGER NOT NULL REFERENCES model (id),
        numbers BLOB NOT NULL,  -- float32, normalized
        PRIMARY KEY (item, model)
    )
"""

SELECT_MODELS = "SELECT id, name, probe FROM model ORDER BY id"
INSERT_MODEL = "INSERT INTO model (name, probe) VALUES (?, ?)"
SELECT_MISSING = """
    SELECT id, summary FROM item WHERE id > ?
    AND NOT EXISTS (SELECT 1 FROM vector WHERE item = item.id AND model = ?) ORDER BY id LIMIT ?
"""
# an item that was deleted meanwhile gets no vector
INSERT_VECTOR = """
    INSERT OR REPLACE INTO vector (item, model, numbers)
    SELECT id, :model, :numbers FROM item WHERE id = :item
"""
SELECT_OTHERS = "SELECT 1 FROM model WHERE id != ? LIMIT 1"
DELETE_OTHERS = "DELETE FROM vector WHERE model != ?"
SELECT_SINCE = """
    SELECT item.id, terms, numbers FROM item LEFT JOIN vector ON item = item.id AND model = ?
    WHERE owner = (SELECT id FROM owner WHERE name = ?) AND item.id > ? ORDER BY item.id
"""
SELECT_VECTORS = "SELECT item, numbers FROM vector WHERE model = ? AND item IN (SELECT value FROM json_each(?))"

NO_MODEL = 0


class VectorTable:
    """The vectors of items. Vectors of an old model remain until all items have one of the current model."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def find_or_add_model(self, embedder: Embedder) -> int:
        """Return the number of the embedder's model; an unknown model gets a new one.

        Raises:
            EmbeddingError: If the model does not answer.
        """
        probe = embedder.probe
        with self._database.writing() as db:
            for number, name, numbers in db.execute(SELECT_MODELS).fetchall():
                if embedder.is_same_model(name, _decode(numbers)):
                    return number
            return db.execute(INSERT_MODEL, (embedder.name, probe.tobytes())).lastrowid or NO_MODEL

    def missing(self, model: int, *, after: int, limit: int) -> list[tuple[int, str]]:
        """Return number and text of the first *limit* items after the number *after* that have no vector of *model*."""
        with self._database.reading() as db:
            return db.execute(SELECT_MISSING, (after, model, limit)).fetchall() if db else []

    def put(self, model: int, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Write the vectors of items in one transaction."""
        rows = [{"item": item, "model": model, "numbers": vector.tobytes()} for item, vector in vectors]
        with self._database.writing() as db:
            db.executemany(INSERT_VECTOR, rows)

    def delete_other_models(self, model: int) -> None:
        """Delete the vectors of all models but *model*."""
        with self._database.reading() as db:
            others = db.execute(SELECT_OTHERS, (model,)).fetchone() if db else None
        if others:
            with self._database.writing() as db:
                db.execute(DELETE_OTHERS, (model,))

    def list_since(self, model: int, owner: str, after: int) -> list[tuple[int, str, Vector | None]]:
        """Return number, terms and vector of the owner's items after the number *after*; NO_MODEL has no vectors."""
        with self._database.reading() as db:
            rows = db.execute(SELECT_SINCE, (model, owner, after)).fetchall() if db else []
        return [(item, terms, None if numbers is None else _decode(numbers)) for item, terms, numbers in rows]

    def get_many(self, model: int, items: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of those *items* that have one."""
        with self._database.reading() as db:
            rows = db.execute(SELECT_VECTORS, (model, json.dumps(items))).fetchall() if db and items else []
        return {item: _decode(numbers) for item, numbers in rows}


def _decode(numbers: bytes) -> Vector:
    return np.frombuffer(numbers, np.float32)
