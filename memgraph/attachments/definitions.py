"""Definitions of stores in the configuration, and building stores from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from memgraph._validation import validate_config
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreRegistry
from memgraph.attachments.store import MemoryStore
from memgraph.attachments.store_set import check_name
from memgraph.errors import ConfigError
from memgraph.fields import Choice, FieldSpec, FieldSpecMixin


class StoreDefinition(FieldSpecMixin, BaseModel):
    """One entry of `memories:`: a memory's name, type and configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name for attachments: letters, digits, - and _."""
    type: str
    """Type of the memory."""
    config: Mapping[str, Any] | BaseModel = Field(default_factory=dict[str, Any])
    """Configuration of that type."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """Return the specs of the fields; the choices of `type` are the types registered so far."""
        types = tuple(Choice(value=kind.name, summary=kind.summary) for kind in MEMORY_TYPES.values())
        specs = super().field_specs()
        return tuple(spec.model_copy(update={"choices": types}) if spec.name == "type" else spec for spec in specs)


def build_stores(memories: Sequence[object], types: StoreRegistry, context: StoreContext) -> Iterator[MemoryStore]:
    """Build *memories*, each of which is a MemoryStore, a StoreDefinition or a mapping with its keys.

    Raises:
        ConfigError: If a definition is invalid, with its path: `memories[1].name`.
    """
    for index, memory in enumerate(memories):
        yield memory if isinstance(memory, MemoryStore) else _build(memory, f"memories[{index}]", types, context)


def _build(value: object, path: str, types: StoreRegistry, context: StoreContext) -> MemoryStore:
    definition = value if isinstance(value, StoreDefinition) else validate_config(StoreDefinition, value, path)
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
