"""Search for erased texts in the rows of a SQL server: those of memories and of the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph.storage.traces import TraceCount, text_variants

if TYPE_CHECKING:
    from collections.abc import Collection

    from memgraph._sql import Database, Transaction

SEARCH_SECONDS = 600.0
SELECT_TEXT_COLUMNS = """
    SELECT table_name, column_name, EXISTS (
        SELECT 1 FROM information_schema.columns AS other
        WHERE other.table_schema = own.table_schema AND other.table_name = own.table_name AND column_name = 'user_id'
    )
    FROM information_schema.columns AS own
    WHERE table_schema = current_schema() AND table_name LIKE :tables AND data_type IN ('text', 'json')
"""


def find_in_tables(database: Database, user_id: str, fragments: Collection[str]) -> TraceCount:
    """Search the rows of all tables for texts of a user whose rows were deleted.

    Deleted rows are not searched: how long they remain in free pages, the write-ahead log and backups depends on the
    server.

    Raises:
        MemgraphError: If the server is unavailable or reports an error.
    """
    variants = {variant: fragment for fragment in fragments for variant in text_variants(fragment)}
    if not variants:
        return TraceCount()
    rows = database.run(lambda db: _matching_rows(db, user_id, list(variants)), reads=True, seconds=SEARCH_SECONDS)
    own = {variants[variant] for variant, is_own in rows if is_own}
    return TraceCount(len(own), len({variants[variant] for variant, _ in rows} - own))


def _matching_rows(db: Transaction, user_id: str, variants: list[str]) -> list[tuple[str, bool]]:
    """Return each variant that a table has, and whether it is in a row of the user."""
    rows: list[tuple[str, bool]] = []
    for table, column, has_user in db.rows(SELECT_TEXT_COLUMNS, {"tables": r"memgraph\_%"}):
        is_own = "user_id = :user_id" if has_user else "FALSE"
        statement = f"""
            SELECT variant, bool_or({is_own}) FROM "{table}" JOIN unnest(CAST(:variants AS text[])) AS variant
            ON strpos(CAST("{column}" AS text), variant) > 0 GROUP BY variant
        """  # noqa: S608 - names from the schema of the server
        values = {"variants": variants, **({"user_id": user_id} if has_user else {})}
        rows += [(variant, found) for variant, found in db.rows(statement, values)]
    return rows
