"""Registry: the types of memory that `memories:` may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory
from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.memory_types import Factory, MemoryType, MemoryTypes, Surroundings
from memgraph.attachments.profile import ProfileConfig, ProfileMemory
from memgraph.attachments.simple import SimpleConfig, SimpleMemory

if TYPE_CHECKING:
    from memgraph.attachments.config import StoreConfig
    from memgraph.attachments.store import MemoryStore


def _simple(name: str, config: SimpleConfig, around: Surroundings) -> MemoryStore:
    return SimpleMemory(name, config, folder=around.folder)


def _file(name: str, config: FileConfig, around: Surroundings) -> MemoryStore:
    return FileMemory(name, config, folder=around.folder)


def _blackboard(name: str, config: BlackboardConfig, around: Surroundings) -> MemoryStore:
    return BlackboardMemory(name, config, folder=around.folder)


def _profile(name: str, config: ProfileConfig, around: Surroundings) -> MemoryStore:
    return ProfileMemory(name, config, settings=around.settings)


MEMORY_TYPES = MemoryTypes(
    [
        MemoryType(
            "simple",
            SimpleConfig,
            _simple,
            summary="Remembers what nodes were asked and answered, and finds it by its likeness to the question.",
            example={"memory_path": "auto"},
        ),
        MemoryType(
            "file",
            FileConfig,
            _file,
            summary="Reads documents, and finds the passages that fit the question; it is never written to.",
            example={"file_sources": [{"path": "documents"}], "embedding": "local"},
        ),
        MemoryType(
            "blackboard",
            BlackboardConfig,
            _blackboard,
            summary="Shows what several agents wrote last, in the order they did.",
            example={"memory_path": "auto"},
        ),
        MemoryType(
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
    MEMORY_TYPES.add(MemoryType(name, config_cls, factory, summary))
