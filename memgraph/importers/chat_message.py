"""ChatMessage: what the user or the assistant wrote in an exported conversation, as both kinds of exports have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memgraph.models import MAX_ID_CHARS, timestamp
from memgraph.text.dates import parse_time
from memgraph.text.normalize import clean

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import AnyMessage


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of an exported conversation."""

    id: str
    role: Literal["human", "ai"]
    text: str
    at: object = None
    """When it was written, as the export states it."""

    def to_langchain(self, default: datetime | None) -> AnyMessage:
        """Return the message for an update, with its time, or *default* if it states none."""
        from langchain_core.messages import AIMessage, HumanMessage

        written = parse_time(self.at) or default
        extra = {"timestamp": timestamp(written)} if written else {}
        message_class = HumanMessage if self.role == "human" else AIMessage
        message_id = clean(self.id)
        known = message_id if 0 < len(message_id) <= MAX_ID_CHARS else None
        return message_class(clean(self.text), id=known, additional_kwargs=extra)


def follow_parents(leaf: str, parents: Mapping[str, object]) -> list[str]:
    """Return the ids of the branch that ends at *leaf*, the oldest first.

    Args:
        leaf: The id of the last message.
        parents: The parent of each message; one that was deleted ends the branch.
    """
    branch: dict[str, None] = {}
    node: object = leaf
    while isinstance(node, str) and node in parents and node not in branch:
        branch[node] = None
        node = parents[node]
    return list(branch)[::-1]
