"""Where an attached memory is found: in the manager at hand, or in those of the graphs around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.attachments.config import MemoryAttachment
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager
    from memgraph.attachments.store import Interaction, SearchQuery, SearchResult


@dataclass(frozen=True)
class BoundStore:
    """An attachment, and whose memory it means."""

    manager: MemoryManager
    attachment: MemoryAttachment

    def retrieve(self, query: SearchQuery) -> Sequence[SearchResult]:
        """Ask the memory."""
        attachment = self.attachment
        return self.manager.retrieve(
            attachment.name, query, top_k=attachment.top_k, threshold=attachment.similarity_threshold
        )

    def update(self, exchange: Interaction) -> tuple[()]:
        """Have the memory remember; nothing is found by that."""
        self.manager.update(self.attachment.name, exchange)
        return ()


def resolve_attachments(entries: object, managers: Sequence[MemoryManager], node: str) -> tuple[BoundStore, ...]:
    """Find each of *entries* in the first of *managers* that has it.

    Raises:
        ConfigError: If none has it, it cannot be, or something is attached twice.
    """
    place = f"attachments.{node}"
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise invalid_value(place, entries, "a list of memories")
    home = {name: manager for manager in reversed(managers) for name in manager.names}
    found: dict[str, BoundStore] = {}
    for number, entry in enumerate(cast("Sequence[object]", entries)):
        bound = _bound(entry, home, f"{place}[{number}]")
        if bound.attachment.name in found:
            raise ConfigError(f"{place}[{number}].name is {bound.attachment.name!r}, which is attached there already")
        found[bound.attachment.name] = bound
    return tuple(found.values())


def _bound(entry: object, home: Mapping[str, MemoryManager], place: str) -> BoundStore:
    named = {"name": entry} if isinstance(entry, str) else entry
    given = named if isinstance(named, MemoryAttachment) else validate_config(MemoryAttachment, named, place)
    if given.name not in home:
        raise ConfigError(f"{place}.name is {given.name!r}, and there is no such memory; {suggest(given.name, home)}")
    manager = home[given.name]
    read_only = manager.store(given.name).read_only
    if given.write and read_only:
        raise ConfigError(f"{place}.write is true, but the memory {given.name!r} is read-only: leave write out")
    write = not read_only if given.write is None else given.write
    return BoundStore(manager, given.model_copy(update={"write": write}))
