"""The conversation: turns, what is asked of the model about them, and the episodes that are kept of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import attrgetter, not_
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from memgraph.models.values import DerivingModel, DocumentModel, OptionalText, Text, Timestamp

SpanOrigin = Literal["user", "quoted", "relayed", "recalled"]
"""The origin of a part of a turn: its author ("user"), another source that the author quoted or pasted, an application
or another agent that added it, or memory, which gave it to this conversation before."""
PLACEHOLDER = "\ufffc"
"""Stands for words of another origin if the words around them are read: Unicode's object replacement character."""


class Span(BaseModel, frozen=True, extra="forbid"):
    """A part of a turn, `text[start:end]`, that is not its author's own words."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    origin: SpanOrigin


class TurnPiece(NamedTuple):
    """Consecutive words of one origin."""

    text: str
    origin: SpanOrigin


class Turn(DerivingModel):
    """One message of the user or the assistant that memory may learn from."""

    id: str
    """The message's own id, or a hash of its text if it has none."""
    role: Literal["human", "ai"]
    text: str
    at: Timestamp = ""
    """When it was written; empty if unknown."""
    speaker: str = ""
    """The name of another person who wrote it; empty if it is the user's or the assistant's own."""
    by_tool: bool = Field(default=False, exclude_if=not_)
    """Whether a model reports that the user said it, and no conversation shows it."""
    spans: tuple[Span, ...] = ()
    """The parts that are not its author's own words, in order and apart; the rest is."""

    @cached_property
    def is_users(self) -> bool:
        """Whether the user wrote it."""
        return self.role == "human" and not self.speaker

    @property
    def pieces(self) -> list[TurnPiece]:
        """The text in pieces of one origin; joined, they are the whole text."""
        pieces: list[TurnPiece] = []
        end = 0
        for span in self.spans:
            pieces += [
                TurnPiece(self.text[end : span.start], "user"),
                TurnPiece(self.text[span.start : span.end], span.origin),
            ]
            end = span.end
        return [piece for piece in [*pieces, TurnPiece(self.text[end:], "user")] if piece.text]

    @cached_property
    def own_words(self) -> str:
        """The author's own words, each piece a paragraph; the text as it is if there are no spans.

        The words around a quotation are not joined: they would be a sentence that was never said.
        """
        if not self.spans:
            return self.text
        own = (piece.text.strip() for piece in self.pieces if piece.origin == "user")
        return "\n\n".join(text for text in own if any(map(str.isalnum, text)))

    def slice(self, start: int, end: int, *, prefix: str = "") -> Turn:
        """Return the turn with the text `prefix + text[start:end]` and the spans of that part."""
        shift = len(prefix) - start
        first = bisect_right(self.spans, start, key=attrgetter("end"))  # a long turn has many parts and spans
        last = bisect_left(self.spans, end, key=attrgetter("start"))
        spans = tuple(
            Span(start=max(span.start, start) + shift, end=min(span.end, end) + shift, origin=span.origin)
            for span in self.spans[first:last]
        )
        return self.model_copy(update={"text": prefix + self.text[start:end], "spans": spans})


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return *spans* sorted and apart. Of two that overlap the one that begins first, or else is longer, counts."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start = max(span.start, merged[-1].end) if merged else span.start
        if start < span.end:
            merged.append(span.model_copy(update={"start": start}))
    return tuple(merged)


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
    origin: OptionalText = Field(default=None, exclude_if=not_)
    """"tool" if a model reports that the user said it, and no conversation shows it."""


class PromptExample(BaseModel, frozen=True, extra="forbid"):
    """A made-up request and its answer, shown to the model as earlier turns of the chat."""

    human: str
    ai: str


AnswerKind = Literal["update", "upkeep"]
"""What a prompt asks for: a memory update, or which known facts are merged or ended."""


class Prompt(BaseModel, frozen=True, extra="forbid"):
    """The prompt. Plain texts, not messages: a lead agent's stream shows every message that a node returns."""

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
    parts: Mapping[str, tuple[int, int]] = Field(default_factory=dict[str, tuple[int, int]], exclude_if=not_)
    """Of each long turn that is shown in part, from which to which character an answer to this prompt is checked."""

    def shown(self, turns: Iterable[Turn]) -> tuple[Turn, ...]:
        """Those of *turns* that it shows, long ones in part: a pass costs no more than what it shows."""
        ids = frozenset(self.turn_ids)
        shown = (turn for turn in turns if turn.id in ids)
        return tuple(turn.slice(*self.parts[turn.id]) if turn.id in self.parts else turn for turn in shown)


class Answer(BaseModel, frozen=True, extra="forbid"):
    """The answer of the chat model."""

    text: str
    """The text, or the arguments of the tool call that structured output asks for."""
    cut_off: bool = False
    """The provider stopped it at a length limit."""
    refused: bool = False
