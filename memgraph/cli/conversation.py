"""One message of a JSON conversation, as OpenAI or LangChain write it. Nothing but messages is built."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from memgraph._validation import field_errors
from memgraph.errors import ConversationError

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


class ConversationItemError(ValueError):
    """This is no message; the text says why."""


def message_of(item: object) -> AnyMessage:
    """Read one message.

    Raises:
        ItemError: If it is none.
    """
    from langchain_core.messages import convert_to_messages

    if not isinstance(item, dict):
        raise ConversationItemError(f"{_shown(item)} is no message; it needs a role and a content")
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
        first = field_errors(error)[0]
        raise ConversationItemError(f"{first.message} at {'.'.join(map(str, first.loc[:3]))}") from None
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise ConversationItemError(f"it cannot be read: {type(error).__name__}: {str(error)[:_SHOWN]}") from None


def _unpacked(item: Item) -> Item:
    """The fields of a message, also where LangChain wrapped them: by `dumpd`, or by `messages_to_dict`."""
    kwargs, data = item.get("kwargs"), item.get("data")
    if item.get("lc") == 1 and isinstance(kwargs, dict):
        path = cast("object", item.get("id"))
        name = str(cast("list[object]", path)[-1]) if isinstance(path, list) and path else "nothing"
        if name != "ChatMessage" and name not in CLASSES:
            raise ConversationItemError(f"it is a {name[:_SHOWN]}, which is no message")
        return {"type": name, **cast("Item", kwargs)} | ({} if name == "ChatMessage" else {"type": name})
    if isinstance(data, dict) and "content" not in item:
        return {**cast("Item", data), "type": item.get("type")}
    return item


def _role(fields: Item) -> str:
    said = fields.get("role") or fields.get("type")
    if said is None:
        raise ConversationItemError(f"it has no role: {_shown(fields)}")
    role = CLASSES.get(said) or ROLES.get(said.lower()) if isinstance(said, str) else None
    if role is None:
        raise ConversationItemError(f"role {_shown(said)} is none of {', '.join(ROLES)}")
    return role


def _content(fields: Item) -> object:
    content: object = fields.get("content")
    if content is None and not any(fields.get(key) for key in ("tool_calls", "function_call", "refusal", "content")):
        if "content" not in fields:
            raise ConversationItemError(f"it has no content: {_shown(fields)}")
        return ""
    if content is not None and not isinstance(content, str | list):
        raise ConversationItemError(f"its content is {_shown(content)}, which is neither a text nor a list")
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


SPEAKERS: Mapping[str, str] = MappingProxyType(
    {
        "user": "human",
        "human": "human",
        "用户": "human",
        "assistant": "ai",
        "ai": "ai",
        "助手": "ai",
        "system": "system",
        "系统": "system",
    }
)
"""Who speaks, by the word before the colon."""

_TURN = re.compile(rf"[ \t]*({'|'.join(SPEAKERS)})[ \t]*[:：][ \t]*(.*)", re.IGNORECASE)


def first_speaker(text: str) -> str | None:
    """Who speaks in the first line that is not blank; None where it begins no turn."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    turn = _TURN.fullmatch(first)
    return SPEAKERS[turn[1].lower()] if turn else None


def read_plain(text: str, place: str) -> list[AnyMessage]:
    """Read turns; the lines that follow belong to the turn before them.

    Raises:
        ConversationError: If the first line that is not blank begins no turn.
    """
    turns: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        turn = _TURN.fullmatch(line)
        if turn:
            turns.append((SPEAKERS[turn[1].lower()], [turn[2]]))
        elif turns:
            turns[-1][1].append(line)
        elif line.strip():
            raise ConversationError(
                f"{place}, line {number}: {line[:60]!r} begins no turn; a turn begins with User: or Assistant:"
            )
    makers = _makers()
    return [makers[speaker]("\n".join(lines).strip()) for speaker, lines in turns]


def _makers() -> Mapping[str, Callable[[str], AnyMessage]]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    return {"human": HumanMessage, "ai": AIMessage, "system": SystemMessage}


EXPECTED = (
    "expected a JSON list of {role, content}, an object with such a list under messages, "
    "LangChain's dumped messages, JSONL, or lines that begin with User: and Assistant:"
)


def read_conversation(data: bytes, place: str) -> list[AnyMessage]:
    """Read a conversation.

    Args:
        data: A JSON list of messages, in the shape of OpenAI or as LangChain dumps them; an object that holds one
            under "messages"; JSONL, one message a line; or text in which `User:` and `Assistant:` begin the
            turns (`Human:`, `AI:`, `用户：`, `助手：` too). UTF-8, with or without a byte order mark.
        place: Where it comes from, for the error.

    Raises:
        ConversationError: If it is none of these, naming the line or the item.
    """
    text = _decoded(data, place)
    if not text.strip():
        raise ConversationError(f"{place} is empty; {EXPECTED}")
    if first_speaker(text) is not None or text.lstrip()[0] not in "[{":
        return read_plain(text, place)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _lines(text, place, error)
    return _messages(_listed(found, place), place)


def _decoded(data: bytes, place: str) -> str:
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConversationError(f"{place}, line {line}: this is no UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _listed(found: object, place: str) -> Sequence[object]:
    """The list of messages, by itself or in an object; an object that is a message is a list of one."""
    if isinstance(found, dict):
        fields = cast("dict[str, object]", found)
        found = fields.get("messages", [fields] if "content" in fields or "kwargs" in fields else None)
    if not isinstance(found, list):
        raise ConversationError(f"{place} is no conversation; {EXPECTED}")
    return cast("list[object]", found)


def _messages(items: Sequence[object], place: str) -> list[AnyMessage]:
    messages: list[AnyMessage] = []
    for number, item in enumerate(items, 1):
        try:
            messages.append(message_of(item))
        except ConversationItemError as error:
            raise ConversationError(f"{place}, message {number} of {len(items)}: {error}") from None
    return messages


def _lines(text: str, place: str, whole: Exception) -> list[AnyMessage]:
    """Read JSONL. Where not even the first line is JSON, the whole was meant to be, and *whole* says what is wrong."""
    messages: list[AnyMessage] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            messages.append(message_of(json.loads(line)))
        except (ConversationItemError, ValueError, RecursionError) as error:
            is_item = isinstance(error, ConversationItemError)
            if not messages and not is_item:
                raise ConversationError(_bad_json(whole, place)) from None
            why = str(error) if is_item else _bad_json(error, "")
            raise ConversationError(f"{place}, line {number}: {why}") from None
    return messages


def _bad_json(error: Exception, place: str) -> str:
    if not isinstance(error, json.JSONDecodeError):  # nested too deep, or a number of thousands of digits
        return f"{place} cannot be read as JSON: {error}".strip()
    where = f"{place}, line {error.lineno}: " if place else ""
    return f"{where}this is no JSON: {error.msg} at column {error.colno}"
