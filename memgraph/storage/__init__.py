"""Storages: where memories are kept.

A new one is a module with a `MemoryStorage` and one line in STORAGES.
"""

from __future__ import annotations

import logging
import re
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from memgraph.errors import ConfigError
from memgraph.storage.base import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STORAGES", "MemoryStorage", "open_storage"]

STORAGES: Mapping[str, str] = MappingProxyType(
    {
        "file": "memgraph.storage.file.FileStorage",
        "langgraph": "memgraph.storage.langgraph.LangGraphStorage",
        "memory": "memgraph.storage.memory.InMemoryStorage",
        "postgres": "memgraph.storage.postgres.PostgresStorage",
        "postgresql": "memgraph.storage.postgres.PostgresStorage",
        "sqlite": "memgraph.storage.sqlite.SqliteStorage",
    }
)
"""The class behind each URL scheme, imported when it is used."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # one letter would be a Windows drive
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_LOADING_ERRORS = (
    *(ImportError, SyntaxError, NameError, AttributeError, TypeError),  # there is no such class
    *(ValueError, LookupError, ArithmeticError, AssertionError, OSError, RuntimeError),  # it does not want to be made
)

logger = logging.getLogger(__name__)


def open_storage(
    url: str | MemoryStorage = "file:", *, storage_path: str | None = None, fallback: bool = True
) -> MemoryStorage:
    """Return the storage that *url* names.

    Args:
        url: A storage, which is returned as it is; a URL (`file:DIR`, `file:DIR/NAME.json`, `sqlite:FILE`,
            `memory:`); a path, which is a file storage; or the dotted path of a MemoryStorage class, which
            is called with *storage_path*.
        storage_path: Where to keep memories when *url* does not say: a folder, NAME.json, or a URL.
            None is the platform's folder for user data.
        fallback: Whether a class that cannot be loaded is logged as an error and replaced by the storage
            at *storage_path*.

    Raises:
        ConfigError: If the scheme is unknown, the URL names no place, or a class cannot be loaded and
            *fallback* is False.
    """
    if isinstance(url, MemoryStorage):
        return url
    if _DOTTED.fullmatch(url) and not url.endswith(".json"):
        return _open_class(url, storage_path, fallback=fallback)
    if url in {"", "file:"} and storage_path:
        return _open_place(storage_path)
    return _open_place(url)


def _open_place(place: str) -> MemoryStorage:
    match = _URL.fullmatch(place)
    scheme, location = (match[1].lower(), match[2]) if match else ("file", place)
    if scheme not in STORAGES:
        raise ConfigError(f"no storage is called {scheme!r}; there are {', '.join(sorted(STORAGES))}")
    return _storage_class(STORAGES[scheme]).from_url(location)


def _open_class(dotted: str, storage_path: str | None, *, fallback: bool) -> MemoryStorage:
    try:
        return _storage_class(dotted)(storage_path)  # pyright: ignore[reportCallIssue] - what such a class has to take
    except _LOADING_ERRORS as error:
        problem = f"storage {dotted} cannot be used: {type(error).__name__}: {error}"
        if not fallback:
            raise ConfigError(problem) from error
        logger.error("%s; the file storage is used", problem)  # noqa: TRY400 - one line says it
    return _open_place(storage_path or "file:")


def _storage_class(dotted: str) -> type[MemoryStorage]:
    module, _, name = dotted.rpartition(".")
    found: object = getattr(import_module(module), name)
    if not isinstance(found, type) or not issubclass(found, MemoryStorage):
        raise TypeError(f"{dotted} is no MemoryStorage")
    return found
