"""Background memory updates: a durable queue (outbox), workers, and clients that submit conversations.

A new outbox is a module with an `Outbox` and one line in OUTBOXES.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from memgraph._validation import invalid_value
from memgraph.background.outbox import Outbox
from memgraph.config.load import server_database
from memgraph.storage import MemoryStorage, open_storage, open_url
from memgraph.storage.paths import default_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OUTBOXES", "Outbox", "open_outbox"]

OUTBOXES: Mapping[str, str] = {
    "memory": "memgraph.background.sql_outbox.InMemoryOutbox",
    "postgres": "memgraph.background.sql_outbox.PostgresOutbox",
    "postgresql": "memgraph.background.sql_outbox.PostgresOutbox",
    "sqlite": "memgraph.background.sql_outbox.SqliteOutbox",
}
"""The class of each URL scheme, imported on first use."""

_IN_MEMORY = "memory:"


def open_outbox(url: str | Outbox | None = None, *, storage: MemoryStorage | None = None) -> Outbox:
    """Return the outbox at *url*. Nothing is created or connected before its first use.

    Args:
        url: An outbox, which is returned unchanged; a URL (`sqlite:FILE`, `postgresql://...`, `memory:`); or the path
            of an SQLite file. None is a file in the platform's folder for user data, one for each storage.
        storage: Decides the file if *url* is None. The outbox contains the jobs of all storages; see
            `Outbox.for_storage`.

    Raises:
        ConfigError: If the scheme is unknown or the rest of the URL is invalid.
    """
    if isinstance(url, Outbox):
        return url
    if not isinstance(url, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise invalid_value("outbox", url, "a URL such as sqlite:FILE, the path of a file as a text, or an Outbox")
    if not url and storage is not None:
        url = _default_for(storage)
    return open_url(url or "", OUTBOXES, "outbox", default_scheme="sqlite")


def _default_for(storage: MemoryStorage) -> str:
    """Return the default outbox of a storage.

    Memories in RAM do not need a queue on disk. What waits for memories in the database of a LangGraph Server is there.
    """
    if storage.name.startswith(_IN_MEMORY):
        return _IN_MEMORY
    if (database := server_database()) and open_storage(str(database.value)).name == storage.name:
        return str(database.value)
    digest = hashlib.sha256(storage.name.encode("utf-8", "replace")).hexdigest()[:8]
    return str(default_folder() / f"outbox-{digest}.db")
