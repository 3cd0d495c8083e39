"""Items of attachable memories, with snapshots of a node's input and output."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memgraph.attachments.media import Block, MediaAttachment, extract_media, restore_media
from memgraph.text.message import text_of
from memgraph.text.secrets import mask, mask_json
from memgraph.text.sentences import cut_at_sentence

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


def format_timestamp(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the microsecond: `2026-06-11T16:47:59.000120Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def truncate(text: str, limit: int) -> str:
    """Return *text*, cut at a sentence end if it is longer than *limit* characters."""
    # sliced first, so that a long text costs no more than a short one
    return cut_at_sentence(text.strip()[: limit + 1], limit, len)


FROZEN = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Snapshot(BaseModel):
    """The content of a message. Media data is stored apart from the blocks, once for each content."""

    model_config = FROZEN

    text: str = ""
    """The text, with a placeholder such as `[image]` for everything else."""
    blocks: tuple[Mapping[str, JsonValue], ...] = ()
    """The content blocks, with a placeholder for each piece of data."""
    attachments: tuple[MediaAttachment, ...] = ()
    """The images, sounds and files in it."""

    def content(self) -> list[Block]:
        """Return content blocks equal to the original ones, but for secrets."""
        return restore_media(self.blocks, self.attachments)


class MemoryItem(BaseModel):
    """An entry of a memory."""

    model_config = FROZEN

    id: str
    content_summary: str
    """The text that prompts show."""
    input_snapshot: Snapshot | None = None
    output_snapshot: Snapshot | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    timestamp: str
    """Time of the update: ISO 8601 in UTC, to the microsecond, ending in Z."""
    embedding: tuple[float, ...] | None = None
    """Unit vector, if the memory has an embedding model."""
    embedding_model: str = ""
    """Name of that model; vectors of different models cannot be compared."""


def take_snapshot(content: BaseMessage | str | list[str | Block] | Block | None) -> Snapshot:
    """Take a snapshot of a message, or of its content.

    A text becomes a text block, as in LangChain. Secrets are masked; else blocks of any kind are stored unchanged.
    Values that JSON cannot represent are converted: a tuple to a list, an object to its text.
    """
    inner = getattr(content, "content", content)
    parts = cast("list[object]", inner) if isinstance(inner, list) else [inner]
    blocks, attachments = extract_media(part for part in parts if part not in (None, ""))
    masked = cast("list[Mapping[str, JsonValue]]", mask_json(list(blocks)))
    return Snapshot(text=mask(text_of(parts)), blocks=tuple(masked), attachments=attachments)
