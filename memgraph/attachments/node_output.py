"""What a node returns: the messages in it, and the same without the block that its input had."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langgraph.types import Command, Overwrite

from memgraph.attachments.block import is_block
from memgraph.attachments.node_input import with_messages
from memgraph.text.said import calls_tools, role_of


def new_messages(result: object, key: str, known: Sequence[BaseMessage]) -> list[AnyMessage]:
    """Return the messages of *result*, as a node may return them, that are not *known*."""
    ids = {message.id for message in known if message.id}
    found = [message for message in _messages(result, key) if not isinstance(message, RemoveMessage)]
    return [
        cast("AnyMessage", message)
        for message in found
        if not is_block(message) and (message.id not in ids if message.id else message not in known)
    ]


def answer_in(messages: Sequence[BaseMessage]) -> BaseMessage | None:
    """Return what a node answered; None where it said nothing, or goes on with a tool."""
    if not messages or calls_tools(messages[-1]):
        return None
    return next((message for message in reversed(messages) if role_of(message) == "ai"), messages[-1])


def without_block(result: Any, key: str) -> Any:  # noqa: ANN401 - of the result's own type
    """Return *result* less the block, which a node or a graph in it may hand back with the rest of its messages."""
    if isinstance(result, list | tuple):
        values = cast("Sequence[object]", result)
        kept = [without_block(value, key) for value in values if not is_block(value)]
        return values if _same(kept, values) else kept if isinstance(result, list) else tuple(kept)
    if isinstance(result, Command):
        command = cast("Command[Any]", result)
        update = without_block(command.update, key)
        return command if update is command.update else dataclasses.replace(command, update=update)
    if isinstance(result, Overwrite):
        value = without_block(result.value, key)
        return result if value is result.value else Overwrite(value)
    held = _under(result, key)
    if isinstance(held, list | Overwrite):
        messages = without_block(held, key)
        return result if messages is held else with_messages(result, key, messages)
    return result


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _under(result: object, key: str) -> object:
    return cast("Mapping[str, object]", result).get(key) if isinstance(result, Mapping) else getattr(result, key, None)


def _messages(result: object, key: str) -> Iterator[BaseMessage]:
    """The messages in what a node returned: an update, a command, a message, or a list of these."""
    if isinstance(result, BaseMessage):
        yield result
    elif isinstance(result, Command):
        yield from _messages(cast("Command[Any]", result).update, key)
    elif isinstance(result, list | tuple):
        for part in cast("Sequence[object]", result):
            match cast("Any", part):
                case (str() as name, value):  # as Command takes updates
                    yield from _said(value if name == key else None)
                case _:
                    yield from _messages(part, key)
    else:
        yield from _said(_under(result, key))


def _said(value: object) -> Iterator[BaseMessage]:
    """A message or several, also as LangChain reads them from texts, pairs and dicts."""
    if isinstance(value, Overwrite):
        value = value.value
    if value:
        yield from convert_to_messages(cast("Any", value if isinstance(value, list) else [value]))
