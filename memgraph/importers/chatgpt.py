"""ChatGPT: the conversations of a data export, `conversations.json` or its numbered parts.

A conversation is a tree of nodes under `mapping`: an edited question or a regenerated answer makes a branch. The user
sees the branch that ends at `current_node`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, cast

from memgraph.errors import EditError
from memgraph.importers.chat_message import ChatMessage, follow_parents
from memgraph.importers.documents import Item, as_item
from memgraph.text.dates import parse_time

ROLES: Mapping[str, Literal["human", "ai"]] = MappingProxyType({"user": "human", "assistant": "ai"})
"""Authors whose messages are learned from; not system and tool."""
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
    leaf = chat.get("current_node")
    if not (isinstance(leaf, str) and leaf in nodes):
        leaf = _latest_leaf(nodes)
    branch = follow_parents(leaf, {key: node.get("parent") for key, node in nodes.items()})
    messages = (_parse_message(key, as_item(nodes[key].get("message")) or {}) for key in branch)
    return [message for message in messages if message is not None]


def _latest_leaf(nodes: Mapping[str, Item]) -> str:
    """Return the newest node without children: the end of the branch that was used last; "" if there is none."""
    parents = {node.get("parent") for node in nodes.values() if isinstance(node.get("parent"), str)}
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: _created(nodes[key]), default="")


def _created(node: Item) -> float:
    at = parse_time((as_item(node.get("message")) or {}).get("create_time"))
    return at.timestamp() if at else 0.0


def _parse_message(key: str, message: Item) -> ChatMessage | None:
    content = as_item(message.get("content")) or {}
    author = (as_item(message.get("author")) or {}).get("role")
    role = ROLES.get(author) if isinstance(author, str) else None
    if role is None or not _is_shown(message) or content.get("content_type") not in TEXT_TYPES:
        return None
    parts = content.get("parts")
    texts = map(_part_text, cast("list[object]", parts) if isinstance(parts, list) else [])
    text = "\n".join(text for text in texts if text.strip())
    message_id = message.get("id")
    known_id = message_id if isinstance(message_id, str) else key
    return ChatMessage(known_id, role, text, message.get("create_time")) if text else None


def _is_shown(message: Item) -> bool:
    """Return whether ChatGPT shows a message: it is not hidden, and not a call of a tool."""
    metadata = as_item(message.get("metadata")) or {}
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    return not is_hidden and message.get("recipient", "all") in {"all", None}


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_item(part) or {}
    text = fields.get("text")
    return text if fields.get("content_type") == SPOKEN and isinstance(text, str) else ""
