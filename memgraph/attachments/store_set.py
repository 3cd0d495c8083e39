"""Named stores that open at first use, what nodes need to run them, and the stores that a node attaches."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.agents.identity import IdentityResolver
from memgraph.attachments.runner import DEFAULT_TIMEOUT_SECONDS, StoreRunner
from memgraph.attachments.store import Interaction, MemoryAttachment, MemoryStore, SearchQuery, SearchResult
from memgraph.errors import ConfigError
from memgraph.settings import Settings

if TYPE_CHECKING:
    from types import TracebackType

_NAME = re.compile(r"(?=.{1,64}\Z)[\w-]+(?: +[\w-]+)*")


class LazyStore:
    """A store that is loaded at first use. If loading fails, the next use tries again."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._is_loaded = False
        self._lock = threading.Lock()

    def load(self) -> MemoryStore:
        """Return the store, loaded."""
        with self._lock:
            if not self._is_loaded:
                self.store.load()
                self._is_loaded = True
        return self.store

    def save(self) -> None:
        """Save the store if it was loaded."""
        if self._is_loaded:
            self.store.save()

    def close(self) -> None:
        """Save and close the store if it was loaded."""
        with self._lock:
            if not self._is_loaded:
                return
            self._is_loaded = False
        try:
            self.store.save()
        finally:
            self.store.close()


class StoreSet:
    """Stores by name.

    Args:
        stores: Any number of stores with different names.
        settings: Whether memory is enabled; None is the defaults.
        wait_seconds: Seconds that a node waits for its memories; None waits without limit.

    Raises:
        ConfigError: If a name is invalid or used twice, with its path: `memories[1].name`.
    """

    attachments: Mapping[str, tuple[MemoryAttachment, ...]]
    """The configured attachments of each node, by its name."""

    def __init__(
        self,
        stores: Iterable[MemoryStore],
        *,
        settings: Settings | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self._stores: dict[str, LazyStore] = {}
        for index, store in enumerate(stores):
            check_name(store.name, f"memories[{index}]")
            if store.name in self._stores:
                first = list(self._stores).index(store.name)
                raise ConfigError(
                    f"memories[{index}].name is {store.name!r}, which is the name of memories[{first}] already"
                )
            self._stores[store.name] = LazyStore(store)
        self.attachments = {}
        self.settings = settings or Settings()
        self.runner = StoreRunner(wait_seconds=wait_seconds)
        self.identities = IdentityResolver(self.settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the memories, in the order of their definitions."""
        return tuple(self._stores)

    def store(self, name: str) -> MemoryStore:
        """Return the memory called *name*, which may not be loaded yet.

        Raises:
            ConfigError: If there is no such memory; it suggests the most similar name.
        """
        return self._find(name).store

    def load(self) -> None:
        """Load every memory.

        Raises:
            MemgraphError: If a memory cannot be read; its stored content is left unchanged.
        """
        for store in self._stores.values():
            store.load()

    def retrieve(
        self, name: str, query: SearchQuery, *, top_k: int = 3, threshold: float = -1
    ) -> Sequence[SearchResult]:
        """Search the memory called *name*.

        Raises:
            ConfigError: If there is no such memory.
            MemgraphError: If the search fails.
        """
        return self._find(name).load().retrieve(query, top_k=top_k, threshold=threshold)

    def update(self, name: str, exchange: Interaction) -> None:
        """Add *exchange* to the memory called *name*.

        Raises:
            ConfigError: If there is no such memory, or it is read-only.
            MemgraphError: If it cannot be written.
        """
        found = self._find(name)
        if found.store.read_only:
            raise ConfigError(f"the memory {name!r} is read-only")
        found.load().update(exchange)

    def save(self) -> None:
        """Save every loaded memory."""
        for store in self._stores.values():
            store.save()

    def close(self) -> None:
        """Save and close every memory, even if one of them fails. A closed memory opens again when it is used."""
        with ExitStack() as stack:
            for store in self._stores.values():
                stack.callback(store.close)

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, name: str) -> LazyStore:
        if name not in self._stores:
            raise ConfigError(f"there is no memory {name!r}; {suggest(name, self._stores)}")
        return self._stores[name]


@dataclass(frozen=True)
class BoundStore:
    """An attachment and the set that has its store."""

    stores: StoreSet
    attachment: MemoryAttachment

    def retrieve(self, query: SearchQuery) -> Sequence[SearchResult]:
        """Search the store as the attachment configures it."""
        attachment = self.attachment
        return self.stores.retrieve(
            attachment.name, query, top_k=attachment.top_k, threshold=attachment.similarity_threshold
        )

    def update(self, exchange: Interaction) -> tuple[()]:
        """Add *exchange* to the store; return no results."""
        self.stores.update(self.attachment.name, exchange)
        return ()


def resolve_attachments(entries: object, sets: Sequence[StoreSet], node: str) -> tuple[BoundStore, ...]:
    """Resolve each of *entries* in the first of *sets* that has a store of its name.

    Raises:
        ConfigError: If an entry is invalid, names an unknown store, or attaches a store twice.
    """
    path = f"attachments.{node}"
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise invalid_value(path, entries, "a list of memories")
    owners = {name: stores for stores in reversed(sets) for name in stores.names}
    found: dict[str, BoundStore] = {}
    for index, entry in enumerate(cast("Sequence[object]", entries)):
        bound = _bind(entry, owners, f"{path}[{index}]")
        if bound.attachment.name in found:
            raise ConfigError(f"{path}[{index}].name is {bound.attachment.name!r}, which is attached there already")
        found[bound.attachment.name] = bound
    return tuple(found.values())


def _bind(entry: object, owners: Mapping[str, StoreSet], path: str) -> BoundStore:
    value = {"name": entry} if isinstance(entry, str) else entry
    attachment = value if isinstance(value, MemoryAttachment) else validate_config(MemoryAttachment, value, path)
    name = attachment.name
    if name not in owners:
        raise ConfigError(f"{path}.name is {name!r}, and there is no such memory; {suggest(name, owners)}")
    stores = owners[name]
    read_only = stores.store(name).read_only
    if attachment.write and read_only:
        raise ConfigError(f"{path}.write is true, but the memory {name!r} is read-only: leave write out")
    write = not read_only if attachment.write is None else attachment.write
    return BoundStore(stores, attachment.model_copy(update={"write": write}))


def check_name(name: str, path: str) -> None:
    """Check that *name* can be part of a file name.

    Raises:
        ConfigError: If it cannot.
    """
    if not _NAME.fullmatch(name):
        raise invalid_value(f"{path}.name", name, "1 to 64 letters, digits, - and _, or blanks between them")
