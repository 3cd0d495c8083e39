"""Episodes in a relational database: one row each, and one row per scope that shows whether they changed.

SQLite and PostgreSQL run the same statements. The row per scope is locked before episodes are written, so that an
append and a deletion never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from memgraph.models import Episode, Scope
from memgraph.policy import Policy
from memgraph.storage.episodes import (
    EpisodeSnapshot,
    decode_episode,
    encode_episode,
    excess_of,
    merge_episodes,
    oldest_allowed,
    storable,
)
from memgraph.text.normalize import clean

_SCOPE = "user_id = :user_id AND agent_name = :agent_name"
_LOCK = """
    INSERT INTO {log} (user_id, agent_name, appended, removals, total) VALUES (:user_id, :agent_name, 0, 0, 0)
    ON CONFLICT (user_id, agent_name) DO UPDATE SET total = {log}.total
    RETURNING appended, removals, total
"""
_SELECT_LOG = "SELECT appended, removals, total FROM {log} WHERE {scope}"
_UPDATE_LOG = "UPDATE {log} SET appended = :appended, removals = :removals, total = :total WHERE {scope}"
_SELECT = "SELECT CAST(document AS TEXT) FROM {episode} WHERE {scope} AND number > :after ORDER BY number"
_SELECT_SCOPES = "SELECT user_id, agent_name FROM {log} WHERE total > 0"
_INSERT = """
    INSERT INTO {episode} (user_id, agent_name, number, id, written_at, document)
    VALUES (:user_id, :agent_name, :number, :id, :written_at, :document)
    ON CONFLICT DO NOTHING
"""
_DELETE = "DELETE FROM {episode} WHERE {scope}"
_DELETE_ONE = "DELETE FROM {episode} WHERE {scope} AND id = :id"
_EXPIRE = "DELETE FROM {episode} WHERE {scope} AND written_at > '' AND written_at < :limit"
_EVICT = """
    DELETE FROM {episode} WHERE {scope} AND number IN (
        SELECT number FROM {episode} WHERE {scope} ORDER BY written_at, number LIMIT :excess
    )
"""

EpisodeVersion = tuple[int, int]
"""How many episodes were ever appended to a scope, and how often any were removed."""


class Cursor(Protocol):
    """What a statement returned."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> tuple[Any, ...] | None: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...


Execute = Callable[[str, Mapping[str, str | int]], Cursor]
"""Runs a statement with named parameters."""


class EpisodeTable:
    """Reads and writes the episodes within a transaction of the caller.

    Args:
        prefix: Prefix of the names of the tables.
        parameter: A named parameter of the database, as a replacement of the pattern `:(name)`.
    """

    def __init__(self, prefix: str = "", parameter: str = r":\1") -> None:
        self._names = {"episode": f"{prefix}episode", "log": f"{prefix}episode_log", "scope": _SCOPE}
        self._parameter = parameter

    def lock(self, execute: Execute, scope: Scope) -> None:
        """Keep other writers of these episodes out until the transaction ends."""
        self._run(execute, _LOCK, scope)

    def append(self, execute: Execute, scope: Scope, episodes: Sequence[Episode], policy: Policy) -> None:
        """Insert those of *episodes* that are missing, and evict what the limits of *policy* exclude."""
        appended, removals, total = _counts(self._run(execute, _LOCK, scope))
        first = appended
        for episode in map(storable, merge_episodes((), episodes)):
            row = {
                "number": appended + 1,
                "id": clean(episode.id),
                "written_at": clean(episode.at),
                "document": encode_episode(episode),
            }
            appended += self._run(execute, _INSERT, scope, **row).rowcount
        total += appended - first
        evicted = self._evict(execute, scope, total, policy)
        if appended > first or evicted:
            counts = {"appended": appended, "removals": removals + bool(evicted), "total": total - evicted}
            self._run(execute, _UPDATE_LOG, scope, **counts)

    def read(self, execute: Execute, scope: Scope, known: EpisodeSnapshot | None) -> EpisodeSnapshot:
        """Return the episodes of *scope*; *known* itself if they did not change since it was read."""
        version = _counts(self._run(execute, _SELECT_LOG, scope))[:2]
        if known and known.version == version:
            return known
        appended, removals = cast("EpisodeVersion", known.version) if known else (0, 0)
        if known is None or removals != version[1]:
            known, appended = EpisodeSnapshot((0, 0), ()), 0
        rows = self._run(execute, _SELECT, scope, after=appended).fetchall()
        parsed = (decode_episode(document) for (document,) in rows)
        return EpisodeSnapshot(version, merge_episodes(known.episodes, filter(None, parsed)))

    def scopes(self, execute: Execute) -> set[tuple[str, str]]:
        """Return the user and the agent, "" without one, of every scope that has episodes."""
        rows = execute(_SELECT_SCOPES.format(**self._names), {}).fetchall()
        return {(user_id, agent_name) for user_id, agent_name in rows}

    def remove(self, execute: Execute, scope: Scope, ids: Collection[str]) -> int:
        """Remove the episodes with these ids, and return how many there were."""
        self.lock(execute, scope)
        removed = sum(self._run(execute, _DELETE_ONE, scope, id=clean(name)).rowcount for name in set(ids))
        self._count_removed(execute, scope, removed)
        return removed

    def delete(self, execute: Execute, scope: Scope) -> None:
        """Remove all episodes of *scope*."""
        self.lock(execute, scope)
        self._count_removed(execute, scope, self._run(execute, _DELETE, scope).rowcount)

    def _evict(self, execute: Execute, scope: Scope, total: int, policy: Policy) -> int:
        evicted, limit = 0, oldest_allowed(policy, datetime.now(UTC))
        if limit:
            evicted = self._run(execute, _EXPIRE, scope, limit=limit).rowcount
        if excess := excess_of(total - evicted, policy):
            evicted += self._run(execute, _EVICT, scope, excess=excess).rowcount
        return evicted

    def _count_removed(self, execute: Execute, scope: Scope, removed: int) -> None:
        if removed:
            appended, removals, total = _counts(self._run(execute, _SELECT_LOG, scope))
            counts = {"appended": appended, "removals": removals + 1, "total": total - removed}
            self._run(execute, _UPDATE_LOG, scope, **counts)

    def _run(self, execute: Execute, statement: str, scope: Scope, **values: str | int) -> Cursor:
        named = re.sub(r":(\w+)", self._parameter, statement.format(**self._names))
        return execute(named, {"user_id": scope.user_id, "agent_name": scope.agent_name or "", **values})


def _counts(cursor: Cursor) -> tuple[int, int, int]:
    """Return how many episodes were appended, how often some were removed, and how many there are."""
    appended, removals, total = cursor.fetchone() or (0, 0, 0)
    return appended, removals, total
