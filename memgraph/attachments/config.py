"""What the configuration of an attachable memory has in common."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from memgraph.attachments.store import Stage
from memgraph.fields import ChoiceLabels, FieldSpecMixin


class StoreConfig(FieldSpecMixin, BaseModel):
    """The `config:` of a memory. Every kind of memory has a subclass that names its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _keep_booleans_apart(cls, value: object, info: ValidationInfo) -> object:
        """Python counts True as 1; a setting does not."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and bool not in (kind, *get_args(kind)):
            raise ValueError("a boolean is no number and no text")
        return value


STAGES = ChoiceLabels(pre="prepares", plan="plans", gen="writes", critique="judges what was written")
"""What a node of each stage does."""


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class MemoryAttachment(FieldSpecMixin, BaseModel):
    """A memory that is attached to a node: one entry of `attachments:`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """The memory, as `memories:` calls it."""
    retrieve_stage: Annotated[tuple[Stage, ...] | None, BeforeValidator(_as_list), STAGES] = None
    """Stages of nodes at which it is read; none is all."""
    top_k: Annotated[int, Field(ge=1, le=100)] = 3
    """Items that the node is told at most."""
    similarity_threshold: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = -1
    """The least cosine similarity of an item to the node's input; -1 is off."""
    read: bool = True
    """Whether the node is told what is found."""
    write: bool | None = None
    """Whether the exchange is remembered; none is wherever the memory can be written."""

    def is_read_at(self, stage: Stage) -> bool:
        """Tell whether a node of *stage* is told anything by it."""
        return self.read and (self.retrieve_stage is None or stage in self.retrieve_stage)
