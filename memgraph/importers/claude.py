"""Claude: the conversations of a data export, `conversations.json`.

A conversation is a list of messages under `chat_messages`. If they name their parents, they are a tree: an edited
question makes a branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, cast

from memgraph.errors import EditError
from memgraph.importers.chat_message import ChatMessage, follow_parents
from memgraph.importers.documents import Item, as_item

ROLES: Mapping[str, Literal["human", "ai"]] = MappingProxyType({"human": "human", "user": "human", "assistant": "ai"})
"""Senders of messages."""
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
