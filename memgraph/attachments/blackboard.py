"""blackboard: an append-only log that several agents write to and read the latest entries of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from memgraph.attachments.database import file_of
from memgraph.attachments.item import truncate
from memgraph.attachments.items import SELECT_LATEST, Clock, ItemMemory
from memgraph.attachments.store import Interaction, SearchQuery, SearchResult, StoreConfig


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


class BlackboardMemory(ItemMemory):
    """The answers of nodes, in the order of writing. Any number of threads and processes may write.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        folder: Base of a relative `memory_path`; None is the working folder.
        now: Returns the current time.
    """

    kind = 0x6D676262  # "mgbb"
    part = "blackboard"

    def __init__(
        self,
        name: str,
        config: BlackboardConfig | None = None,
        *,
        folder: Path | str | None = None,
        now: Clock = lambda: datetime.now(UTC),
    ) -> None:
        self._config = config = config or BlackboardConfig()
        path = file_of(config.memory_path, name, folder)
        super().__init__(name, path, max_items=config.max_items, shared=config.shared, now=now)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:  # noqa: ARG002 - entries are selected by time
        """Return the latest *top_k* entries, oldest first."""
        items = self._items(SELECT_LATEST, {"owner": self._owner(query.scope), "count": top_k})
        return self._results(((item, None) for _, item in sorted(items.items())), query.scope)

    def update(self, exchange: Interaction) -> None:
        """Append the output of a node, unless it is empty."""
        if exchange.output.blocks:
            summary = truncate(exchange.output.text, self._config.max_content_length)
            self._add(exchange, summary, with_input=False)
