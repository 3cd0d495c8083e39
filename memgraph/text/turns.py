"""Messages of a conversation -> the turns that memory may learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, ToolMessage

from memgraph.models import Turn
from memgraph.text.acknowledge import asks, is_acknowledgement
from memgraph.text.content import text_of
from memgraph.text.identify import identified
from memgraph.text.said import Said, calls_tools, is_hidden, role_of, said_in


@dataclass(slots=True)
class Exchange:
    """What a person said in a row, and the final answers to it."""

    kept: list[Said] = field(default_factory=list["Said"])
    is_idle: bool = False
    """Something in it was dropped, with which the answers go unless they answer something else as well."""
    is_answered: bool = False
    answers: list[Said] = field(default_factory=list["Said"])

    @property
    def turns(self) -> list[Said]:
        return self.kept if self.is_idle and not self.kept else [*self.kept, *self.answers]


def turns_of(messages: Sequence[BaseMessage], *, acknowledgements: AbstractSet[str] | None = None) -> tuple[Turn, ...]:
    """Return what people and the assistant said to each other in *messages*, which stay as they are.

    Kept are human messages and AI messages that call no tool, less what is hidden, empty, or put there by
    a machine: injected memory, a summary, lists of uploads. A human turn that is only uploads, or only
    acknowledges without answering a question, goes together with the answer to it.

    Args:
        messages: A conversation, the oldest first.
        acknowledgements: What counts as one, as in `Signals`; None for the packaged lists.

    Returns:
        Turns with ids that are unique among them: the message's own, else "sha256:..." of role, text and
        the turn before.
    """
    return identified(said for exchange in _exchanges(messages, acknowledgements) for said in exchange.turns)


def _exchanges(messages: Sequence[BaseMessage], acknowledgements: AbstractSet[str] | None) -> Iterator[Exchange]:
    exchange, heard = Exchange(), None
    for message in messages:
        said = said_in(message)
        if role_of(message) == "human":
            if exchange.is_answered:
                yield exchange
                exchange = Exchange()
            if said:
                _take(exchange, said, idle=_is_idle(said, heard, acknowledgements))
        elif said and not calls_tools(message):
            exchange.is_answered = True
            exchange.answers.extend([said] if said.text else [])
        heard = message if _may_ask(message) else heard
    yield exchange


def _take(exchange: Exchange, said: Said, *, idle: bool) -> None:
    """Note what a person said; an empty message leaves no trace."""
    if idle:
        exchange.is_idle = True
    elif said.text:
        exchange.kept.append(said)


def _is_idle(said: Said, heard: BaseMessage | None, acknowledgements: AbstractSet[str] | None) -> bool:
    """Tell whether there is nothing to learn from *said*, before which *heard* was said to the person."""
    if said.is_upload or said.is_answer:
        return said.is_upload
    return is_acknowledgement(said.text, acknowledgements) and not (heard and asks(text_of(heard.content)))


def _may_ask(message: BaseMessage) -> bool:
    """Tell whether a person may be answering *message*: the assistant's, or that of a tool that asks for it."""
    return not is_hidden(message) and (isinstance(message, ToolMessage) or role_of(message) == "ai")
