"""Memories built as configuration names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from memgraph._validation import invalid_value, validate_config
from memgraph.attachments.registry import MEMORY_TYPES
from memgraph.attachments.store import MemoryStore
from memgraph.errors import ConfigError
from memgraph.fields import Choice, FieldSpec, FieldSpecMixin

if TYPE_CHECKING:
    from memgraph.attachments.registry import StoreContext, StoreRegistry

_NAME = re.compile(r"[\w-]{1,64}")


class StoreDefinition(FieldSpecMixin, BaseModel):
    """A memory as configuration names it: one entry of `memories:`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """What attachments call it: letters, digits, - and _."""
    type: str
    """What kind of memory it is."""
    config: Mapping[str, Any] | BaseModel = Field(default_factory=dict[str, Any])
    """What that kind wants to know."""

    @classmethod
    def field_specs(cls) -> tuple[FieldSpec, ...]:
        """As of every class; the types are those there are now."""
        types = tuple(Choice(value=kind.name, summary=kind.summary) for kind in MEMORY_TYPES.values())
        specs = super().field_specs()
        return tuple(spec.model_copy(update={"choices": types}) if spec.name == "type" else spec for spec in specs)


def build_stores(memories: Sequence[object], types: StoreRegistry, around: StoreContext) -> dict[str, MemoryStore]:
    """Build *memories*, each a MemoryStore already, or what `ConfiguredMemory` says; return them by their names.

    Raises:
        ConfigError: If one of them cannot be, or two have one name; by its path, `memories[1].name`.
    """
    stores: dict[str, MemoryStore] = {}
    for number, memory in enumerate(memories):
        place = f"memories[{number}]"
        store = memory if isinstance(memory, MemoryStore) else _built(memory, place, types, around)
        _check_name(store.name, place)
        if store.name in stores:
            first = list(stores).index(store.name)
            raise ConfigError(f"{place}.name is {store.name!r}, which is the name of memories[{first}] already")
        stores[store.name] = store
    return stores


def _built(given: object, place: str, types: StoreRegistry, around: StoreContext) -> MemoryStore:
    memory = given if isinstance(given, StoreDefinition) else validate_config(StoreDefinition, given, place)
    _check_name(memory.name, place)
    kind = types.find(memory.type, f"{place}.type")
    completed = _completed(memory.config, kind.config_cls, around.settings.embedding)
    config = validate_config(kind.config_cls, completed, f"{place}.config")
    try:
        return kind.factory(memory.name, config, around)
    except ConfigError as error:
        raise ConfigError(f"{place}.config: {error}") from error


def _check_name(name: str, place: str) -> None:
    """A file may be called so."""
    if not _NAME.fullmatch(name):
        raise invalid_value(f"{place}.name", name, "1 to 64 letters, digits, - and _")


def _completed(config: Mapping[str, Any] | BaseModel, config_cls: type[BaseModel], default: object) -> object:
    """A memory that may embed, and does not say by what, takes the embedding model of the settings."""
    if isinstance(config, BaseModel) or default is None or "embedding" not in config_cls.model_fields:
        return config
    return {"embedding": default, **config}
