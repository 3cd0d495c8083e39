"""Background memory updates: a durable queue (outbox), workers, and clients that submit conversations.

A new outbox is a module with an `Outbox` and one line in OUTBOXES.
"""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from memgraph.background.outbox import Outbox
from memgraph.config.load import server_database
from memgraph.errors import ConfigError
from memgraph.storage import open_storage
from memgraph.storage.paths import default_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memgraph.storage import MemoryStorage

__all__ = ["OUTBOXES", "Outbox", "open_outbox"]

OUTBOXES: Mapping[str, str] = MappingProxyType(
    {
        "memory": "memgraph.background.sql_outbox.InMemoryOutbox",
        "postgres": "memgraph.background.sql_outbox.PostgresOutbox",
        "postgresql": "memgraph.background.sql_outbox.PostgresOutbox",
        "sqlite": "memgraph.background.sql_outbox.SqliteOutbox",
    }
)
"""The class of each URL scheme, imported on first use."""

_IN_MEMORY = "memory:"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # a single letter is a Windows drive


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
    if not url and storage is not None:
        url = _default_for(storage)
    match = _URL.fullmatch(url or "")
    scheme, location = (match[1].lower(), match[2]) if match else ("sqlite", url or "")
    if scheme not in OUTBOXES:
        raise ConfigError(f"unknown outbox scheme {scheme!r}; available: {', '.join(sorted(OUTBOXES))}")
    module, _, name = OUTBOXES[scheme].rpartition(".")
    try:
        outbox_class = cast("type[Outbox]", getattr(import_module(module), name))
        return outbox_class.from_url(location)
    except ImportError as error:  # it needs a package that is not installed, and its message names that
        raise ConfigError(str(error)) from error


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
