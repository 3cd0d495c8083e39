"""Reads a conversation from JSON, JSONL or plain text; only messages are ever constructed from a dump."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from memgraph._validation import preview_value
from memgraph.errors import ConversationError
from memgraph.importers.documents import Item, as_item, item_in

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

_SPEAKERS = {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "system": "system"}
ROLES: Mapping[str, str] = MappingProxyType(
    {**_SPEAKERS, "developer": "system", "tool": "tool", "function": "function"}
)
"""LangChain's message types by role."""

SPEAKERS: Mapping[str, str] = MappingProxyType({**_SPEAKERS, "用户": "human", "助手": "ai", "系统": "system"})
"""LangChain's message types by the word before the colon."""

_CLASS = re.compile(r"(Human|AI|System|Tool|Function)Message(?:Chunk)?")
"""LangChain's classes of messages; no other class is read from a dump."""
_MAX_PREVIEW = 60
"""Characters of a class or an error that messages quote."""


def parse_message(item: object) -> AnyMessage:
    """Parse one message.

    Raises:
        ConversationError: If *item* is not a message; the text gives the reason.
    """
    from memgraph.analysis.message import convert_message

    given = as_item(item)
    if given is None:
        raise ConversationError(f"{preview_value(item)} is not a message; a message has a role and content")
    fields = _unwrap(given)
    message = {**fields, "role": _read_role(fields), "content": _read_content(fields)}
    message.pop("type", None)
    if message["role"] == "tool":
        message.setdefault("tool_call_id", "")
    calls: object = fields.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [_parse_arguments(call) for call in cast("list[object]", calls)]
    return convert_message(message, "it")[0]


def _unwrap(item: Item) -> Item:
    """Return the fields of a message, unwrapped from LangChain's `dumpd` or `messages_to_dict` format."""
    kwargs, data = as_item(item.get("kwargs")), as_item(item.get("data"))
    if item.get("lc") == 1 and kwargs is not None:
        path = item.get("id")
        name = str(cast("list[object]", path)[-1]) if isinstance(path, list) and path else "nothing"
        if name != "ChatMessage" and not _CLASS.fullmatch(name):
            raise ConversationError(f"{name[:_MAX_PREVIEW]} is not a message class")
        return {"type": name, **kwargs} if name == "ChatMessage" else {**kwargs, "type": name}
    return item if data is None or "content" in item else {**data, "type": item.get("type")}


def _read_role(fields: Item) -> str:
    name = fields.get("role") or fields.get("type")
    if name is None:
        raise ConversationError(f"role is missing: {preview_value(fields)}")
    role = ROLES.get(_CLASS.sub(r"\1", name).lower()) if isinstance(name, str) else None
    if role is None:
        raise ConversationError(f"unknown role {preview_value(name)}; expected one of {', '.join(ROLES)}")
    return role


def _read_content(fields: Item) -> object:
    content = fields.get("content")
    if content is None:
        if "content" not in fields and not any(fields.get(key) for key in ("tool_calls", "function_call", "refusal")):
            raise ConversationError(f"content is missing: {preview_value(fields)}")
    elif not isinstance(content, str | list):
        raise ConversationError(f"content is {preview_value(content)}, expected a string or a list")
    return cast("object", content) or ""


def _parse_arguments(call: object) -> object:
    """Parse the arguments of a tool call; empty if the model wrote invalid JSON, since it is still a call."""
    fields = as_item(call) or {}
    function = item_in(fields, "function")
    if not function:
        return call
    try:
        arguments = as_item(json.loads(cast("str", function.get("arguments") or "{}"), strict=False))
    except (ValueError, TypeError, RecursionError):
        arguments = None
    return {"id": None, **fields, "function": {**function, "arguments": arguments or {}}}


_TURN = re.compile(rf"[ \t]*({'|'.join(SPEAKERS)})[ \t]*[:：][ \t]*(.*)", re.IGNORECASE)


