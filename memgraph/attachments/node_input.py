"""What a node is given: its messages, what they ask, and a copy of the state with a block in it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage, convert_to_messages
from pydantic import BaseModel

from memgraph.agents.conversation import turn_start
from memgraph.attachments.block import block_message, is_block


@dataclasses.dataclass(frozen=True)
class NodeInput:
    """A node's input, which stays as it is."""

    state: Any
    key: str
    messages: Sequence[AnyMessage]
    """As messages, also where the state holds them as dicts; without blocks of a graph around this one."""

    @property
    def asking(self) -> BaseMessage | None:
        """The message that the node is to answer: the last one of a person, else the last one."""
        start = turn_start(self.messages)
        return self.messages[start if start is not None else -1] if self.messages else None

    def told(self, text: str) -> Any:  # noqa: ANN401 - of the state's own type
        """Return a copy of the state with *text* as a message before the last one of the user."""
        held = list(_held(self.state, self.key))
        place = _place([*convert_to_messages(cast("Any", held))])
        return with_messages(self.state, self.key, [*held[:place], block_message(text), *held[place:]])


def read_input(state: object, key: str) -> NodeInput:
    """Read the messages under *key*, or in a state that is a list of them; none where there are none."""
    read = convert_to_messages(cast("Any", list(_held(state, key))))
    return NodeInput(state, key, [cast("AnyMessage", message) for message in read if not is_block(message)])


def _held(state: object, key: str) -> Sequence[object]:
    found = state
    if isinstance(state, Mapping):
        found = cast("Mapping[str, object]", state).get(key)
    elif not isinstance(state, list | tuple):
        found = getattr(state, key, None)
    return cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()


def _place(messages: Sequence[BaseMessage]) -> int:
    """Before the last thing the user said; where there is none, below the system messages."""
    start = turn_start(messages)
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
