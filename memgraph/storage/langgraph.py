"""LangGraphStorage: memories in a LangGraph store, for example the one of the running graph or server."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar, cast

from memgraph.errors import ConfigError, DamagedMemoryError, MemgraphError, StorageError
from memgraph.models import Scope
from memgraph.storage import langgraph_episodes, langgraph_history
from memgraph.storage.base import MemoryStorage
from memgraph.storage.document import (
    DocumentCache,
    initial_memory,
    is_deleted,
    is_tombstone,
    load_with_fallback,
    next_revision,
    require_not_deleted,
    tombstone,
    was_deleted,
)
from memgraph.storage.episodes import EpisodeCache
from memgraph.storage.langgraph_auth import warn_if_unprotected
from memgraph.storage.langgraph_episodes import ROOT, namespace_of
from memgraph.storage.langgraph_locks import exclusive
from memgraph.storage.revisions import next_entry
from memgraph.storage.traces import TraceCount, find_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from langgraph.store.base import BaseStore, Item

    from memgraph.models import Episode, MemoryDocument, Revision
    from memgraph.policy import Policy

T = TypeVar("T")
KEY = "memory"
PAGE = 100


class LangGraphStorage(MemoryStorage):
    """One item per user in a LangGraph store: key `memory` in namespace `("memgraph", user, agent)`.

    The document is stored as a string, which every store keeps unchanged; it is not embedded and never
    expires. A store has no compare-and-set, so a lock is held between reading and writing:

    - PostgresStore, AsyncPostgresStore: an advisory lock in the server. Safe for any number of machines.
    - SqliteStore, AsyncSqliteStore: a lock file next to the database. Safe for all processes of one machine.
    - Any other store, including that of LangGraph Server: a lock in this process. **If two processes save the
      same memory at the same time, one overwrites the other**: learn in one process only, or use `postgresql:`
      or `sqlite:`.

    Each episode is an item in namespace `("memgraph", user, agent, "episodes")`. An append reads only the items that
    it may add; a recall after a change reads all of them. The stores of PostgreSQL and SQLite write the episodes of an
    update together or not at all; in any other store, a process that is killed may leave some of them, and the run that
    is repeated appends the rest.

    Each revision is an item in namespace `("memgraph", user, agent, "history")`. The stores of PostgreSQL and SQLite
    write it together with the document or not at all. In any other store, it is written first: that of a process that
    was killed in between is not read, and the next save replaces it.

    Calls block. The event loop of an asynchronous store must run in another thread.

    Args:
        store: Any BaseStore; closing the storage does not close it. None, or `langgraph:` as a URL, is the store
            of the graph that runs at the time of the call; on LangGraph Server, that is the server's store.
    """

    def __init__(self, store: BaseStore | None = None) -> None:
        self._store = store
        self.name = f"langgraph:{'' if store is None else type(store).__qualname__}"
        self._cache = DocumentCache()
        self._episodes: EpisodeCache = EpisodeCache()
        if store is None:
            warn_if_unprotected()

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

    def load(self, scope: Scope) -> MemoryDocument:
        with self._open() as store:
            return load_with_fallback(scope, lambda each: self._read(store, each))

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        def write(store: BaseStore) -> MemoryDocument:
            stored = self._read(store, scope)
            return self._write(store, scope, next_revision(scope, stored, memory), stored)

        return self._locked(scope, write)

    def delete(self, scope: Scope) -> MemoryDocument:
        def write(store: BaseStore) -> MemoryDocument:
            stored = self._read(store, scope)
            return self._write(store, scope, tombstone(stored), stored)

        return self._locked(scope, write)

    def append_episodes(
        self,
        scope: Scope,
        episodes: Sequence[Episode],
        policy: Policy,
        *,
        revision: int | None = None,
        durable: bool = True,  # noqa: ARG002 - the store decides
    ) -> None:
        def append(store: BaseStore) -> None:
            if revision is not None:
                require_not_deleted(scope, self._read(store, scope), revision)
            langgraph_episodes.append_episodes(store, scope, episodes, policy)

        if episodes:
            self._locked(scope, append)

    def episodes(self, scope: Scope) -> tuple[Episode, ...]:
        with self._open() as store:
            return self._episodes.visible(
                scope, partial(self._read_episodes, store), was_deleted=lambda: was_deleted(self._read(store, scope))
            )

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:
        removed = self._locked(scope, lambda store: langgraph_episodes.remove_episodes(store, scope, ids))
        self._episodes.clear()
        return removed

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> list[Revision]:
        with self._open() as store:
            stored = self._read(store, scope)
            newest = stored.revision if stored else 0
            return langgraph_history.read_revisions(store, scope, newest, limit=limit, before=before)

    def scopes(self) -> Iterator[Scope]:
        with self._open() as store:
            found = list(self._scopes(store))
        yield from found

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the items of the user. What the store keeps of deleted ones is not known here."""
        prefix, offset, found = namespace_of(Scope(user_id))[:2], 0, set[str]()
        with self._open() as store:
            while page := store.search(prefix, limit=PAGE, offset=offset, refresh_ttl=False):
                found |= find_in_bytes(json.dumps([item.value for item in page]).encode(), fragments)
                offset += len(page)
        return TraceCount(len(found))

    def _locked(self, scope: Scope, change: Callable[[BaseStore], T]) -> T:
        with self._open() as opened, exclusive(opened, ".".join(namespace_of(scope))) as store:
            return change(store)

    def _write(
        self, store: BaseStore, scope: Scope, memory: MemoryDocument, known: MemoryDocument | None
    ) -> MemoryDocument:
        """Write *memory* over *known*, with a revision."""
        from langgraph.store.base import PutOp

        if is_tombstone(memory):  # first, since a process may be killed in between
            langgraph_episodes.delete_episodes(store, scope)
            langgraph_history.delete_history(store, scope, known.revision if known else 0)
            self._episodes.clear()
        stored, data = self._cache.serialize(memory, self._document_name(scope))
        value = {"user_id": scope.user_id, "agent_name": scope.agent_name, "document": data.decode()}
        document = PutOp(namespace_of(scope), KEY, value, index=False)
        before = known or initial_memory(scope, lambda shared: self._read(store, shared))
        store.batch([*langgraph_history.writes_of(store, scope, next_entry(before, stored)), document])
        return stored

    def _read_episodes(self, store: BaseStore, scope: Scope) -> tuple[Episode, ...]:
        return self._episodes.refresh(scope, partial(langgraph_episodes.read_episodes, store, scope))

    def _read(self, store: BaseStore, scope: Scope) -> MemoryDocument | None:
        item = store.get(namespace_of(scope), KEY, refresh_ttl=False)
        return self._decode(item, scope) if item else None

    def _decode(self, item: Item, scope: Scope) -> MemoryDocument:
        document = item.value.get("document")
        if not isinstance(document, str):
            raise DamagedMemoryError(self._document_name(scope), "its item has no document")
        return self._cache.decode(document.encode(), self._document_name(scope))

    def _scopes(self, store: BaseStore) -> Iterator[Scope]:
        for user, agent in _labels(store):
            item = store.get((ROOT, user, agent), KEY, refresh_ttl=False)
            if item and "user_id" in item.value:
                scope = Scope(item.value["user_id"], item.value.get("agent_name"))
                if not is_deleted(partial(self._decode, item, scope)):
                    yield scope
                    continue
            if scope_with_episodes := langgraph_episodes.find_scope(store, (ROOT, user, agent)):
                yield scope_with_episodes

    @contextmanager
    def _open(self) -> Generator[BaseStore]:
        """Yield the store, and raise its errors as StorageErrors: a store may raise any exception."""
        try:
            yield _store_of_running_graph() if self._store is None else self._store
        except MemgraphError:
            raise
        except Exception as error:
            raise StorageError(f"{self.name}: {type(error).__name__}: {error}") from error


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


def _labels(store: BaseStore) -> Iterator[tuple[str, str]]:
    """Yield the user and agent labels of every namespace that `namespace_of` made."""
    offset = 0
    while page := store.list_namespaces(prefix=(ROOT,), limit=PAGE, offset=offset):
        yield from ((labels[1], labels[2]) for labels in page if len(labels) == 3)  # noqa: PLR2004 - as namespace_of
        offset += len(page)
