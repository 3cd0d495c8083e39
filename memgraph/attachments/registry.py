"""Registry: the types of memory that `memories:` may name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph._validation import suggest
from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory
from memgraph.attachments.config import StoreConfig
from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.profile import ProfileConfig, ProfileMemory
from memgraph.attachments.simple import SimpleConfig, SimpleMemory
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.attachments.config import StoreConfig
    from memgraph.attachments.store import MemoryStore
    from memgraph.settings import Settings


@dataclass(frozen=True)
class StoreContext:
    """What a memory finds around it when it is built."""

    folder: Path
    """What paths are relative to, and where `auto` ones lie."""
    settings: Settings


Factory = Callable[[str, Any, StoreContext], "MemoryStore"]
"""Builds a memory of its name, its configuration, and what is around it; it opens nothing yet."""


@dataclass(frozen=True)
class StoreType:
    """A type of memory."""

    name: str
    config_cls: type[StoreConfig]
    factory: Factory
    summary: str
    """One sentence that says what it does, for a list to choose from."""
    example: Mapping[str, object] = field(default_factory=dict[str, object])
    """What a template puts under `config:`, where that is not the default."""


class StoreRegistry(Mapping[str, StoreType]):
    """Types by name. A name that is taken stays what it is."""

    def __init__(self, types: Iterable[StoreType] = ()) -> None:
        self._types = {kind.name: kind for kind in types}
        self._lock = threading.Lock()

    def add(self, kind: StoreType) -> None:
        """Add a type.

        Raises:
            ConfigError: If another one has its name.
        """
        with self._lock:
            known = self._types.get(kind.name)
            if known and _origin(known) != _origin(kind):
                raise ConfigError(f"there is a memory type {kind.name!r} already: {known.summary} Choose another name")
            self._types = {**self._types, kind.name: kind}  # whoever reads meanwhile reads the old one

    def find(self, name: str, place: str) -> StoreType:
        """Return the type called *name*.

        Raises:
            ConfigError: If there is none; it names *place*, and the nearest there is.
        """
        if name not in self._types:
            raise ConfigError(f"{place} is {name!r}, which is no type of memory; {suggest(name, self._types)}")
        return self._types[name]

    def __getitem__(self, name: str) -> StoreType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


def _origin(kind: StoreType) -> tuple[str, str]:
    """Where it is from: the same code that runs again, as in a notebook's cell, makes it anew."""
    return kind.config_cls.__module__, kind.config_cls.__qualname__


def _simple(name: str, config: SimpleConfig, around: StoreContext) -> MemoryStore:
    return SimpleMemory(name, config, folder=around.folder)


def _file(name: str, config: FileConfig, around: StoreContext) -> MemoryStore:
    return FileMemory(name, config, folder=around.folder)


def _blackboard(name: str, config: BlackboardConfig, around: StoreContext) -> MemoryStore:
    return BlackboardMemory(name, config, folder=around.folder)


def _profile(name: str, config: ProfileConfig, around: StoreContext) -> MemoryStore:
    return ProfileMemory(name, config, settings=around.settings)


MEMORY_TYPES = StoreRegistry(
    [
        StoreType(
            "simple",
            SimpleConfig,
            _simple,
            summary="Remembers what nodes were asked and answered, and finds it by its likeness to the question.",
            example={"memory_path": "auto"},
        ),
        StoreType(
            "file",
            FileConfig,
            _file,
            summary="Reads documents, and finds the passages that fit the question; it is never written to.",
            example={"file_sources": [{"path": "documents"}], "embedding": "local"},
        ),
        StoreType(
            "blackboard",
            BlackboardConfig,
            _blackboard,
            summary="Shows what several agents wrote last, in the order they did.",
            example={"memory_path": "auto"},
        ),
        StoreType(
            "profile",
            ProfileConfig,
            _profile,
            summary="Tells what is known of the user, and learns it from what is said.",
        ),
    ]
)
"""The packaged types, and those of `register_memory_store`."""


def register_memory_store(name: str, *, config_cls: type[StoreConfig], factory: Factory, summary: str) -> None:
    """Add a type of memory of your own, so that `memories:` may name it.

        class DiaryConfig(StoreConfig):
            path: str

        def diary(name: str, config: DiaryConfig, around: Surroundings) -> MemoryStore:
            return Diary(name, around.folder / config.path)

        register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")

    What is added holds for the process: a file of configuration names types, and cannot bring them along. So it
    only adds, and never replaces, and is meant to be called where the type is defined. A `MemoryManager`
    that shall know other types takes a table of its own, by `types=`.

    Args:
        name: As `type:` says it.
        config_cls: What `config:` may hold; a form is made of its fields.
        factory: Called with the memory's name, its configuration, and what is around it. It opens nothing yet.
        summary: One sentence that says what it does.

    Raises:
        ConfigError: If another type has this name.
    """
    MEMORY_TYPES.add(StoreType(name, config_cls, factory, summary))
