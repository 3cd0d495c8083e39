"""Binding: resolves the attachments of a node to the stores that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.store import Interaction, SearchQuery, SearchResult
from memgraph.attachments.store_set import StoreSet
from memgraph.errors import ConfigError


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
