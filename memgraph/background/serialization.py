"""Messages <-> the JSON in which they wait. Raw messages are merged, and only what is left becomes messages again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from memgraph.errors import ConversationError
from memgraph.state import to_messages

Raw = Mapping[str, Any]
"""A message as JSON."""

KINDS = frozenset(
    {"human", "ai", "system", "tool", "function", "chat"}
    | {f"{kind}MessageChunk" for kind in ("Human", "AI", "System", "Tool", "Function", "Chat")}
)
"""The kinds of message that can be read again."""

MAX_MEDIA_CHARS = 1_000
"""Characters kept of what an image, a file or the like holds: memory learns from words alone."""


def checked_messages(given: Sequence[object] | object) -> list[AnyMessage]:
    """Read what was handed over as a conversation.

    Raises:
        ConversationError: If it is none, or holds a kind of message that cannot be kept.
    """
    several = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    items = list(cast("Sequence[object]", given)) if several else [cast("object", given)]
    messages = to_messages(None, items)
    for place, message in enumerate(messages):
        if message.type not in KINDS:
            raise ConversationError(f"messages[{place}] is a {type(message).__name__}, which cannot be kept")
    return messages


def dump_messages(messages: Sequence[BaseMessage]) -> str:
    """Write *messages* as JSON. What no JSON can hold is written as the text Python has for it."""
    return f"[{','.join(_written(_strip_media(message)) for message in messages)}]"


def load_raw(text: str) -> list[Raw]:
    """Read what `written` wrote, without making messages of it."""
    return json.loads(text)


def dump_raw(raw: Sequence[Raw]) -> str:
    """Write what `read_raw` read."""
    return json.dumps(list(raw), ensure_ascii=False)


def load_messages(raw: Sequence[Raw]) -> list[AnyMessage]:
    """Make messages of it."""
    return _adapter().validate_python(list(raw))


def _written(message: BaseMessage) -> str:
    try:
        return message.model_dump_json(fallback=repr)
    except PydanticSerializationError:  # half a surrogate pair, which no file can hold, becomes U+FFFD
        text = json.dumps(message.model_dump(), default=repr, ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _strip_media(message: BaseMessage) -> BaseMessage:
    content: object = message.content
    if isinstance(content, str):
        return message
    return message.model_copy(update={"content": [_without_media(block) for block in cast("list[object]", content)]})


def _without_media(block: object) -> object:
    """Cut what is long in a block that is no text: pictures come as megabytes of base64."""
    is_text = not isinstance(block, dict) or "text" in block
    return cast("object", block) if is_text else _cut(cast("object", block))


def _cut(value: object) -> object:
    if isinstance(value, str):
        return value[:MAX_MEDIA_CHARS]
    if isinstance(value, bytes):
        return ""
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_cut(item) for item in cast("list[object]", value)]
    return value


@cache
def _adapter() -> TypeAdapter[list[AnyMessage]]:
    return TypeAdapter(list[AnyMessage])
