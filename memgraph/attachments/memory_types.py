"""Types of attachable memories: how each is configured, and what builds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph.attachments.config import StoreConfig
from memgraph.config.problems import nearest
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.attachments.store import MemoryStore
    from memgraph.settings import Settings


@dataclass(frozen=True)
class Surroundings:
    """What a memory finds around it when it is built."""

    folder: Path
    """What paths are relative to, and where `auto` ones lie."""
    settings: Settings


Factory = Callable[[str, Any, Surroundings], "MemoryStore"]
"""Builds a memory of its name, its configuration, and what is around it; it opens nothing yet."""


@dataclass(frozen=True)
class MemoryType:
    """A type of memory."""

    name: str
    config_cls: type[StoreConfig]
    factory: Factory
    summary: str
    """One sentence that says what it does, for a list to choose from."""
    example: Mapping[str, object] = field(default_factory=dict[str, object])
    """What a template puts under `config:`, where that is not the default."""


class MemoryTypes(Mapping[str, MemoryType]):
    """Types by name. A name that is taken stays what it is."""

    def __init__(self, types: Iterable[MemoryType] = ()) -> None:
        self._types = {kind.name: kind for kind in types}
        self._lock = threading.Lock()

    def add(self, kind: MemoryType) -> None:
        """Add a type.

        Raises:
            ConfigError: If another one has its name.
        """
        with self._lock:
            known = self._types.get(kind.name)
            if known and _origin(known) != _origin(kind):
                raise ConfigError(f"there is a memory type {kind.name!r} already: {known.summary} Choose another name")
            self._types = {**self._types, kind.name: kind}  # whoever reads meanwhile reads the old one

    def find(self, name: str, place: str) -> MemoryType:
        """Return the type called *name*.

        Raises:
            ConfigError: If there is none; it names *place*, and the nearest there is.
        """
        if name not in self._types:
            raise ConfigError(f"{place} is {name!r}, which is no type of memory; {nearest(name, self._types)}")
        return self._types[name]

    def __getitem__(self, name: str) -> MemoryType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


def _origin(kind: MemoryType) -> tuple[str, str]:
    """Where it is from: the same code that runs again, as in a notebook's cell, makes it anew."""
    return kind.config_cls.__module__, kind.config_cls.__qualname__
