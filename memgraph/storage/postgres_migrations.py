"""Schema migrations in PostgreSQL: one process at a time, all of them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgraph.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

LOCK = 0x6D656D6772617068
"""The advisory lock that serializes migrations: "memgraph" in ASCII."""

HAS_VERSIONS = "SELECT to_regclass('memgraph_schema') IS NOT NULL"
SELECT_VERSION = "SELECT version FROM memgraph_schema WHERE part = %s"
CREATE_VERSIONS = """
    CREATE TABLE IF NOT EXISTS memgraph_schema (
        part text PRIMARY KEY,  -- the feature that owns the tables
        version integer NOT NULL  -- how many of its migrations have run
    )
"""
SET_VERSION = """
    INSERT INTO memgraph_schema (part, version) VALUES (%s, %s)
    ON CONFLICT (part) DO UPDATE SET version = excluded.version
"""


def migrate(db: Connection[tuple[Any, ...]], part: str, migrations: Sequence[str]) -> None:
    """Run those of *migrations* that have not run yet, in one transaction.

    Args:
        db: A connection in autocommit mode.
        part: The feature that owns the tables.
        migrations: Statements, the oldest first. A released one never changes; the next change is appended.

    Raises:
        StorageError: If a later version of memgraph migrated the tables, or the encoding is not UTF8.
    """
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StorageError(f"the encoding of the database is {encoding}; create one with the encoding UTF8")
    found = db.execute(HAS_VERSIONS).fetchone()
    if found and found[0] and _version(db, part) == len(migrations):
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        db.execute(CREATE_VERSIONS)  # also invalidates the catalog cache, in which the table may be missing
        done = _version(db, part)
        if done > len(migrations):
            raise StorageError(
                f"its tables have version {done}, but this memgraph supports {len(migrations)}: upgrade memgraph"
            )
        for statement in migrations[done:]:
            db.execute(statement.encode())
        db.execute(SET_VERSION, (part, len(migrations)))


def _version(db: Connection[tuple[Any, ...]], part: str) -> int:
    row = db.execute(SELECT_VERSION, (part,)).fetchone()
    return row[0] if row else 0
