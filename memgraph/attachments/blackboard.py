"""blackboard: an append-only log that several agents write to and read the latest entries of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from memgraph.attachments.chatdev import import_chatdev
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.database import MemoryDatabase, file_of
from memgraph.attachments.item import format_timestamp, item_source, owner_key, truncate
from memgraph.attachments.item_store import ITEMS, ItemStore, NewItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult, relay

if TYPE_CHECKING:
    from memgraph.storage.traces import TraceCount

KIND = 0x6D676262  # "mgbb"


class BlackboardConfig(StoreConfig):
    """The latest entries of several agents."""

    memory_path: str | None = None
    """A file; `auto` is NAME.db in the folder of the run; none is RAM. A JSON file of ChatDev is imported into a file
    next to it, `memory.json.db`."""
    max_items: int = Field(default=1_000, ge=1, le=1_000_000)
    """Maximum number of entries; the oldest are evicted."""
    max_content_length: int = Field(default=4_000, ge=50, le=100_000)
    """Maximum characters of an entry in a prompt; the whole entry is stored."""
    shared: bool = False
    """Whether all users share one board; if not, each user has a separate one."""


class BlackboardMemory(MemoryStore):
    """The answers of nodes, in the order of writing. Any number of threads and processes may write.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        folder: Base of a relative `memory_path`; None is the working folder.
        now: Returns the current time.
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
        self._path = file_of(self._config.memory_path, name, folder)
        self._database = MemoryDatabase(self._path, migrations=(ITEMS,), kind=KIND, what="blackboard")
        self._items = ItemStore(self._database, max_items=self._config.max_items)

    def load(self) -> None:
        self._items.check()
        import_chatdev(self._path, self._items, self._now)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:  # noqa: ARG002 - entries are selected by time
        """Return the latest *top_k* entries, oldest first."""
        items = self._items.latest(owner_key(query.scope, shared=self._config.shared), top_k)
        found = [SearchResult(item, item_source(item), None) for item in items]
        return relay(found, query.scope) if self._config.shared else found

    def update(self, exchange: Interaction) -> None:
        """Append the output of a node, unless it is empty."""
        output = exchange.output
        if not output.blocks:
            return
        summary = truncate(output.text, self._config.max_content_length)
        item = NewItem(
            summary, None, output, exchange.metadata_of(shared=self._config.shared), format_timestamp(self._now())
        )
        self._items.add(owner_key(exchange.scope, shared=self._config.shared), item)

    def texts_of(self, user_id: str) -> list[list[str]]:
        return self._items.texts_of(user_id)

    def delete_user(self, user_id: str) -> None:
        self._items.delete_user(user_id)

    def find_traces(self, fragments: Collection[str]) -> TraceCount:
        return self._database.find_traces(fragments)

    def close(self) -> None:
        self._database.close()
