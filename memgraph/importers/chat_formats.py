"""Conversations of ChatGPT and Claude: the messages on the branch that the user sees.

In an export of ChatGPT a conversation is a tree of nodes under `mapping`: an edited question or a regenerated answer
makes a branch, and the user sees the one that ends at `current_node`. In one of Claude it is a list of messages under
`chat_messages`; if they name their parents, they are a tree as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast

from memgraph.analysis.dates import parse_time
from memgraph.analysis.normalize import clean
from memgraph.errors import EditError
from memgraph.importers.documents import Item, as_item, item_in, items_in, text_in
from memgraph.models import MAX_ID_CHARS, timestamp

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import AnyMessage

ROLES: Mapping[str, Literal["human", "ai"]] = MappingProxyType({"human": "human", "user": "human", "assistant": "ai"})
"""Authors whose messages are learned from; not system and tool."""


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


def _branch(nodes: Mapping[str, Item], leaf: object, parent: str) -> list[tuple[str, Item]]:
    """Return the nodes of the branch that ends at *leaf* with their ids, the oldest first.

    Args:
        nodes: The messages by their ids.
        leaf: The id of the last one.
        parent: The key of a node that has the id of the one before; one that was deleted ends the branch.
    """
    branch: dict[str, Item] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(branch.items())[::-1]


# -- ChatGPT --------------------------------------------------------------------------------------

TEXT_TYPES = frozenset({"text", "multimodal_text"})
"""Content that is said; others are code, its output, thoughts, web pages and custom instructions."""
SPOKEN = "audio_transcription"
"""The type of a part of a voice message with its words."""


def parse_chatgpt(chat: Item) -> list[ChatMessage]:
    """Return the messages on the current branch of a conversation, the oldest first.

    Left out are messages that ChatGPT does not show, calls of tools and their results. Of an image or a recording, its
    words only.

    Raises:
        EditError: If *chat* has no tree of messages.
    """
    mapping = as_item(chat.get("mapping"))
    if mapping is None:
        raise EditError("it is not a conversation of ChatGPT: it has no mapping")
    nodes = {key: node for key, value in mapping.items() if (node := as_item(value)) is not None}
    leaf = text_in(chat, "current_node")
    branch = _branch(nodes, leaf if leaf in nodes else _latest_leaf(nodes), "parent")
    return [
        ChatMessage(text_in(message, "id") or key, role, text, message.get("create_time"))
        for key, node in branch
        if (message := item_in(node, "message"))
        and (role := ROLES.get(text_in(item_in(message, "author"), "role")))
        and (text := _shown_text(message))
    ]


def _latest_leaf(nodes: Mapping[str, Item]) -> str:
    """Return the newest node without children: the end of the branch that was used last; "" if there is none."""
    parents = {text_in(node, "parent") for node in nodes.values()}
    return max((key for key in nodes if key not in parents), key=lambda key: _created(nodes[key]), default="")


def _created(node: Item) -> float:
    at = parse_time(item_in(node, "message").get("create_time"))
    return at.timestamp() if at else 0.0


def _shown_text(message: Item) -> str:
    """Return the text of a message; empty if ChatGPT hides it, or it is a call of a tool."""
    content = item_in(message, "content")
    is_hidden = item_in(message, "metadata").get("is_visually_hidden_from_conversation") is True
    is_for_tool = message.get("recipient", "all") not in {"all", None}
    if is_hidden or is_for_tool or message.get("weight") == 0 or content.get("content_type") not in TEXT_TYPES:
        return ""
    parts = content.get("parts")
    texts = map(_part_text, cast("list[object]", parts) if isinstance(parts, list) else [])
    return "\n".join(text for text in texts if text.strip())


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_item(part) or {}
    return text_in(fields, "text") if fields.get("content_type") == SPOKEN else ""


# -- Claude ---------------------------------------------------------------------------------------

TEXT_BLOCKS = frozenset({"text", "voice_note"})
"""Blocks that are said; others are thoughts, calls of tools and their results."""
LEAF = "current_leaf_message_uuid"
"""The key of a conversation with the last message of the branch that the user sees."""
PARENT = "parent_message_uuid"


def parse_claude(chat: Item) -> list[ChatMessage]:
    """Return the messages on the current branch of a conversation, the oldest first.

    Left out are thoughts, calls of tools with their results, and the contents of attached files.

    Raises:
        EditError: If *chat* has no list of messages.
    """
    if not isinstance(chat.get("chat_messages"), list):
        raise EditError("it is not a conversation of Claude: it has no chat_messages")
    return [
        ChatMessage(text_in(item, "uuid"), role, text, item.get("created_at"))
        for item in _current_branch(items_in(chat.get("chat_messages")), text_in(chat, LEAF))
        if (role := ROLES.get(text_in(item, "sender"))) and (text := _text(item))
    ]


def _current_branch(items: Sequence[Item], leaf: str) -> Sequence[Item]:
    """Return the messages that lead to *leaf*, by default the last one; all if they do not name their parents."""
    nodes = {key: item for item in items if (key := text_in(item, "uuid"))}
    has_tree = len(nodes) == len(items) and any(item.get(PARENT) in nodes for item in items)
    if not has_tree:
        return items
    return [item for _, item in _branch(nodes, leaf if leaf in nodes else list(nodes)[-1], PARENT)]


def _text(item: Item) -> str:
    """Return what was said: of the blocks, or of older exports that have only a text."""
    if not (isinstance(item.get("content"), list) and item["content"]):
        return text_in(item, "text").strip()
    blocks = items_in(item["content"])
    texts = (text_in(block, "text") for block in blocks if block.get("type") in TEXT_BLOCKS)
    return "\n".join(filter(None, texts))
