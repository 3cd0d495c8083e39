"""Blackboard: an append-only log that several agents write, and read the last entries of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from memgraph.attachments import item_store as sql
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.database import MemoryDatabase, file_of
from memgraph.attachments.item import format_timestamp, interaction_metadata, item_source, owner_key, truncate
from memgraph.attachments.item_store import ItemStore, NewItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult

KIND = 0x6D676262  # "mgbb"


class BlackboardConfig(StoreConfig):
    """What several agents wrote last."""

    memory_path: str | None = None
    """A file; `auto` is one beside the run, called as the memory; none is RAM."""
    max_items: int = Field(default=1_000, ge=1, le=1_000_000)
    """Entries that are kept; the oldest go."""
    max_content_length: int = Field(default=4_000, ge=50, le=100_000)
    """Characters of an entry that a prompt is shown; all of it is kept."""
    shared: bool = False
    """Whether all users write on one board, rather than each on a board of their own."""


class BlackboardMemory(MemoryStore):
    """What the nodes that write to it answered, in the order they did. Any number of threads and processes may write.

    Args:
        name: As the configuration calls it.
        config: What is configured.
        folder: Where `memory_path` starts; None is the working folder.
        now: Tells the time.
    """

    def __init__(
        self,
        name: str,
        config: BlackboardConfig | None = None,
        *,
        folder: Path | str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._config = config or BlackboardConfig()
        self._now = now
        path = file_of(self._config.memory_path, name, folder)
        self._database = MemoryDatabase(path, migrations=(sql.ITEMS,), kind=KIND, what="blackboard")
        self._shelf = ItemStore(self._database, keep=self._config.max_items)

    def load(self) -> None:
        self._shelf.check()

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:  # noqa: ARG002 - by time
        """Return the last *top_k* entries, the oldest of them first."""
        items = self._shelf.latest(owner_key(query.scope, shared=self._config.shared), top_k)
        return [SearchResult(item, item_source(item), None) for item in items]

    def update(self, exchange: Interaction) -> None:
        """Append the output of a node; one that says nothing is no entry."""
        output = exchange.output
        if not output.blocks:
            return
        summary = truncate(output.text, self._config.max_content_length)
        draft = NewItem(summary, None, output, interaction_metadata(exchange), format_timestamp(self._now()))
        self._shelf.add(owner_key(exchange.scope, shared=self._config.shared), draft)

    def close(self) -> None:
        self._database.close()
