"""LangGraphStorage: memories in a LangGraph store, for example the one of the running graph or server."""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from memgraph.analysis.normalize import clean
from memgraph.errors import ConfigError, DamagedMemoryError, MemgraphError, StorageError
from memgraph.models import Episode, Revision, Scope
from memgraph.storage.document import decode_episode, encode_episode, merge_episodes, within_limits
from memgraph.storage.langgraph_auth import ROOT, require_protection
from memgraph.storage.langgraph_locks import exclusive
from memgraph.storage.log import NOTHING, Backend, Change, LogStorage, Rows, Stored
from memgraph.storage.paths import folder_name
from memgraph.storage.revisions import decode_revision, encode_revision, horizon
from memgraph.storage.traces import TraceCount, find_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence

    from langgraph.store.base import BaseStore, Item, PutOp

    from memgraph.policy import Policy

SHARED = "=shared"
"""The label for a scope without an agent; no agent name may contain `=`."""
KEY = "memory"
"""The key of the document."""
EPISODES = "episodes"
"""The last label of the namespace of the episodes, and the key of the item that has their version."""
HISTORY = "history"
"""The last label of the namespace of the revisions, and the key of the item that has the number of the first."""

_PAGE = 500
_MAX_EVICTED = 20
"""How many expired revisions a save removes: more than it adds."""

Namespace = tuple[str, ...]
T = TypeVar("T")


class LangGraphStorage(LogStorage):
    """One item per user in a LangGraph store: key `memory` in namespace `("memgraph", user, agent)`.

    The document is stored as a string, which every store keeps unchanged; it is not embedded and never
    expires. A store has no compare-and-set, so a lock is held between reading and writing:

    - PostgresStore, AsyncPostgresStore: an advisory lock in the server. Safe for any number of machines.
    - SqliteStore, AsyncSqliteStore: a lock file next to the database. Safe for all processes of one machine.
    - Any other store, including that of LangGraph Server: a lock in this process. **If two processes save the
      same memory at the same time, one overwrites the other**: learn in one process only, or use `postgresql:`
      or `sqlite:`.

    Each episode is an item in namespace `("memgraph", user, agent, "episodes")`, and each revision one in
    `("memgraph", user, agent, "history")`. The stores of PostgreSQL and SQLite write a commit together or not at all
    (one of more than 500 items that SQLite removes in parts). In any other store, the document is written last: a
    process that is killed before may leave episodes, which the run that is repeated completes, and a revision, which is
    not read and which the next save replaces.

    Calls block. The event loop of an asynchronous store must run in another thread.

    Args:
        store: Any BaseStore; closing the storage does not close it. None, or `langgraph:` as a URL, is the store
            of the graph that runs at the time of the call; on LangGraph Server, that is the server's store.
    """

    def __init__(self, store: BaseStore | None = None) -> None:
        self._store = store
        super().__init__(LangGraphBackend(store))
        if store is None:
            require_protection()

    @property
    def needs_running_graph(self) -> bool:
        return self._store is None

    def bind(self) -> LangGraphStorage:
        return LangGraphStorage(_store_of_running_graph()) if self._store is None else self

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("langgraph: takes no name; it is the store of the running graph")
        return cls()


class _Log(NamedTuple):
    """The item that shows whether the episodes changed."""

    version: str = ""
    """A random text, new after each change; empty if there never were episodes."""
    appended: int = 0
    """How many there ever were."""
    total: int = 0


