"""Storages: backends that store one memory document per user.

To add one, write a module with a `MemoryStorage` subclass and add a line to STORAGES.
"""

from __future__ import annotations

import logging
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph._validation import invalid_value
from memgraph.errors import ConfigError
from memgraph.storage.base import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STORAGES", "MemoryStorage", "open_storage", "open_url"]

STORAGES: Mapping[str, str] = {
    "file": "memgraph.storage.file.FileStorage",
    "langgraph": "memgraph.storage.langgraph.LangGraphStorage",
    "memory": "memgraph.storage.memory.InMemoryStorage",
    "postgres": "memgraph.storage.sql.PostgresStorage",
    "postgresql": "memgraph.storage.sql.PostgresStorage",
    "sqlite": "memgraph.storage.sql.SqliteStorage",
}
"""Class path of the storage for each URL scheme, imported at first use."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # a single letter is a Windows drive
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_LOADING_ERRORS = (
    *(ImportError, SyntaxError, NameError, AttributeError, TypeError),  # the class does not exist
    *(ValueError, LookupError, ArithmeticError, AssertionError, OSError, RuntimeError),  # its constructor failed
)

logger = logging.getLogger(__name__)


def open_storage(
    url: str | MemoryStorage = "file:", *, storage_path: str | None = None, fallback: bool = True
) -> MemoryStorage:
    """Open the storage at *url*.

    Args:
        url: A storage, which is returned unchanged; a URL (`file:DIR`, `file:DIR/NAME.json`, `sqlite:FILE`,
            `postgresql://...`, `langgraph:`, `memory:`); a path, which opens a file storage; or the dotted path of
            a MemoryStorage class, which is called with *storage_path*.
        storage_path: The location if *url* has none: a folder, NAME.json, or a URL. None is the platform's
            folder for user data.
        fallback: Whether to log an error and open the storage at *storage_path* if a class cannot be loaded.

    Raises:
        ConfigError: If the scheme is unknown, the URL is incomplete, or a class cannot be loaded and
            *fallback* is False.
    """
    if isinstance(url, MemoryStorage):
        return url
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        scheme = "sqlite" if str(url).endswith((".db", ".sqlite")) else "file"
        hint = f"; did you mean {f'{scheme}:{url}'!r}?" if isinstance(url, Path) else ""
        raise invalid_value("storage", url, f"a URL such as file:DIR or sqlite:FILE, or a MemoryStorage{hint}")
    if _DOTTED.fullmatch(url) and not url.endswith(".json"):
        return _open_class(url, storage_path, fallback=fallback)
    if url in {"", "file:"} and storage_path:
        return _open_url(storage_path)
    return _open_url(url)


def open_url(url: str, classes: Mapping[str, str], kind: str, *, default_scheme: str) -> Any:  # noqa: ANN401 - of any kind
    """Open *url* by the class that *classes* has for its scheme; a path has the default one.

    Raises:
        ConfigError: If the scheme is unknown or the rest of the URL is invalid.
    """
    match = _URL.fullmatch(url)
    scheme, location = (match[1].lower(), match[2]) if match else (default_scheme, url)
    if scheme not in classes:
        raise ConfigError(f"unknown {kind} scheme {scheme!r}; available: {', '.join(sorted(classes))}")
    module, _, name = classes[scheme].rpartition(".")
    try:
        return getattr(import_module(module), name).from_url(location)
    except ImportError as error:  # it needs a package that is not installed, and its message names that
        raise ConfigError(str(error)) from error


def _open_url(url: str) -> MemoryStorage:
    return open_url(url, STORAGES, "storage", default_scheme="file")


def _open_class(dotted: str, storage_path: str | None, *, fallback: bool) -> MemoryStorage:
    module, _, name = dotted.rpartition(".")
    try:
        imported: object = getattr(import_module(module), name)
        if not isinstance(imported, type) or not issubclass(imported, MemoryStorage):
            raise TypeError(f"{dotted} is not a MemoryStorage")
        return imported(storage_path)  # pyright: ignore[reportCallIssue] - the contract of such a class
    except _LOADING_ERRORS as error:
        problem = f"cannot open storage {dotted}: {type(error).__name__}: {error}"
        if not fallback:
            raise ConfigError(problem) from error
        logger.error("%s; using the file storage", problem)  # noqa: TRY400 - the message has the cause
    return _open_url(storage_path or "file:")
