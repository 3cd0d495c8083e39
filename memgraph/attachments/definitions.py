"""Definitions of stores in the configuration, and building stores from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memgraph._validation import validate_config
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreRegistry
from memgraph.attachments.store import MemoryStore
from memgraph.attachments.store_set import check_name
from memgraph.config.sources import expand_env
from memgraph.errors import ConfigError
from memgraph.fields import Choice, FieldSpec, FieldSpecMixin


def _none_as_empty(value: object) -> object:
    """Read `config:` without a value, which is None in YAML, as no keys."""
    return {} if value is None else value


class StoreDefinition(FieldSpecMixin, BaseModel):
    """One entry of `memories:`: a memory's name, type and configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name for attachments: letters, digits, blanks, - and _."""
    type: str
    """Type of the memory."""
    config: Annotated[Mapping[str, Any] | BaseModel, BeforeValidator(_none_as_empty)] = Field(
        default_factory=dict[str, Any]
    )
    """Configuration of that type."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """Return the specs of the fields; the choices of `type` are the types registered so far."""
        types = tuple(Choice(value=kind.name, summary=kind.summary) for kind in MEMORY_TYPES.values())
        specs = super().field_specs()
        return tuple(spec.model_copy(update={"choices": types}) if spec.name == "type" else spec for spec in specs)


def build_stores(memories: Sequence[object], types: StoreRegistry, context: StoreContext) -> Iterator[MemoryStore]:
    """Build *memories*, each of which is a MemoryStore, a StoreDefinition or a mapping with its keys.

    In a mapping, `${VAR}` is replaced by the environment variable; a StoreDefinition is used as it is.

    Raises:
        ConfigError: If a definition is invalid, with its path: `memories[1].name`, or names a variable that is not set.
    """
    for index, memory in enumerate(memories):
        path = f"memories[{index}]"
        if isinstance(memory, MemoryStore):
            yield memory
        elif isinstance(memory, StoreDefinition):
            yield _build(memory, path, types, context)
        else:
            yield _build(validate_config(StoreDefinition, expand_env(memory, path), path), path, types, context)


def parse_definitions(memories: Sequence[object]) -> list[StoreDefinition]:
    """Return the definitions in settings, where `${VAR}` was replaced when the file was read.

    Raises:
        ConfigError: If a definition is invalid, with its path: `memories[1].name`.
    """
    return [validate_config(StoreDefinition, memory, f"memories[{index}]") for index, memory in enumerate(memories)]


def _build(definition: StoreDefinition, path: str, types: StoreRegistry, context: StoreContext) -> MemoryStore:
    check_name(definition.name, path)  # before the store is built, which may use it for a file
    kind = types.find(definition.type, f"{path}.type")
    completed = _with_default_embedding(definition.config, kind.config_cls, context.settings.embedding)
    config = validate_config(kind.config_cls, completed, f"{path}.config")
    try:
        return kind.factory(definition.name, config, context)
    except ConfigError as error:
        raise ConfigError(f"{path}.config: {error}") from error


def _with_default_embedding(
    config: Mapping[str, Any] | BaseModel, config_cls: type[BaseModel], default: object
) -> object:
    """Add the embedding model of the settings if the type has one and *config* does not set it."""
    if isinstance(config, BaseModel) or default is None or "embedding" not in config_cls.model_fields:
        return config
    return {"embedding": default, **config}