class LangGraphBackend(Backend):
    """Items in a store; see `LangGraphStorage`."""

    def __init__(self, store: BaseStore | None) -> None:
        super().__init__(f"langgraph:{'' if store is None else type(store).__qualname__}")
        self._store = store

    def read(self, scope: Scope) -> Stored:
        with self._open() as store:
            return self._read(store, scope)

    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:  # noqa: ARG002 - the store decides
        with self._exclusive(scope) as store:
            if expected is not None and self._read(store, scope) != expected:
                return False
            writes: list[PutOp] = []
            if change.episodes or change.is_deletion:
                writes += _episode_writes(store, scope, change)
            if change.document is not None and change.entry is not None:
                writes += _document_writes(store, scope, change.document, change.entry, change)
            _write(store, writes)
            return True

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        with self._exclusive(scope) as store:
            removed = set(map(clean, ids))
            found = [key for key, _ in _items(store, scope) if key in removed]
            _write(store, _row_writes(scope, _read_log(store, scope), (), found))
            return len(found)

    def rows(self, scope: Scope, after: object) -> Rows:
        with self._open() as store:
            version = _read_log(store, scope).version
            items = [] if version in ("", after) else _items(store, scope)
            return Rows(version, [_episode_of(value) for _, value in items], is_all=version != after)

    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[str]:
        from langgraph.store.base import GetOp

        namespace, found = (*namespace_of(scope), HISTORY), list[str]()
        with self._open() as store:
            number, first = below - 1, _first(store, scope)
            while first and number >= first and (limit is None or len(found) < limit):
                numbers = range(number, max(first - 1, number - _PAGE), -1)
                items = store.batch([GetOp(namespace, _key(each), refresh_ttl=False) for each in numbers])
                found += [str(item.value.get("revision")) for item in cast("list[Item | None]", items) if item]
                number = numbers[-1] - 1
        return found

    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        with self._open() as store:
            found = [listed for namespace in _namespaces(store) if (listed := self._listed(store, namespace))]
        yield from found

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the items of the user. What the store keeps of deleted ones is not known here."""
        prefix = namespace_of(Scope(user_id))[:2]
        with self._open() as store:
            values = (
                json.dumps(item.value).encode() for item in _pages(partial(store.search, prefix, refresh_ttl=False))
            )
            return TraceCount(len({found for value in values for found in find_in_bytes(value, fragments)}))

    def _read(self, store: BaseStore, scope: Scope) -> Stored:
        item = store.get(namespace_of(scope), KEY, refresh_ttl=False)
        if item is None:
            return NOTHING
        document = item.value.get("document")
        if not isinstance(document, str):
            raise DamagedMemoryError(self.place(scope), "its item has no document")
        return Stored(document.encode())

    def _listed(self, store: BaseStore, namespace: Namespace) -> tuple[Scope, bytes | None] | None:
        log, value = _value(store, namespace, EPISODES), _value(store, namespace, KEY)
        if "user_id" in log and _count(log, "total"):
            return Scope(log["user_id"], log.get("agent_name")), None
        if "user_id" not in value:
            return None
        document = str(value.get("document"))
        scope = Scope(value["user_id"], value.get("agent_name"))
        return scope, document.encode() if '"forgotten"' in document else None

    @contextmanager
    def _exclusive(self, scope: Scope) -> Generator[BaseStore]:
        with self._open() as opened, exclusive(opened, ".".join(namespace_of(scope))) as store:
            yield store

    @contextmanager
    def _open(self) -> Generator[BaseStore]:
        """Yield the store, and raise its errors as StorageErrors: a store may raise any exception."""
        try:
            yield _store_of_running_graph() if self._store is None else self._store
        except MemgraphError:
            raise
        except Exception as error:
            raise StorageError(f"{self.name}: {type(error).__name__}: {error}") from error


def namespace_of(scope: Scope) -> Namespace:
    """Return labels that every store accepts: not empty, without dots."""
    return ROOT, folder_name(scope.user_id), scope.agent_name or SHARED


def _store_of_running_graph() -> BaseStore:
    from langgraph.config import get_store

    try:
        store = cast("BaseStore | None", get_store())
    except (RuntimeError, KeyError):
        raise StorageError(
            "langgraph: is the store of the running graph or server, but no graph is running: use "
            "LangGraphStorage(store)"
        ) from None
    if store is None:
        raise StorageError("langgraph: is the store of the running graph, but it has none: use compile(store=...)")
    return store


def _pages(fetch: Callable[..., Sequence[T]]) -> Iterator[T]:
    """Yield everything that *fetch* returns page by page."""
    offset = 0
    while page := fetch(limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


def _namespaces(store: BaseStore) -> Iterator[Namespace]:
    """Yield every namespace that `namespace_of` made."""
    found = _pages(partial(store.list_namespaces, prefix=(ROOT,)))
    return (labels for labels in found if labels[0] == ROOT and len(labels) == 3)  # noqa: PLR2004 - as namespace_of


def _items(store: BaseStore, scope: Scope) -> list[tuple[str, Mapping[str, object]]]:
    """Return the key and the value of each episode, in the order in which they were appended."""
    below = (*namespace_of(scope), EPISODES)
    found = _pages(partial(store.search, below, refresh_ttl=False))
    # a store may also find namespaces that only resemble the prefix
    items = [(item.key, item.value) for item in found if tuple(item.namespace) == below]
    return sorted(items, key=lambda item: _count(item[1], "number"))


def _episode_of(value: Mapping[str, object]) -> str:
    return str(value.get("episode"))


def _value(store: BaseStore, namespace: Namespace, key: str) -> Mapping[str, Any]:
    """Return the value of an item; nothing if there is none."""
    item = store.get(namespace, key, refresh_ttl=False)
    return item.value if item else {}


def _count(value: Mapping[str, object], name: str) -> int:
    count = value.get(name)
    return count if isinstance(count, int) else 0


# -- with the lock ------------------------------------------------------------------------------------


def _write(store: BaseStore, writes: Sequence[PutOp]) -> None:
    for start in range(0, len(writes), _PAGE):
        store.batch(writes[start : start + _PAGE])


def _document_writes(store: BaseStore, scope: Scope, document: bytes, entry: Revision, change: Change) -> list[PutOp]:
    """Put the document and its revision, and remove the revisions that are evicted, or all before a deletion."""
    from langgraph.store.base import PutOp

    namespace, policy = namespace_of(scope), change.policy
    below, first = (*namespace, HISTORY), _first(store, scope) or entry.revision
    kept = entry.revision if change.is_deletion else _first_kept(store, below, first, entry.revision, policy)
    is_kept = policy.max_revisions > 0
    value = {"user_id": scope.user_id, "agent_name": scope.agent_name, "document": document.decode()}
    return [
        *(PutOp(below, _key(number), None) for number in range(first, kept)),
        PutOp(below, _key(entry.revision), {"revision": encode_revision(entry)} if is_kept else None, index=False),
        PutOp(namespace, HISTORY, {"first": kept if is_kept else entry.revision + 1}, index=False),
        PutOp(namespace, KEY, value, index=False),
    ]


def _first_kept(store: BaseStore, below: Namespace, first: int, newest: int, policy: Policy) -> int:
    """Return the number of the oldest revision that *policy* keeps, after at most _MAX_EVICTED others."""
    allowed, kept = horizon(policy, newest), first
    while kept < newest and kept - first < _MAX_EVICTED:
        oldest = decode_revision(str(_value(store, below, _key(kept)).get("revision")))
        if oldest and not allowed.excludes(oldest.revision, oldest.at):
            break
        kept += 1
    return kept


def _first(store: BaseStore, scope: Scope) -> int:
    """Return the number of the first revision; 0 if there is no history."""
    return _count(_value(store, namespace_of(scope), HISTORY), "first")


def _episode_writes(store: BaseStore, scope: Scope, change: Change) -> list[PutOp]:
    """Put those episodes that are missing, and remove what the limits exclude, or all before a deletion."""
    from langgraph.store.base import GetOp

    log, given, policy = _read_log(store, scope), change.episodes, change.policy
    if change.is_deletion:
        return _row_writes(scope, log, given, [key for key, _ in _items(store, scope)])
    below = (*namespace_of(scope), EPISODES)
    found = store.batch([GetOp(below, clean(episode.id), refresh_ttl=False) for episode in given])
    new = [episode for episode, item in zip(given, found, strict=True) if item is None]
    if log.total + len(new) <= policy.max_episodes and not policy.episode_days:
        return _row_writes(scope, log, new, ())
    decoded = ((key, decode_episode(_episode_of(value))) for key, value in _items(store, scope))
    stored = [(key, episode) for key, episode in decoded if episode]
    merged = merge_episodes(merge_episodes((), (episode for _, episode in stored)), new)
    allowed = {episode.id for episode in within_limits(merged, policy, datetime.now(UTC))}
    evicted = [key for key, episode in stored if episode.id not in allowed]
    return _row_writes(scope, log, [episode for episode in new if episode.id in allowed], evicted)


def _row_writes(scope: Scope, log: _Log, new: Sequence[Episode], removed: Collection[str]) -> list[PutOp]:
    """Put *new* episodes, remove those with the keys *removed*, and put a new version if there are any."""
    from langgraph.store.base import PutOp

    namespace = namespace_of(scope)
    below = (*namespace, EPISODES)
    writes: list[PutOp] = [PutOp(below, key, None) for key in removed]
    for number, episode in enumerate(new, log.appended + 1):
        value = {"number": number, "episode": encode_episode(episode)}
        writes.append(PutOp(below, clean(episode.id), value, index=False))
    owner = {"user_id": scope.user_id, "agent_name": scope.agent_name}
    counts = {"appended": log.appended + len(new), "total": max(0, log.total + len(new) - len(removed))}
    if writes:
        value = {"version": secrets.token_hex(8), **owner, **counts}
        writes.append(PutOp(namespace, EPISODES, value, index=False))
    return writes


def _read_log(store: BaseStore, scope: Scope) -> _Log:
    value = _value(store, namespace_of(scope), EPISODES)
    return _Log(str(value.get("version", "")), _count(value, "appended"), _count(value, "total"))


def _key(revision: int) -> str:
    return f"{revision:012d}"
