"""What a node is given: its messages, what they ask, and a copy of the state with a block in it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, SystemMessage, convert_to_messages
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from memgraph.agents.messages import last_user_index
from memgraph.attachments.context_message import is_context_message, make_context_message
from memgraph.text.message import has_tool_calls, role_of


@dataclasses.dataclass(frozen=True)
class NodeInput:
    """A node's input, which stays as it is."""

    state: Any
    key: str
    messages: Sequence[AnyMessage]
    """As messages, also where the state holds them as dicts; without blocks of a graph around this one."""

    @property
    def question(self) -> BaseMessage | None:
        """The message that the node is to answer: the last one of a person, else the last one."""
        start = last_user_index(self.messages)
        return self.messages[start if start is not None else -1] if self.messages else None

    def with_context(self, text: str) -> Any:  # noqa: ANN401 - of the state's own type
        """Return a copy of the state with *text* as a message before the last one of the user."""
        held = list(_held(self.state, self.key))
        place = _place([*convert_to_messages(cast("Any", held))])
        return with_messages(self.state, self.key, [*held[:place], make_context_message(text), *held[place:]])


def read_input(state: object, key: str) -> NodeInput:
    """Read the messages under *key*, or in a state that is a list of them; none where there are none."""
    read = convert_to_messages(cast("Any", list(_held(state, key))))
    return NodeInput(state, key, [cast("AnyMessage", message) for message in read if not is_context_message(message)])


def _held(state: object, key: str) -> Sequence[object]:
    found = state
    if isinstance(state, Mapping):
        found = cast("Mapping[str, object]", state).get(key)
    elif not isinstance(state, list | tuple):
        found = getattr(state, key, None)
    return cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()


def _place(messages: Sequence[BaseMessage]) -> int:
    """Before the last thing the user said; where there is none, below the system messages."""
    start = last_user_index(messages)
    if start is not None:
        return start
    return next((at for at, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))


def with_messages(state: Any, key: str, messages: object) -> Any:  # noqa: ANN401 - of the state's own type
    """Return a copy of *state* with *messages* under *key*; a state that is a list is its messages."""
    if isinstance(state, list | tuple):
        return messages
    if isinstance(state, Mapping):
        return {**cast("Mapping[str, object]", state), key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    changed = copy.copy(state)
    object.__setattr__(changed, key, messages)  # a frozen dataclass, or one whose __init__ does more
    return changed


def new_messages(result: object, key: str, known: Sequence[BaseMessage]) -> list[AnyMessage]:
    """Return the messages of *result*, as a node may return them, that are not *known*."""
    ids = {message.id for message in known if message.id}
    found = [message for message in _messages(result, key) if not isinstance(message, RemoveMessage)]
    return [
        cast("AnyMessage", message)
        for message in found
        if not is_context_message(message) and (message.id not in ids if message.id else message not in known)
    ]


def find_answer(messages: Sequence[BaseMessage]) -> BaseMessage | None:
    """Return what a node answered; None where it said nothing, or goes on with a tool."""
    if not messages or has_tool_calls(messages[-1]):
        return None
    return next((message for message in reversed(messages) if role_of(message) == "ai"), messages[-1])


def without_block(result: Any, key: str) -> Any:  # noqa: ANN401 - of the result's own type
    """Return *result* less the block, which a node or a graph in it may hand back with the rest of its messages."""
    if isinstance(result, list | tuple):
        values = cast("Sequence[object]", result)
        kept = [without_block(value, key) for value in values if not is_context_message(value)]
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
