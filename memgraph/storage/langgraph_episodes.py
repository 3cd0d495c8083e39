"""Episodes in a LangGraph store: one item each, and one per scope that shows whether they changed.

A batch of writes is one transaction in the stores of PostgreSQL and SQLite. In another store, a killed process may
leave a part of a batch; the run that wrote it is repeated, which appends the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memgraph.models import Episode, Scope
from memgraph.policy import Policy
from memgraph.storage.episodes import (
    EpisodeSnapshot,
    decode_episode,
    encode_episode,
    merge_episodes,
    storable,
    within_limits,
)
from memgraph.storage.paths import folder_name
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

ROOT = "memgraph"
SHARED = "=shared"
"""The label for a scope without an agent; no agent name may contain `=`."""
LABEL = "episodes"
"""The last label of the namespace of the episodes, and the key of the item that has their version."""

_PAGE = 500

Namespace = tuple[str, ...]


class Log(NamedTuple):
    """The item that shows whether the episodes changed."""

    version: str = ""
    """A random text, new after each change; empty if there never were episodes."""
    appended: int = 0
    """How many there ever were."""
    total: int = 0


def namespace_of(scope: Scope) -> Namespace:
    """Return labels that every store accepts: not empty, without dots."""
    return ROOT, folder_name(scope.user_id), scope.agent_name or SHARED


def find_scope(store: BaseStore, namespace: Namespace) -> Scope | None:
    """Return the scope whose `namespace_of` is *namespace*, if it has episodes."""
    item = store.get(namespace, LABEL, refresh_ttl=False)
    if item is None or "user_id" not in item.value or not _count(item.value, "total"):
        return None
    return Scope(item.value["user_id"], item.value.get("agent_name"))


def read_episodes(store: BaseStore, scope: Scope, known: EpisodeSnapshot | None) -> EpisodeSnapshot:
    """Return the episodes of *scope*; *known* itself if they did not change since it was read."""
    log = _read_log(store, scope)
    if known and known.version == log.version:
        return known
    numbered: list[tuple[int, Episode]] = []
    for _, value in _items(store, scope) if log.version else ():
        if episode := decode_episode(str(value.get("episode"))):
            numbered.append((_count(value, "number"), episode))
    ordered = (episode for _, episode in sorted(numbered, key=lambda pair: pair[0]))
    return EpisodeSnapshot(log.version, merge_episodes((), ordered))


def append_episodes(store: BaseStore, scope: Scope, episodes: Sequence[Episode], policy: Policy) -> None:
    """Put those of *episodes* that are missing, and remove what the limits of *policy* exclude. Hold the lock."""
    from langgraph.store.base import GetOp

    log, below = _read_log(store, scope), (*namespace_of(scope), LABEL)
    given = [storable(episode) for episode in merge_episodes((), episodes)]
    found = store.batch([GetOp(below, clean(episode.id), refresh_ttl=False) for episode in given])
    new = [episode for episode, item in zip(given, found, strict=True) if item is None]
    if log.total + len(new) <= policy.max_episodes and not policy.episode_days:
        _write(store, scope, log, new, ())
        return
    stored = read_episodes(store, scope, None).episodes
    allowed = {episode.id for episode in within_limits(merge_episodes(stored, new), policy, datetime.now(UTC))}
    evicted = {episode.id for episode in stored} - allowed
    _write(store, scope, log, [episode for episode in new if episode.id in allowed], evicted)


def remove_episodes(store: BaseStore, scope: Scope, ids: Collection[str]) -> int:
    """Remove the episodes with these ids, and return how many there were. Hold the lock."""
    stored = read_episodes(store, scope, None).episodes
    found = {episode.id for episode in stored} & set(ids)
    _write(store, scope, _read_log(store, scope), (), found)
    return len(found)


def delete_episodes(store: BaseStore, scope: Scope) -> None:
    """Remove all episodes, also those that cannot be read. Hold the lock."""
    keys = [key for key, _ in _items(store, scope)]
    _write(store, scope, _read_log(store, scope), (), keys)


def _write(store: BaseStore, scope: Scope, log: Log, new: Sequence[Episode], removed: Collection[str]) -> None:
    from langgraph.store.base import PutOp

    namespace = namespace_of(scope)
    below = (*namespace, LABEL)
    writes: list[PutOp] = [PutOp(below, clean(name), None) for name in removed]
    for number, episode in enumerate(new, log.appended + 1):
        value = {"number": number, "episode": encode_episode(episode)}
        writes.append(PutOp(below, clean(episode.id), value, index=False))
    owner = {"user_id": scope.user_id, "agent_name": scope.agent_name}
    counts = {"appended": log.appended + len(new), "total": max(0, log.total + len(new) - len(removed))}
    for start in range(0, len(writes), _PAGE):
        written = PutOp(namespace, LABEL, {"version": secrets.token_hex(8), **owner, **counts}, index=False)
        store.batch([*writes[start : start + _PAGE], written])


def _read_log(store: BaseStore, scope: Scope) -> Log:
    item = store.get(namespace_of(scope), LABEL, refresh_ttl=False)
    if item is None:
        return Log()
    return Log(str(item.value.get("version")), _count(item.value, "appended"), _count(item.value, "total"))


def _count(value: Mapping[str, object], name: str) -> int:
    count = value.get(name)
    return count if isinstance(count, int) else 0


def _items(store: BaseStore, scope: Scope) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the key and the value of each item. A store may also find namespaces that only resemble the prefix."""
    below, offset = (*namespace_of(scope), LABEL), 0
    while page := store.search(below, limit=_PAGE, offset=offset, refresh_ttl=False):
        yield from ((item.key, item.value) for item in page if tuple(item.namespace) == below)
        offset += len(page)
