"""What attachable memories keep: items, with what went into a node and what came out, as it was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memgraph.attachments.media import Block, MediaAttachment, extract_media, restore_media
from memgraph.text.message import text_of
from memgraph.text.normalize import clean
from memgraph.text.sentences import cut_at_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.messages import BaseMessage

    from memgraph.attachments.store import Interaction
    from memgraph.models import Scope


ANSWERED = "\n→ "
"""Between what a node was given and what it answered."""


def owner_key(scope: Scope | None, *, shared: bool) -> str:
    """Whose items are seen: the user's; nobody's in particular where there is no user, or all share."""
    return scope.user_id if scope and not shared else ""


def interaction_metadata(exchange: Interaction) -> Mapping[str, JsonValue]:
    """Where an exchange was made, for an item's metadata."""
    agent = exchange.scope.agent_name if exchange.scope else None
    said = {"node": exchange.node, "thread_id": exchange.thread_id, "agent_name": agent}
    return {key: clean(value) for key, value in said.items() if value}


def item_source(item: MemoryItem) -> str:
    """Who wrote an item."""
    return str(item.metadata.get("node", ""))


def format_timestamp(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the microsecond: `2026-06-11T16:47:59.000120Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def summarize_exchange(exchange: Interaction, limit: int) -> str:
    """Say in at most *limit* characters what was given and answered; where it is too long, half of it is the answer."""
    given, answer = exchange.input.text.strip(), exchange.output.text.strip()
    room = limit - len(ANSWERED)
    given = truncate(given, max(room // 2, room - len(answer)))
    answer = truncate(answer, room - len(given))
    return f"{given}{ANSWERED}{answer}" if given and answer else given or answer


def truncate(text: str, limit: int) -> str:
    """Return the beginning of *text*, cut at a sentence end where it is longer than *limit* characters."""
    # looked for near the beginning only, so that a long text costs no more than a short one
    return cut_at_sentence(text.strip()[: limit + 1], limit, len)


FROZEN = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Snapshot(BaseModel):
    """The content of a message. Data is kept beside the blocks, once for each content."""

    model_config = FROZEN

    text: str = ""
    """Its words, with a placeholder such as `[image]` for whatever is not text."""
    blocks: tuple[Mapping[str, JsonValue], ...] = ()
    """Its content blocks, a mark in the place of each piece of data."""
    attachments: tuple[MediaAttachment, ...] = ()
    """The images, sounds and files in it."""

    def content(self) -> list[Block]:
        """Return content blocks equal to those that the snapshot was taken of."""
        return restore_media(self.blocks, self.attachments)


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
    blocks, attachments = extract_media(part for part in parts if part not in (None, ""))
    return Snapshot(text=text_of(parts), blocks=blocks, attachments=attachments)
