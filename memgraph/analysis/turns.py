"""Extract from a conversation the turns that memory may learn from."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.messages import BaseMessage

from memgraph.analysis.message import MessageText, has_tool_calls, may_ask, read_messages, role_of, text_of
from memgraph.analysis.normalize import words_of
from memgraph.analysis.signals import load_signals
from memgraph.models import Turn, timestamp

MAX_WORDS = 14
"""Words of an acknowledgement; a longer message contains something else."""
MAX_CHARS = 200
"""Characters of an acknowledgement."""
QUESTION_CHARS = 400
"""Characters at the end of a message in which a question still awaits an answer."""
HASHED = "sha256:"
"""Prefix of the id of a message that has none of its own."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUESTION = re.compile(r"[?？](?=[\s\"'”’」』)）\]*_~`]|$|[^\x00-\x7f])|[吗嗎呢](?=[\s。.!！~～]|$)")


def is_acknowledgement(text: str, acknowledgements: AbstractSet[str] | None = None) -> bool:
    """Return whether *text* only acknowledges: "ok", "OK, thanks!", "好的，谢谢".

    Case, punctuation, emoji and spacing do not matter, but a question mark does.
    """
    if len(text) > MAX_CHARS or "?" in text or "？" in text:
        return False
    known = load_signals().acknowledgements if acknowledgements is None else acknowledgements
    words = words_of(text)
    return 0 < len(words) <= MAX_WORDS and _splits_into(words, known)


def _splits_into(words: list[str], known: AbstractSet[str]) -> bool:
    """Return whether *words* are a sequence of known phrases; a phrase is its words joined by a space."""
    reached = {0}
    for end in range(1, len(words) + 1):
        if any(" ".join(words[start:end]) in known for start in reached):
            reached.add(end)
    return len(words) in reached


def asks(text: str) -> bool:
    """Return whether *text* asks a question near its end."""
    return _QUESTION.search(_CODE.sub(" ", text).rstrip()[-QUESTION_CHARS:]) is not None


def assign_ids(messages: Sequence[MessageText], *, at: datetime | None = None) -> tuple[Turn, ...]:
    """Return *messages* as turns with unique ids; *at* is the time of those without a time of their own.

    A message without an id, or with that of an earlier message, is identified by a hash of its role, its text and
    the turn before, not of its time: watermarks keep ids, and a time may be known only later. The same text repeated
    after the same turn is numbered.
    """
    return tuple(
        Turn(
            id=turn_id,
            role=message.role,
            text=message.text,
            at=timestamp(written) if (written := message.at or at) else "",
            speaker=message.speaker,
            spans=message.spans,
            by_tool=message.by_tool,
        )
        for turn_id, message in zip(_unique_ids(messages), messages, strict=True)
    )


def _unique_ids(messages: Sequence[MessageText]) -> list[str]:
    ids: list[str] = []
    seen: Counter[str] = Counter()
    for index, message in enumerate(messages):
        has_unique_id = message.id and message.id not in seen
        before = messages[index - 1] if index else None
        turn_id = message.id if has_unique_id else _number(_hash(message, before), seen)
        seen[turn_id] += 1
        ids.append(turn_id)
    return ids


def _hash(message: MessageText, before: MessageText | None) -> str:
    # texts contain no NUL, so joining the parts by NUL is unambiguous
    parts = [message.role, message.text, *([before.role, before.text] if before else [])]
    return HASHED + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _number(name: str, seen: Counter[str]) -> str:
    """Return *name*, with a number if it was used before."""
    numbered = name
    while numbered in seen:
        seen[name] += 1
        numbered = f"{name}:{seen[name]}"
    return numbered


@dataclass(slots=True)
class Exchange:
    """Consecutive messages of the user, and the final answers to them."""

    kept: list[MessageText] = field(default_factory=list["MessageText"])
    is_idle: bool = False
    """A message was dropped. Its answers are dropped too, unless they also answer a kept message."""
    is_answered: bool = False
    answers: list[MessageText] = field(default_factory=list["MessageText"])

    @property
    def turns(self) -> list[MessageText]:
        return self.kept if self.is_idle and not self.kept else [*self.kept, *self.answers]


def turns_of(
    messages: Sequence[BaseMessage],
    *,
    acknowledgements: AbstractSet[str] | None = None,
    at: datetime | None = None,
    user_names: Collection[str] = (),
    now: datetime | None = None,
) -> tuple[Turn, ...]:
    """Return the turns of user and assistant in *messages*.

    Kept are human messages and AI messages without tool calls, except hidden, empty and injected ones (memory,
    summaries, lists of uploads). A human message that consists of uploads, or only acknowledges without answering
    a question, is dropped together with the answer to it.

    Args:
        messages: A conversation, the oldest message first.
        acknowledgements: Phrases that acknowledge, as in `Signals`; None for the packaged lists.
        at: When messages without a time of their own were written; None if that is unknown.
        user_names: Names of the user; human messages with another name are another speaker's.
        now: Messages cannot be later, so later times of their own are ignored; None ignores none.

    Returns:
        Turns with unique ids: the message's own, else "sha256:..." of role, text and the turn before.
    """
    return assign_ids(turn_texts(messages, acknowledgements, user_names=user_names, now=now), at=at)


def turn_texts(
    messages: Sequence[BaseMessage],
    acknowledgements: AbstractSet[str] | None = None,
    *,
    user_names: Collection[str] = (),
    now: datetime | None = None,
) -> list[MessageText]:
    """Return the texts of the turns in *messages*, see `turns_of`."""
    read = zip(messages, read_messages(messages, user_names=user_names, now=now), strict=True)
    return [text for exchange in _exchanges(read, acknowledgements) for text in exchange.turns]


def _exchanges(
    messages: Iterable[tuple[BaseMessage, MessageText | None]], acknowledgements: AbstractSet[str] | None
) -> Iterator[Exchange]:
    """Yield the exchanges of *messages*, each with its text."""
    exchange, previous = Exchange(), None
    for message, text in messages:
        if role_of(message) == "human":
            if exchange.is_answered:
                yield exchange
                exchange = Exchange()
            if text:
                _append(exchange, text, is_idle=_is_idle(text, previous, acknowledgements))
        elif text and not has_tool_calls(message):
            exchange.is_answered = True
            exchange.answers.extend([text] if text.text else [])
        previous = message if may_ask(message) else previous
    yield exchange


def _append(exchange: Exchange, text: MessageText, *, is_idle: bool) -> None:
    """Add a user message; an empty one is ignored."""
    if is_idle:
        exchange.is_idle = True
    elif text.text:
        exchange.kept.append(text)


def _is_idle(text: MessageText, previous: BaseMessage | None, acknowledgements: AbstractSet[str] | None) -> bool:
    """Return whether there is nothing to learn from *text*; *previous* is the message that it may answer."""
    if text.is_upload or text.is_answer:
        return text.is_upload
    return is_acknowledgement(text.text, acknowledgements) and not (previous and asks(text_of(previous.content)))
