"""MemoryManager: the attachable memories of a graph, built and checked, and what is attached to which node."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memgraph._validation import suggest
from memgraph.attachments.binding import resolve_attachments
from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.definitions import StoreDefinition, build_stores
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreRegistry
from memgraph.attachments.runner import WAIT_SECONDS, StoreRunner
from memgraph.attachments.runs import AnonymousIdentityResolver
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult
from memgraph.errors import ConfigError
from memgraph.settings import Settings

if TYPE_CHECKING:
    from types import TracebackType

    from langgraph.graph import StateGraph


class LazyStore:
    """A memory, and whether it is loaded. What could not be loaded is tried again the next time."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._is_loaded = False
        self._lock = threading.Lock()

    def load(self) -> MemoryStore:
        """Return the memory, loaded."""
        with self._lock:
            if not self._is_loaded:
                self.store.load()
                self._is_loaded = True
        return self.store

    def save(self) -> None:
        """Have it write what it has not written yet."""
        if self._is_loaded:
            self.store.save()

    def close(self) -> None:
        """Save it and close it, if it was loaded."""
        with self._lock:
            if not self._is_loaded:
                return
            self._is_loaded = False
        try:
            self.store.save()
        finally:
            self.store.close()


B = TypeVar("B", bound="StateGraph[Any, Any, Any, Any]")


class MemoryManager:
    """The memories that nodes may attach: it builds, checks, loads, asks, feeds and closes them.

        manager = MemoryManager(
            memories=[{"name": "notes", "type": "simple", "config": {"memory_path": "auto"}}],
            attachments={"writer": ["notes"]},
        )
        with manager:
            graph = manager.attach_to(builder).compile()

    Nothing is opened until `load`, or until a memory is first used.

    Args:
        memories: Each as name, type and config, or a MemoryStore of your own.
        attachments: By the name of a node, the memories it uses: their names, or entries as `MemoryAttachment`.
        folder: What their paths are relative to, and where those lie whose path is `auto`; None is the working folder.
        settings: Of the memory of users, for `profile`, and of the embedding model where a memory names none.
        types: Which types there are; None is those of the package and of `register_memory_store`.
        wait_seconds: How long a node waits for its memories; None is for ever.

    Raises:
        ConfigError: If anything in it cannot be, by its path: `memories[1].name`.
    """

    def __init__(
        self,
        memories: Sequence[Mapping[str, Any] | StoreDefinition | MemoryStore] = (),
        attachments: Mapping[str, Sequence[str | Mapping[str, Any] | MemoryAttachment]] | None = None,
        *,
        folder: str | Path | None = None,
        settings: Settings | None = None,
        types: StoreRegistry | None = None,
        wait_seconds: float | None = WAIT_SECONDS,
    ) -> None:
        self.settings = settings or Settings()
        around = StoreContext(Path(folder or ""), self.settings)
        stores = build_stores(memories, MEMORY_TYPES if types is None else types, around)
        self._opened: Mapping[str, LazyStore] = {name: LazyStore(store) for name, store in stores.items()}
        bound = {node: resolve_attachments(entries, (self,), node) for node, entries in (attachments or {}).items()}
        self.attachments: Mapping[str, tuple[MemoryAttachment, ...]] = MappingProxyType(
            {node: tuple(each.attachment for each in attached) for node, attached in bound.items()}
        )
        self.calls = StoreRunner(wait_seconds=wait_seconds)
        self.runs = AnonymousIdentityResolver(self.settings)

    @classmethod
    def from_settings(cls, settings: Settings, *, folder: str | Path | None = None) -> Self:
        """Return the manager of what `memories:` and `attachments:` say.

        Raises:
            ConfigError: If anything in it cannot be.
        """
        return cls(settings.memories, settings.attachments, folder=folder, settings=settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The memories there are, in the order they were named."""
        return tuple(self._opened)

    def store(self, name: str) -> MemoryStore:
        """Return the memory called *name*, which may not be open yet.

        Raises:
            ConfigError: If there is none, with the nearest there is.
        """
        return self._find(name).store

    def attach_to(self, builder: B) -> B:
        """Attach to the nodes of *builder*, which is not compiled yet, what `attachments` says of each; return it.

        A node's stage is the `stage` of its metadata, else "gen". A compiled graph that is a node sees these
        memories too.

        Raises:
            ConfigError: If `attachments` names a node that is not there, or a stage is none.
        """
        from memgraph.attachments.attach import attach_all

        attach_all(builder, self)
        return builder

    # -- what is done with a memory --

    def load(self) -> None:
        """Open every memory.

        Raises:
            MemgraphError: If one cannot be read; what is stored is left as it is.
        """
        for opened in self._opened.values():
            opened.load()

    def retrieve(
        self, name: str, query: SearchQuery, *, top_k: int = 3, threshold: float = -1
    ) -> Sequence[SearchResult]:
        """Ask the memory called *name*.

        Raises:
            ConfigError: If there is none.
            MemgraphError: If it cannot answer.
        """
        return self._find(name).load().retrieve(query, top_k=top_k, threshold=threshold)

    def update(self, name: str, exchange: Interaction) -> None:
        """Have the memory called *name* remember *exchange*.

        Raises:
            ConfigError: If there is none, or it is read-only.
            MemgraphError: If it cannot be written.
        """
        found = self._find(name)
        if found.store.read_only:
            raise ConfigError(f"the memory {name!r} is read-only")
        found.load().update(exchange)

    def save(self) -> None:
        """Have every open memory write what it has not written yet."""
        for opened in self._opened.values():
            opened.save()

    def close(self) -> None:
        """Save and close every memory, also if one of them cannot be; a memory opens again when it is used."""
        with ExitStack() as stack:
            for opened in self._opened.values():
                stack.callback(opened.close)

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, name: str) -> LazyStore:
        if name not in self._opened:
            raise ConfigError(f"there is no memory {name!r}; {suggest(name, self._opened)}")
        return self._opened[name]
