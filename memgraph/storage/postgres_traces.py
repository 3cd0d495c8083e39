"""Search for erased texts in the rows of PostgreSQL: those of memories and of the outbox."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from memgraph.storage.traces import TraceCount, text_variants

if TYPE_CHECKING:
    from memgraph.storage.postgres_pool import Connection, PostgresDatabase

SELECT_TEXT_COLUMNS = """
    SELECT table_name, column_name, EXISTS (
        SELECT FROM information_schema.columns AS other
        WHERE other.table_schema = own.table_schema AND other.table_name = own.table_name AND column_name = 'user_id'
    )
    FROM information_schema.columns AS own
    WHERE table_schema = current_schema() AND table_name LIKE 'memgraph\\_%%' AND data_type IN ('text', 'json')
"""
_SELECT_FOUND = """
    SELECT variant, bool_or({is_own}) FROM {table} JOIN unnest(%(variants)s::text[]) AS variant
    ON strpos({column}::text, variant) > 0 GROUP BY variant
"""


def find_in_postgres(database: PostgresDatabase, user_id: str, fragments: Collection[str]) -> TraceCount:
    """Search the rows of all tables for texts of a user whose rows were deleted.

    Deleted rows are not searched: how long they remain in free pages, the write-ahead log and backups depends on the
    server.

    Raises:
        StorageError: If the server is unavailable or reports an error.
    """
    variants = {variant: fragment for fragment in fragments for variant in text_variants(fragment)}
    if not variants:
        return TraceCount()
    rows = database.run(lambda db, _: _matching_rows(db, user_id, list(variants)))
    own = {variants[variant] for variant, is_own in rows if is_own}
    return TraceCount(len(own), len({variants[variant] for variant, _ in rows} - own))


def _matching_rows(db: Connection, user_id: str, variants: list[str]) -> list[tuple[str, bool]]:
    """Return each variant that a table has, and whether it is in a row of the user."""
    from psycopg import sql

    rows: list[tuple[str, bool]] = []
    for table, column, has_user in db.execute(SELECT_TEXT_COLUMNS.encode(), {}).fetchall():
        statement = sql.SQL(_SELECT_FOUND).format(
            table=sql.Identifier(table),
            column=sql.Identifier(column),
            is_own=sql.SQL("user_id = %(user_id)s" if has_user else "FALSE"),
        )
        rows += db.execute(statement, {"user_id": user_id, "variants": variants}).fetchall()
    return rows
