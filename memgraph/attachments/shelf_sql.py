"""The tables of items, and the statements on them."""

# ruff: noqa: S608 - statements are put together from the constants in this file

from __future__ import annotations

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
COUNT_ITEM = """
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
UNCOUNT = "UPDATE owner SET items = items - ? WHERE id = ?"
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
