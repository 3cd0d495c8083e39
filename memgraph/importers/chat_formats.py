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

from memgraph.errors import EditError
from memgraph.importers.documents import Item, as_item
from memgraph.models import MAX_ID_CHARS, timestamp
from memgraph.text.dates import parse_time
from memgraph.text.normalize import clean

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
    leaf = chat.get("current_node")
    if not (isinstance(leaf, str) and leaf in nodes):
        leaf = _latest_leaf(nodes)
    branch = follow_parents(leaf, {key: node.get("parent") for key, node in nodes.items()})
    messages = (_parse_node(key, as_item(nodes[key].get("message")) or {}) for key in branch)
    return [message for message in messages if message is not None]


def _latest_leaf(nodes: Mapping[str, Item]) -> str:
    """Return the newest node without children: the end of the branch that was used last; "" if there is none."""
    parents = {node.get("parent") for node in nodes.values() if isinstance(node.get("parent"), str)}
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: _created(nodes[key]), default="")


def _created(node: Item) -> float:
    at = parse_time((as_item(node.get("message")) or {}).get("create_time"))
    return at.timestamp() if at else 0.0


def _parse_node(key: str, message: Item) -> ChatMessage | None:
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
    found = chat.get("chat_messages")
    if not isinstance(found, list):
        raise EditError("it is not a conversation of Claude: it has no chat_messages")
    items = [item for value in cast("list[object]", found) if (item := as_item(value)) is not None]
    messages = map(_parse_message, _current_branch(items, chat.get(LEAF)))
    return [message for message in messages if message is not None]


def _current_branch(items: Sequence[Item], leaf: object) -> Sequence[Item]:
    """Return the messages that lead to *leaf*, by default the last one; all if they do not name their parents."""
    nodes = {key: item for item in items if isinstance(key := item.get("uuid"), str)}
    has_tree = len(nodes) == len(items) and any(item.get(PARENT) in nodes for item in items)
    if not has_tree:
        return items
    last = leaf if isinstance(leaf, str) and leaf in nodes else list(nodes)[-1]
    return [nodes[key] for key in follow_parents(last, {key: item.get(PARENT) for key, item in nodes.items()})]


def _parse_message(item: Item) -> ChatMessage | None:
    sender, message_id = item.get("sender"), item.get("uuid")
    role = ROLES.get(sender) if isinstance(sender, str) else None
    text = _text(item)
    if role is None or not text:
        return None
    return ChatMessage(message_id if isinstance(message_id, str) else "", role, text, item.get("created_at"))


def _text(item: Item) -> str:
    """Return what was said: of the blocks, or of older exports that have only a text."""
    content, text = item.get("content"), item.get("text")
    if not (isinstance(content, list) and content):
        return text.strip() if isinstance(text, str) else ""
    blocks = [block for value in cast("list[object]", content) if (block := as_item(value)) is not None]
    texts = [block.get("text") for block in blocks if block.get("type") in TEXT_BLOCKS]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())
