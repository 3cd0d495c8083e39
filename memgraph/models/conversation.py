"""The conversation: turns, what is asked of the model about them, and the episodes that are kept of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from memgraph.models.values import DocumentModel, Text, Timestamp

SpanOrigin = Literal["user", "quoted", "relayed", "recalled"]
"""The origin of a part of a turn: its author ("user"), another source that the author quoted or pasted, an application
or another agent that added it, or memory, which gave it to this conversation before."""


class Span(BaseModel):
    """A part of a turn, `text[start:end]`, that is not its author's own words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    origin: SpanOrigin


class Turn(BaseModel):
    """One message of the user or the assistant that memory may learn from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """The message's own id, or a hash of its text if it has none."""
    role: Literal["human", "ai"]
    text: str
    at: Timestamp = ""
    """When it was written; empty if unknown."""
    speaker: str = ""
    """The name of another person who wrote it; empty if it is the user's or the assistant's own."""
    spans: tuple[Span, ...] = ()
    """The parts that are not its author's own words, in order and apart; the rest is."""

    @property
    def is_users(self) -> bool:
        """Whether the user wrote it."""
        return self.role == "human" and not self.speaker


class Episode(DocumentModel):
    """One message of a conversation, or a part of a long one, in the words in which it was written."""

    id: Text
    """Derived from the thread, the message and the part, so that a message is kept once however often it is learned."""
    thread_id: Text = ""
    """The thread, or "unknown"."""
    message_id: Text = ""
    """The message; several episodes have the same one if it was long."""
    at: Timestamp = ""
    """When it was written; empty if unknown."""
    text: Text
    """The words, with secrets masked."""
    author: Literal["user", "assistant"] = Field(default="user", exclude_if=lambda author: author == "user")
    """Who wrote it: the user, or with `episodes: exchange` also the assistant."""


class PromptExample(BaseModel):
    """A made-up request and its answer, shown to the model as earlier turns of the chat."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    human: str
    ai: str


AnswerKind = Literal["update", "upkeep"]
"""What a prompt asks for: a memory update, or which known facts are merged or ended."""


class Prompt(BaseModel):
    """The prompt. Plain texts, not messages: a lead agent's stream shows every message that a node returns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    """Static, as are the examples, so that providers cache both."""
    examples: tuple[PromptExample, ...] = ()
    human: str
    turn_ids: tuple[str, ...] = ()
    """Ids of the turns in `human`, in their order there, in which they are numbered from 1."""
    fact_ids: tuple[str, ...] | None = None
    """Ids of the known facts in `human`; None if an earlier version rendered the prompt."""
    answer: AnswerKind = "update"
    """What it asks for."""

    def shown(self, turns: Iterable[Turn]) -> tuple[Turn, ...]:
        """Those of *turns* that it shows, in whole or in part."""
        ids = frozenset(self.turn_ids)
        return tuple(turn for turn in turns if turn.id in ids)


class Answer(BaseModel):
    """The answer of the chat model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """The text, or the arguments of the tool call that structured output asks for."""
    cut_off: bool = False
    """The provider stopped it at a length limit."""
    refused: bool = False
