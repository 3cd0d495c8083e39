"""Invokers: the memory update, later and in the background, with nothing lost.

A new outbox is a module with an `Outbox` and one line in OUTBOXES.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from memgraph.errors import ConfigError
from memgraph.invokers.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OUTBOXES", "Outbox", "open_outbox"]

OUTBOXES: Mapping[str, str] = MappingProxyType(
    {
        "memory": "memgraph.invokers.sqlite_outbox.RamOutbox",
        "postgres": "memgraph.invokers.postgres_outbox.PostgresOutbox",
        "postgresql": "memgraph.invokers.postgres_outbox.PostgresOutbox",
        "sqlite": "memgraph.invokers.sqlite_outbox.SqliteOutbox",
    }
)
"""The class behind each URL scheme, imported when it is used."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # one letter would be a Windows drive


def open_outbox(url: str | Outbox | None = None) -> Outbox:
    """Return the outbox that *url* names. Nothing is touched before it is used.

    Args:
        url: An outbox, which is returned as it is; a URL (`sqlite:FILE`, `memory:`); or a path, which is an
            SQLite file. None is `outbox.db` in the platform's folder for user data.

    Raises:
        ConfigError: If the scheme is unknown, or the URL names no place.
    """
    if isinstance(url, Outbox):
        return url
    match = _URL.fullmatch(url or "")
    scheme, location = (match[1].lower(), match[2]) if match else ("sqlite", url or "")
    if scheme not in OUTBOXES:
        raise ConfigError(f"no outbox is called {scheme!r}; there are {', '.join(sorted(OUTBOXES))}")
    module, _, name = OUTBOXES[scheme].rpartition(".")
    return cast("type[Outbox]", getattr(import_module(module), name)).from_url(location)
