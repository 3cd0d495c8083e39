"""Bytes -> messages: which of the forms it is, and what is wrong where it is none."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memgraph.cli.conversation.item import ItemError, message_of
from memgraph.cli.conversation.plain import first_speaker, read_plain
from memgraph.errors import ConversationError

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

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
        except ItemError as error:
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
        except (ItemError, ValueError, RecursionError) as error:
            is_item = isinstance(error, ItemError)
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
