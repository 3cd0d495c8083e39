"""Where an attached memory is found: in the manager at hand, or in those of the graphs around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from memgraph.attachments.attachment import MemoryAttachment
from memgraph.attachments.checked import checked
from memgraph.config.problems import nearest, wrong_value
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.attachments.manager import MemoryManager
    from memgraph.attachments.store import Exchange, Found, Query


@dataclass(frozen=True)
class Bound:
    """An attachment, and whose memory it means."""

    manager: MemoryManager
    attachment: MemoryAttachment

    def retrieve(self, query: Query) -> Sequence[Found]:
        """Ask the memory."""
        attachment = self.attachment
        return self.manager.retrieve(
            attachment.name, query, top_k=attachment.top_k, threshold=attachment.similarity_threshold
        )

    def update(self, exchange: Exchange) -> tuple[()]:
        """Have the memory remember; nothing is found by that."""
        self.manager.update(self.attachment.name, exchange)
        return ()


def looked_up(entries: object, managers: Sequence[MemoryManager], node: str) -> tuple[Bound, ...]:
    """Find each of *entries* in the first of *managers* that has it.

    Raises:
        ConfigError: If none has it, it cannot be, or something is attached twice.
    """
    place = f"attachments.{node}"
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise wrong_value(place, entries, "a list of memories")
    home = {name: manager for manager in reversed(managers) for name in manager.names}
    found: dict[str, Bound] = {}
    for number, entry in enumerate(cast("Sequence[object]", entries)):
        bound = _bound(entry, home, f"{place}[{number}]")
        if bound.attachment.name in found:
            raise ConfigError(f"{place}[{number}].name is {bound.attachment.name!r}, which is attached there already")
        found[bound.attachment.name] = bound
    return tuple(found.values())


def _bound(entry: object, home: Mapping[str, MemoryManager], place: str) -> Bound:
    named = {"name": entry} if isinstance(entry, str) else entry
    given = named if isinstance(named, MemoryAttachment) else checked(MemoryAttachment, named, place)
    if given.name not in home:
        raise ConfigError(f"{place}.name is {given.name!r}, and there is no such memory; {nearest(given.name, home)}")
    manager = home[given.name]
    read_only = manager.store(given.name).read_only
    if given.write and read_only:
        raise ConfigError(f"{place}.write is true, but the memory {given.name!r} is read-only: leave write out")
    write = not read_only if given.write is None else given.write
    return Bound(manager, given.model_copy(update={"write": write}))