def read_plain(text: str, source: str) -> list[AnyMessage]:
    """Read `User:` and `Assistant:` turns; other lines continue the turn above.

    Raises:
        ConversationError: If the first non-blank line does not begin a turn.
    """
    turns: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        turn = _TURN.fullmatch(line)
        if turn:
            turns.append((SPEAKERS[turn[1].lower()], [turn[2]]))
        elif turns:
            turns[-1][1].append(line)
        elif line.strip():
            raise ConversationError(f"{source}, line {number}: {line[:60]!r} does not begin with User: or Assistant:")
    from langchain_core.messages import convert_to_messages

    messages = convert_to_messages([(speaker, "\n".join(lines).strip()) for speaker, lines in turns])
    return cast("list[AnyMessage]", messages)


EXPECTED = (
    "expected a JSON list of {role, content}, an object with such a list under messages, "
    "messages dumped by LangChain, JSONL, or lines that begin with User: and Assistant:"
)


def read_conversation(data: bytes, source: str) -> list[AnyMessage]:
    """Read a conversation.

    Args:
        data: A JSON list of messages, in OpenAI's format or dumped by LangChain; an object with such a list under
            "messages"; JSONL, one message per line; or text with turns that begin with `User:` and `Assistant:`
            (also `Human:`, `AI:`, `用户：`, `助手：`). UTF-8, with or without a byte order mark.
        source: Name of the input, for error messages.

    Returns:
        The messages, those without a time of their own with the `created_at`, `timestamp` or `date` of the object
        around them.

    Raises:
        ConversationError: If the input has none of these formats, with the line or item.
    """
    text = _decode(data, source)
    if not text.strip():
        raise ConversationError(f"{source} is empty; {EXPECTED}")
    first = next(line for line in text.split("\n") if line.strip())
    if _TURN.fullmatch(first) or text.lstrip()[0] not in "[{":
        return read_plain(text, source)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _parse_messages(_read_jsonl(text, source, error))
    items = _find_messages(document, source)
    named = ((f"{source}, message {number} of {len(items)}", item) for number, item in enumerate(items, 1))
    return _with_time(_parse_messages(named), document)


def _decode(data: bytes, source: str) -> str:
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConversationError(f"{source}, line {line}: not UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _find_messages(document: object, source: str) -> Sequence[object]:
    """Return the list of messages in *document*; an object that is a message is a list of one."""
    if fields := as_item(document):
        document = fields.get("messages", [fields] if "content" in fields or "kwargs" in fields else None)
    if not isinstance(document, list):
        raise ConversationError(f"{source} is not a conversation; {EXPECTED}")
    return cast("list[object]", document)


def _with_time(messages: list[AnyMessage], document: object) -> list[AnyMessage]:
    """Return *messages*, those without a time of their own with the time of the *document*, if it states one."""
    from memgraph.analysis.message import stated_time, time_of
    from memgraph.models import timestamp

    at = stated_time(document)
    if at is None:
        return messages
    return [
        message
        if time_of(message)
        else message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, "timestamp": timestamp(at)}})
        for message in messages
    ]


def _parse_messages(items: Iterable[tuple[str, object]]) -> list[AnyMessage]:
    """Return the messages of *items*, each with its place for errors."""
    messages: list[AnyMessage] = []
    for place, item in items:
        try:
            messages.append(parse_message(item))
        except ConversationError as error:
            raise ConversationError(f"{place}: {error}") from None
    return messages


def _read_jsonl(text: str, source: str, json_error: Exception) -> Iterator[tuple[str, object]]:
    """Yield the lines of JSONL; if not even the first is JSON, the text was meant as one document: *json_error*."""
    first, *others = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    for number, line in (first, *others):
        place = f"{source}, line {number}"
        try:
            yield place, json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == first[0]:
                raise ConversationError(_describe_json_error(json_error, source)) from None
            raise ConversationError(f"{place}: {_describe_json_error(error, '')}") from None


def _describe_json_error(error: Exception, source: str) -> str:
    if not isinstance(error, json.JSONDecodeError):  # nested too deeply, or a number with thousands of digits
        return f"{source} cannot be parsed as JSON: {error}".strip()
    position = f"{source}, line {error.lineno}: " if source else ""
    return f"{position}invalid JSON: {error.msg} at column {error.colno}"
