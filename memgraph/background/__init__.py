"""Invokers: the memory update, later and in the background, with nothing lost.

A new outbox is a module with an `Outbox` and one line in OUTBOXES.
"""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from memgraph.background.outbox import Outbox
from memgraph.errors import ConfigError
from memgraph.storage.paths import default_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memgraph.storage import MemoryStorage

__all__ = ["OUTBOXES", "Outbox", "open_outbox"]

OUTBOXES: Mapping[str, str] = MappingProxyType(
    {
        "memory": "memgraph.background.sqlite_outbox.InMemoryOutbox",
        "postgres": "memgraph.background.postgres_outbox.PostgresOutbox",
        "postgresql": "memgraph.background.postgres_outbox.PostgresOutbox",
        "sqlite": "memgraph.background.sqlite_outbox.SqliteOutbox",
    }
)
"""The class behind each URL scheme, imported when it is used."""

_RAM = "memory:"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # one letter would be a Windows drive


def open_outbox(url: str | Outbox | None = None, *, storage: MemoryStorage | None = None) -> Outbox:
    """Return the outbox that *url* names. Nothing is touched before it is used.

    Args:
        url: An outbox, which is returned as it is; a URL (`sqlite:FILE`, `postgresql://...`, `memory:`); or a path,
            which is an SQLite file. None is a file in the platform's folder for user data, one for each storage.
        storage: Where what waits will be learned into. A job does not name it, so those who learn into different
            storages must not share an outbox.

    Raises:
        ConfigError: If the scheme is unknown, or the URL names no place.
    """
    if isinstance(url, Outbox):
        return url
    if not url and storage is not None:
        url = _default_for(storage)
    match = _URL.fullmatch(url or "")
    scheme, location = (match[1].lower(), match[2]) if match else ("sqlite", url or "")
    if scheme not in OUTBOXES:
        raise ConfigError(f"no outbox is called {scheme!r}; there are {', '.join(sorted(OUTBOXES))}")
    module, _, name = OUTBOXES[scheme].rpartition(".")
    return cast("type[Outbox]", getattr(import_module(module), name)).from_url(location)


def _default_for(storage: MemoryStorage) -> str:
    """The outbox of a storage that none is named for; what is remembered in RAM only need not wait on disk."""
    if storage.name.startswith(_RAM):
        return _RAM
    digest = hashlib.sha256(storage.name.encode("utf-8", "replace")).hexdigest()[:8]
    return str(default_folder() / f"outbox-{digest}.db")
