"""The memory types that `memories:` may use, and building memories from their definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.profile import ProfileConfig, ProfileMemory
from memgraph.attachments.simple import BlackboardConfig, BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import MemoryStore, StoreConfig
from memgraph.config.load import expand_env
from memgraph.errors import ConfigError
from memgraph.fields import NONE_IS_DEFAULT, Choice, FieldSpec, FieldSpecMixin

if TYPE_CHECKING:
    from memgraph.settings import Settings


_NAME = re.compile(r"(?=.{1,64}\Z)[\w-]+(?: +[\w-]+)*")


@dataclass(frozen=True)
class StoreContext:
    """What a memory is built with, apart from its configuration."""

    folder: Path
    """Base of relative paths, and the place of `auto` ones."""
    settings: Settings


Factory = Callable[[str, Any, StoreContext], MemoryStore]
"""Builds a memory from its name, its configuration and the context; it does not open files yet."""


@dataclass(frozen=True)
class StoreType:
    """A type of memory."""

    name: str
    config_cls: type[StoreConfig]
    factory: Factory
    summary: str
    """One sentence on what it does, for lists of types."""
    example: Mapping[str, object] = field(default_factory=dict[str, object])
    """The `config:` of a template, if the defaults do not suit one."""


MEMORY_TYPES: dict[str, StoreType] = {
    kind.name: kind
    for kind in (
        StoreType(
            "simple",
            SimpleConfig,
            lambda name, config, context: SimpleMemory(name, config, folder=context.folder),
            summary="Remembers what nodes were asked and answered, and finds it by similarity to the question.",
            example={"memory_path": "auto"},
        ),
        StoreType(
            "file",
            FileConfig,
            lambda name, config, context: FileMemory(name, config, folder=context.folder),
            summary="Reads documents, and finds the passages that match the question; it is read-only.",
            example={"file_sources": [{"path": "documents"}], "embedding": "local"},
        ),
        StoreType(
            "blackboard",
            BlackboardConfig,
            lambda name, config, context: BlackboardMemory(name, config, folder=context.folder),
            summary="Shows the latest messages of several agents, in the order of writing.",
            example={"memory_path": "auto"},
        ),
        StoreType(
            "profile",
            ProfileConfig,
            lambda name, config, context: ProfileMemory(name, config, settings=context.settings),
            summary="Recalls what is known about the user, and learns it from the conversation.",
        ),
    )
}
"""The packaged types, and those of `register_memory_store`."""


def register_memory_store(name: str, *, config_cls: type[StoreConfig], factory: Factory, summary: str) -> None:
    """Register a memory type, so that `memories:` may use it.

    `register_memory_store("diary", config_cls=DiaryConfig, factory=diary, summary="Reads a diary.")` makes
    `type: diary` known: `diary(name, config, context)` returns the MemoryStore.

    The registration is valid for the process, since a configuration file can name a type but cannot define it. Types
    can be added but not replaced; call this where the type is defined. A `MemoryManager` that should know other
    types takes them as `types=`, by name.

    Args:
        name: The value of `type:`.
        config_cls: The keys of `config:`; a form shows its fields.
        factory: Called with the memory's name, its configuration and the context. It does not open files yet.
        summary: One sentence on what it does.

    Raises:
        ConfigError: If another type has this name.
    """
    kind = StoreType(name, config_cls, factory, summary)
    known = MEMORY_TYPES.setdefault(name, kind)
    # a notebook cell that runs again defines the same type again
    if len({(each.config_cls.__module__, each.config_cls.__qualname__) for each in (known, kind)}) > 1:
        raise ConfigError(f"there is a memory type {name!r} already: {known.summary} Choose another name")
    MEMORY_TYPES[name] = kind


# -- definitions ----------------------------------------------------------------------------------


class StoreDefinition(FieldSpecMixin, BaseModel):
    """One entry of `memories:`: a memory's name, type and configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name for attachments: letters, digits, blanks, - and _."""
    type: str
    """Type of the memory."""
    config: Annotated[Mapping[str, Any] | BaseModel, NONE_IS_DEFAULT] = Field(default_factory=dict[str, Any])
    """Configuration of that type."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """Return the specs of the fields; the choices of `type` are the types registered so far."""
        types = tuple(Choice(value=kind.name, summary=kind.summary) for kind in MEMORY_TYPES.values())
        specs = super().field_specs()
        return tuple(spec.model_copy(update={"choices": types}) if spec.name == "type" else spec for spec in specs)


def build_store(memory: object, path: str, types: Mapping[str, StoreType], context: StoreContext) -> MemoryStore:
    """Build *memory*, which is a MemoryStore, a StoreDefinition or a mapping with its keys.

    In a mapping, `${VAR}` is replaced by the environment variable; a StoreDefinition is used as it is.

    Raises:
        ConfigError: If it is invalid, with its path: `memories[1].name`, or names a variable that is not set.
    """
    if not isinstance(memory, MemoryStore | StoreDefinition):
        memory = validate_config(StoreDefinition, expand_env(memory, path), path)
    if not _NAME.fullmatch(memory.name):  # before the store is built, which may use it for a file
        raise invalid_value(f"{path}.name", memory.name, "1 to 64 letters, digits, - and _, or blanks between them")
    if isinstance(memory, MemoryStore):
        return memory
    if memory.type not in types:
        raise ConfigError(f"{path}.type is {memory.type!r}, which is not a memory type; {suggest(memory.type, types)}")
    kind = types[memory.type]
    config, default = memory.config, context.settings.embedding
    # `auto` is no default here: it would change what existing memories find
    has_default = default not in (None, "none", "auto") and "embedding" in kind.config_cls.model_fields
    if has_default and not isinstance(config, BaseModel):
        config = {"embedding": default, **config}
    validated = validate_config(kind.config_cls, config, f"{path}.config")
    try:
        return kind.factory(memory.name, validated, context)
    except ConfigError as error:
        raise ConfigError(f"{path}.config: {error}") from error
