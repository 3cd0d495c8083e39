"""What attachable memories keep: items, with what went into a node and what came out, as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memgraph.attachments.attached import Attached, Block, put_together
from memgraph.attachments.parts import taken_apart
from memgraph.text.content import text_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

FROZEN = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Snapshot(BaseModel):
    """The content of a message. Data is kept beside the blocks, once for each content."""

    model_config = FROZEN

    text: str = ""
    """Its words, with a placeholder such as `[image]` for whatever is not text."""
    blocks: tuple[Mapping[str, JsonValue], ...] = ()
    """Its content blocks, a mark in the place of each piece of data."""
    attachments: tuple[Attached, ...] = ()
    """The images, sounds and files in it."""

    def content(self) -> list[Block]:
        """Return content blocks equal to those that the snapshot was taken of."""
        return put_together(self.blocks, self.attachments)


class MemoryItem(BaseModel):
    """One thing that is remembered."""

    model_config = FROZEN

    id: str
    content_summary: str
    """What is shown of it in a prompt."""
    input_snapshot: Snapshot | None = None
    output_snapshot: Snapshot | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    timestamp: str
    """When it was remembered: ISO 8601 in UTC, to the microsecond, ending in Z."""
    embedding: tuple[float, ...] | None = None
    """A vector of length 1, where an embedding model made one."""
    embedding_model: str = ""
    """The model that made it; vectors of two models cannot be compared."""


def snapshot_of(content: BaseMessage | str | list[str | Block] | Block | None) -> Snapshot:
    """Take a snapshot of a message, or of its content.

    A text becomes a text block, as LangChain itself reads it. Blocks of whatever kind are kept as they are.
    What JSON has no word for becomes its nearest: a tuple a list, an object its text.
    """
    inside = getattr(content, "content", content)
    parts = cast("list[object]", inside) if isinstance(inside, list) else [inside]
    blocks, attachments = taken_apart(part for part in parts if part not in (None, ""))
    return Snapshot(text=text_of(parts), blocks=blocks, attachments=attachments)
