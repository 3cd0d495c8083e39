"""Submissions: validated, and as the JSON in which they wait. Raw messages are merged before they are parsed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from memgraph.background.outbox import ConversationKey
from memgraph.errors import ConversationError, IdentityError
from memgraph.models import Scope, validate_id
from memgraph.state import to_messages

Raw = Mapping[str, Any]
"""A message as JSON."""

MESSAGE_TYPES = frozenset(
    {"human", "ai", "system", "tool", "function", "chat"}
    | {f"{kind}MessageChunk" for kind in ("Human", "AI", "System", "Tool", "Function", "Chat")}
)
"""The message types that `load_messages` can parse."""

MAX_MEDIA_CHARS = 1_000
"""Characters kept of the data of an image, a file and the like: memory learns from text only."""


def validate_key(scope: object, thread_id: str | None) -> ConversationKey:
    """Return the key of a conversation.

    Raises:
        IdentityError: If *scope* is not a Scope, or *thread_id* may not be used.
    """
    if not isinstance(scope, Scope):
        raise IdentityError(f"scope is a {type(scope).__name__}, not a Scope: pass the owner, as in Scope('ada')")
    return ConversationKey(scope, validate_id(thread_id, "thread_id") if thread_id else None)


def validate_messages(conversation: Sequence[object] | object) -> list[AnyMessage]:
    """Return *conversation* as messages.

    Raises:
        ConversationError: If it is not a conversation, or contains a message type that cannot be stored.
    """
    is_list = isinstance(conversation, Sequence) and not isinstance(conversation, str | bytes)
    items = list(cast("Sequence[object]", conversation)) if is_list else [cast("object", conversation)]
    messages = to_messages(None, items)
    for index, message in enumerate(messages):
        if message.type not in MESSAGE_TYPES:
            raise ConversationError(f"messages[{index}] is a {type(message).__name__}, which cannot be stored")
    return messages


def dump_messages(messages: Sequence[BaseMessage]) -> str:
    """Return *messages* as JSON. A value that JSON cannot express becomes its repr."""
    return f"[{','.join(_to_json(_strip_media(message)) for message in messages)}]"


def load_raw(text: str) -> list[Raw]:
    """Parse the JSON of `dump_messages` without creating message objects."""
    return json.loads(text)


def dump_raw(raw: Sequence[Raw]) -> str:
    """Return *raw* messages as JSON, the inverse of `load_raw`."""
    return json.dumps(list(raw), ensure_ascii=False)


def load_messages(raw: Sequence[Raw]) -> list[AnyMessage]:
    """Create message objects from *raw* messages."""
    return _adapter().validate_python(list(raw))


def _to_json(message: BaseMessage) -> str:
    try:
        return message.model_dump_json(fallback=repr)
    except PydanticSerializationError:  # a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD
        text = json.dumps(message.model_dump(), default=repr, ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _strip_media(message: BaseMessage) -> BaseMessage:
    content: object = message.content
    if isinstance(content, str):
        return message
    return message.model_copy(update={"content": [_truncate_media(block) for block in cast("list[object]", content)]})


def _truncate_media(block: object) -> object:
    """Truncate the strings of a block that is not text: images arrive as megabytes of base64."""
    is_text = not isinstance(block, dict) or "text" in block
    return cast("object", block) if is_text else _truncate_strings(cast("object", block))


def _truncate_strings(value: object) -> object:
    if isinstance(value, str):
        return value[:MAX_MEDIA_CHARS]
    if isinstance(value, bytes):
        return ""
    if isinstance(value, dict):
        return {key: _truncate_strings(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_truncate_strings(item) for item in cast("list[object]", value)]
    return value


@cache
def _adapter() -> TypeAdapter[list[AnyMessage]]:
    return TypeAdapter(list[AnyMessage])
