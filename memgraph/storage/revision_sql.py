"""The history in a relational database: one row per revision. SQLite and PostgreSQL run the same statements."""

from __future__ import annotations

import re

from memgraph.models import Revision, Scope
from memgraph.storage.episode_sql import Cursor, Execute
from memgraph.storage.revision_json import decode_revision, encode_revision
from memgraph.storage.revisions import current_recording, horizon

_INSERT = """
    INSERT INTO {revision} (user_id, agent_name, revision, written_at, document)
    VALUES (:user_id, :agent_name, :revision, :written_at, :document)
"""
_SELECT = """
    SELECT CAST(document AS TEXT) FROM {revision}
    WHERE user_id = :user_id AND agent_name = :agent_name AND revision < :before ORDER BY revision DESC LIMIT :limit
"""
_DELETE = "DELETE FROM {revision} WHERE user_id = :user_id AND agent_name = :agent_name"
_EVICT = """
    DELETE FROM {revision} WHERE user_id = :user_id AND agent_name = :agent_name
    AND (revision <= :oldest OR written_at < :limit)
"""
_NO_LIMIT = 2**62


class RevisionTable:
    """Reads and writes revisions within a transaction of the caller, which also writes the document.

    Args:
        prefix: Prefix of the name of the table.
        parameter: A named parameter of the database, as a replacement of the pattern `:(name)`.
    """

    def __init__(self, prefix: str = "", parameter: str = r":\1") -> None:
        self._names = {"revision": f"{prefix}revision"}
        self._parameter = parameter

    def append(self, execute: Execute, scope: Scope, entry: Revision) -> None:
        """Insert *entry*, and evict what the limits of the current recording exclude. A deletion removes all others."""
        policy = current_recording().policy
        if entry.by == "delete":
            self._run(execute, _DELETE, scope)
        if policy.max_revisions:
            row = {"revision": entry.revision, "written_at": entry.at, "document": encode_revision(entry)}
            self._run(execute, _INSERT, scope, **row)
        allowed = horizon(policy, entry.revision)
        self._run(execute, _EVICT, scope, oldest=allowed.revision, limit=allowed.at)

    def read(self, execute: Execute, scope: Scope, *, limit: int | None, before: int | None) -> list[Revision]:
        """Return the revisions of exactly *scope*, the newest first."""
        below, count = _NO_LIMIT if before is None else before, _NO_LIMIT if limit is None else limit
        rows = self._run(execute, _SELECT, scope, before=below, limit=count).fetchall()
        return [entry for (document,) in rows if (entry := decode_revision(document))]

    def _run(self, execute: Execute, statement: str, scope: Scope, **values: str | int) -> Cursor:
        named = re.sub(r":(\w+)", self._parameter, statement.format(**self._names))
        return execute(named, {"user_id": scope.user_id, "agent_name": scope.agent_name or "", **values})
