"""Creates the tables and brings them up to date: one writer at a time, all migrations or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgraph.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

LOCK = 0x6D656D6772617068
"""The advisory lock of those who change tables: "memgraph" in ASCII."""

FIND_VERSIONS = "SELECT to_regclass('memgraph_schema') IS NOT NULL"
SELECT_VERSION = "SELECT version FROM memgraph_schema WHERE part = %s"
CREATE_VERSIONS = """
    CREATE TABLE IF NOT EXISTS memgraph_schema (
        part text PRIMARY KEY,  -- each part of memgraph has tables of its own
        version integer NOT NULL  -- how many of its migrations were done
    )
"""
NOTE_VERSION = """
    INSERT INTO memgraph_schema (part, version) VALUES (%s, %s)
    ON CONFLICT (part) DO UPDATE SET version = excluded.version
"""


def set_up(db: Connection[tuple[Any, ...]], part: str, migrations: Sequence[str]) -> None:
    """Do those of *migrations* that were not done yet: all of them, or none.

    Args:
        db: A connection in autocommit mode.
        part: Whose tables.
        migrations: Statements, in order. One that was released is never changed; the next change is a new one.

    Raises:
        StorageError: If a later memgraph was here, or the database cannot hold every text.
    """
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StorageError(f"the database is kept in {encoding}, which cannot hold every text; make one in UTF8")
    found = db.execute(FIND_VERSIONS).fetchone()
    if found and found[0] and _version(db, part) == len(migrations):
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        db.execute(CREATE_VERSIONS)  # also makes the server look again: it remembers that there was no such table
        done = _version(db, part)
        if done > len(migrations):
            raise StorageError(
                f"its tables are of version {done} and this memgraph knows {len(migrations)}: upgrade memgraph"
            )
        for statement in migrations[done:]:
            db.execute(statement.encode())
        db.execute(NOTE_VERSION, (part, len(migrations)))


def _version(db: Connection[tuple[Any, ...]], part: str) -> int:
    row = db.execute(SELECT_VERSION, (part,)).fetchone()
    return row[0] if row else 0
