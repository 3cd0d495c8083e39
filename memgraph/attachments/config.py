"""What the configuration of an attachable memory has in common."""

from __future__ import annotations

from typing import get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from memgraph.fields import TellsFields


class StoreConfig(TellsFields, BaseModel):
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
