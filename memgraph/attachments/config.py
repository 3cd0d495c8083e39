"""Configuration that all memory types share: the base class of `config:`, and attachments to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from memgraph.attachments.store import STAGE_ALIASES, Stage
from memgraph.fields import ChoiceLabels, FieldSpecMixin


class StoreConfig(FieldSpecMixin, BaseModel):
    """The `config:` of a memory. Each memory type has a subclass with its own keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _reject_booleans(cls, value: object, info: ValidationInfo) -> object:
        """Reject a boolean for a field of another type: Python treats True as 1, a setting does not."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and bool not in (kind, *get_args(kind)):
            raise ValueError("a boolean is neither a number nor a text")
        return value


STAGES = ChoiceLabels(pre="prepares", plan="plans", gen="writes", critique="judges what was written")
"""What a node of each stage does."""


def _to_stages(value: object) -> object:
    """Accept a single stage, and the names of stages in ChatDev."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, list | tuple):
        return value
    stages = cast("Sequence[object]", value)
    return tuple(STAGE_ALIASES.get(stage, stage) if isinstance(stage, str) else stage for stage in stages)


class MemoryAttachment(FieldSpecMixin, BaseModel):
    """One entry of `attachments:`: a memory attached to a node."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name of the memory, as in `memories:`."""
    retrieve_stage: Annotated[tuple[Stage, ...] | None, BeforeValidator(_to_stages), STAGES] = None
    """Stages of nodes that read the memory; none is all. ChatDev's pre_gen_thinking is pre, its post_gen_thinking and
    finished are critique."""
    top_k: Annotated[int, Field(ge=1, le=100)] = 3
    """Maximum number of items that a node receives."""
    similarity_threshold: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = -1
    """Minimum cosine similarity of an item to the node's input; -1 turns it off."""
    read: bool = True
    """Whether the node receives what the memory finds."""
    write: bool | None = None
    """Whether the exchange is remembered; none is yes unless the memory is read-only."""

    def is_read_at(self, stage: Stage) -> bool:
        """Return whether a node of *stage* reads the memory."""
        return self.read and (self.retrieve_stage is None or stage in self.retrieve_stage)
