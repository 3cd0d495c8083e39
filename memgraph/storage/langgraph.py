"""Memories in a LangGraph store: any BaseStore, also the one that the running graph or server has."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, cast

from memgraph.errors import ConfigError, DamagedMemoryError, MemgraphError, StorageError
from memgraph.models import Scope
from memgraph.storage.base import MemoryStorage, is_tombstone, load_with_fallback, next_revision, tombstone
from memgraph.storage.langgraph_locks import exclusive
from memgraph.storage.paths import folder_name
from memgraph.storage.serialization import DocumentCache, serialize

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from langgraph.store.base import BaseStore, Item

    from memgraph.models import Memory

ROOT = "memgraph"
SHARED = "=shared"
"""In the place of an agent's name; no agent can be called so."""

KEY = "memory"
PAGE = 100


class LangGraphStorage(MemoryStorage):
    """Memories in a LangGraph store, as items `memory` below `("memgraph", user, agent)`.

    The document is kept as a text, which every store keeps as it is, unembedded and without an end. A
    store has no compare-and-set, so a lock keeps others out between reading and writing:

    - PostgresStore, AsyncPostgresStore: an advisory lock of the server. Any number of machines.
    - SqliteStore, AsyncSqliteStore: a lock file beside the database. Any number of processes of one machine.
    - every other store, LangGraph Server's among them: a lock of this process. **Of two processes that save
      the same memory at the same moment, one overwrites the other**: let one process do the
      learning, or keep memories in `postgresql:` or `sqlite:`.

    A call blocks its thread. The event loop of an asynchronous store must run in another.

    Args:
        store: Any BaseStore; it is not closed with the storage. None, and `langgraph:` as a URL, is the store
            of the graph that runs at the time of the call.
    """

    def __init__(self, store: BaseStore | None = None) -> None:
        self._given = store
        self._name = f"langgraph:{'' if store is None else type(store).__qualname__}"
        self._parsed = DocumentCache()

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("langgraph: takes no name; it is the store of the graph that runs")
        return cls()

    def load(self, scope: Scope) -> Memory:
        with self._reported() as store:
            return load_with_fallback(scope, lambda wanted: self._read(store, wanted))

    def save(self, scope: Scope, memory: Memory) -> Memory:
        return self._replace(scope, lambda stored: next_revision(scope, stored, memory))

    def delete(self, scope: Scope) -> Memory:
        return self._replace(scope, tombstone)

    def scopes(self) -> Iterator[Scope]:
        with self._reported() as store:
            found = list(self._scopes(store))
        yield from found

    def _replace(self, scope: Scope, change: Callable[[Memory | None], Memory]) -> Memory:
        namespace = _namespace(scope)
        with self._reported() as shared, exclusive(shared, ".".join(namespace)) as store:
            stored, data = serialize(change(self._read(store, scope)))
            value = {"user_id": scope.user_id, "agent_name": scope.agent_name, "document": data.decode()}
            store.put(namespace, KEY, value, index=False, ttl=None)
        self._parsed.put(data, self._place(scope), stored)
        return stored

    def _read(self, store: BaseStore, scope: Scope) -> Memory | None:
        item = store.get(_namespace(scope), KEY, refresh_ttl=False)
        return self._decoded(item, scope) if item else None

    def _decoded(self, item: Item, scope: Scope) -> Memory:
        document = item.value.get("document")
        if not isinstance(document, str):
            raise DamagedMemoryError(self._place(scope), "its item has no document")
        return self._parsed.decode(document.encode(), self._place(scope))

    def _scopes(self, store: BaseStore) -> Iterator[Scope]:
        for user, agent in _labels(store):
            item = store.get((ROOT, user, agent), KEY, refresh_ttl=False)
            if item and "user_id" in item.value:
                scope = Scope(item.value["user_id"], item.value.get("agent_name"))
                if not self._is_deleted(item, scope):
                    yield scope

    def _is_deleted(self, item: Item, scope: Scope) -> bool:
        """Whether a document is a tombstone. A damaged one is not: somebody has to look at it."""
        try:
            return is_tombstone(self._decoded(item, scope))
        except DamagedMemoryError:
            return False

    def _place(self, scope: Scope) -> str:
        return f"{self._name}, memory of {scope}"

    @contextmanager
    def _reported(self) -> Generator[BaseStore]:
        """The store. A store is anybody's, and so are its errors: they become StorageErrors."""
        try:
            yield _running() if self._given is None else self._given
        except MemgraphError:
            raise
        except Exception as error:
            raise StorageError(f"{self._name}: {type(error).__name__}: {error}") from error


def _running() -> BaseStore:
    from langgraph.config import get_store

    try:
        store = cast("BaseStore | None", get_store())
    except (RuntimeError, KeyError):
        raise StorageError(
            "langgraph: is the store of the graph that runs, and none runs here: give LangGraphStorage(store)"
        ) from None
    if store is None:
        raise StorageError("langgraph: is the store of the graph that runs, and it has none: compile(store=...)")
    return store


def _namespace(scope: Scope) -> tuple[str, str, str]:
    """Labels without dots, and none of them empty."""
    return ROOT, folder_name(scope.user_id), scope.agent_name or SHARED


def _labels(store: BaseStore) -> Iterator[tuple[str, str]]:
    """User and agent of every namespace of ours."""
    offset = 0
    while page := store.list_namespaces(prefix=(ROOT,), limit=PAGE, offset=offset):
        yield from ((labels[1], labels[2]) for labels in page if len(labels) == 3)  # noqa: PLR2004 - as _namespace
        offset += len(page)
