"""One message of a JSON conversation, as OpenAI or LangChain write it. Nothing but messages is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

Item = dict[str, Any]

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "user": "human",
        "human": "human",
        "assistant": "ai",
        "ai": "ai",
        "system": "system",
        "developer": "system",
        "tool": "tool",
        "function": "function",
    }
)
"""Who speaks, and what LangChain calls it."""

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        name: role
        for role, stem in {
            "human": "Human",
            "ai": "AI",
            "system": "System",
            "tool": "Tool",
            "function": "Function",
        }.items()
        for name in (f"{stem}Message", f"{stem}MessageChunk")
    }
)
"""LangChain's own messages by class name, the only ones that are read from a dump."""

_SHOWN = 60


class ItemError(ValueError):
    """This is no message; the text says why."""


def message_of(item: object) -> AnyMessage:
    """Read one message.

    Raises:
        ItemError: If it is none.
    """
    from langchain_core.messages import convert_to_messages

    if not isinstance(item, dict):
        raise ItemError(f"{_shown(item)} is no message; it needs a role and a content")
    fields = _unpacked(cast("Item", item))
    message = {**fields, "role": _role(fields), "content": _content(fields)}
    message.pop("type", None)
    if message["role"] == "tool":
        message.setdefault("tool_call_id", "")
    calls: object = fields.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [_with_readable_arguments(call) for call in cast("list[object]", calls)]
    try:
        return cast("AnyMessage", convert_to_messages([message])[0])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ItemError(f"{first['msg']} at {'.'.join(map(str, first['loc'][:3]))}") from None
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise ItemError(f"it cannot be read: {type(error).__name__}: {str(error)[:_SHOWN]}") from None


def _unpacked(item: Item) -> Item:
    """The fields of a message, also where LangChain wrapped them: by `dumpd`, or by `messages_to_dict`."""
    kwargs, data = item.get("kwargs"), item.get("data")
    if item.get("lc") == 1 and isinstance(kwargs, dict):
        path = cast("object", item.get("id"))
        name = str(cast("list[object]", path)[-1]) if isinstance(path, list) and path else "nothing"
        if name != "ChatMessage" and name not in CLASSES:
            raise ItemError(f"it is a {name[:_SHOWN]}, which is no message")
        return {"type": name, **cast("Item", kwargs)} | ({} if name == "ChatMessage" else {"type": name})
    if isinstance(data, dict) and "content" not in item:
        return {**cast("Item", data), "type": item.get("type")}
    return item


def _role(fields: Item) -> str:
    said = fields.get("role") or fields.get("type")
    if said is None:
        raise ItemError(f"it has no role: {_shown(fields)}")
    role = CLASSES.get(said) or ROLES.get(said.lower()) if isinstance(said, str) else None
    if role is None:
        raise ItemError(f"role {_shown(said)} is none of {', '.join(ROLES)}")
    return role


def _content(fields: Item) -> object:
    content: object = fields.get("content")
    if content is None and not any(fields.get(key) for key in ("tool_calls", "function_call", "refusal", "content")):
        if "content" not in fields:
            raise ItemError(f"it has no content: {_shown(fields)}")
        return ""
    if content is not None and not isinstance(content, str | list):
        raise ItemError(f"its content is {_shown(content)}, which is neither a text nor a list")
    return cast("object", content) or ""


def _with_readable_arguments(call: object) -> object:
    """A tool call as it is, or without its arguments where the model wrote no JSON: it was a call all the same."""
    if not isinstance(call, dict):
        return call
    function: object = cast("Item", call).get("function")
    if not isinstance(function, dict):
        return cast("Item", call)
    fields = cast("Item", function)
    try:
        arguments: object = json.loads(fields.get("arguments") or "{}", strict=False)
    except (ValueError, TypeError, RecursionError):
        arguments = None
    readable = cast("Item", arguments) if isinstance(arguments, dict) else {}
    return {"id": None, **cast("Item", call), "function": {**fields, "arguments": readable}}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
