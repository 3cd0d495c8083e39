"""Messages of a conversation -> the turns that memory may learn from."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, ToolMessage

from memgraph.models import Turn
from memgraph.text.message import MessageText, has_tool_calls, is_hidden, read_message, role_of, text_of
from memgraph.text.normalize import words_of
from memgraph.text.signals import load_signals

MAX_WORDS = 14
"""A longer message says more than that."""
MAX_CHARS = 200
ASKED_CHARS = 400
"""How far from its end a question may stand, to have just been asked."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUESTION = re.compile(r"[?？](?=[\s\"'”’」』)）\]*_~`]|$|[^\x00-\x7f])|[吗嗎呢](?=[\s。.!！~～]|$)")


def is_acknowledgement(text: str, acknowledgements: AbstractSet[str] | None = None) -> bool:
    """Tell whether the whole of *text* acknowledges: "ok", "OK, thanks!", "好的，谢谢".

    Case, punctuation, emoji and spacing do not matter, but a question mark does.
    """
    if len(text) > MAX_CHARS or "?" in text or "？" in text:
        return False
    known = load_signals().acknowledgements if acknowledgements is None else acknowledgements
    words = words_of(text)
    return 0 < len(words) <= MAX_WORDS and _splits_into(words, known)


def _splits_into(words: list[str], known: AbstractSet[str]) -> bool:
    """Tell whether *words* are a row of known phrases; a phrase is its words joined by a space."""
    reached = {0}
    for end in range(1, len(words) + 1):
        if any(" ".join(words[start:end]) in known for start in reached):
            reached.add(end)
    return len(words) in reached


def asks(text: str) -> bool:
    """Tell whether *text* ends with a question, or one stands near its end."""
    return _QUESTION.search(_CODE.sub(" ", text).rstrip()[-ASKED_CHARS:]) is not None


HASHED = "sha256:"
"""How the id of a message begins that has none of its own."""


def assign_ids(kept: Iterable[MessageText]) -> tuple[Turn, ...]:
    """Return *kept* as turns whose ids are unique among them.

    A message without an id, or with one that an earlier message has, is known by what was said, by whom,
    and after what. Said again after the same words, it is the second, third... of its kind.
    """
    turns: list[Turn] = []
    seen: Counter[str] = Counter()
    for said in kept:
        own = said.id if said.id and said.id not in seen else _numbered(_hash(said, turns[-1:]), seen)
        seen[own] += 1
        turns.append(Turn(id=own, role=said.role, text=said.text))
    return tuple(turns)


def _hash(said: MessageText, before: list[Turn]) -> str:
    """Hash what was said and the turn before; texts hold no NUL, so the parts cannot run into each other."""
    parts = [said.role, said.text, *(part for turn in before for part in (turn.role, turn.text))]
    return HASHED + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _numbered(name: str, seen: Counter[str]) -> str:
    """Return *name*, with a number where it was used before."""
    own = name
    while own in seen:
        seen[name] += 1
        own = f"{name}:{seen[name]}"
    return own


@dataclass(slots=True)
class Exchange:
    """What a person said in a row, and the final answers to it."""

    kept: list[MessageText] = field(default_factory=list["MessageText"])
    is_idle: bool = False
    """Something in it was dropped, with which the answers go unless they answer something else as well."""
    is_answered: bool = False
    answers: list[MessageText] = field(default_factory=list["MessageText"])

    @property
    def turns(self) -> list[MessageText]:
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
    return assign_ids(said for exchange in _exchanges(messages, acknowledgements) for said in exchange.turns)


def _exchanges(messages: Sequence[BaseMessage], acknowledgements: AbstractSet[str] | None) -> Iterator[Exchange]:
    exchange, heard = Exchange(), None
    for message in messages:
        said = read_message(message)
        if role_of(message) == "human":
            if exchange.is_answered:
                yield exchange
                exchange = Exchange()
            if said:
                _append(exchange, said, idle=_is_idle(said, heard, acknowledgements))
        elif said and not has_tool_calls(message):
            exchange.is_answered = True
            exchange.answers.extend([said] if said.text else [])
        heard = message if _may_ask(message) else heard
    yield exchange


def _append(exchange: Exchange, said: MessageText, *, idle: bool) -> None:
    """Note what a person said; an empty message leaves no trace."""
    if idle:
        exchange.is_idle = True
    elif said.text:
        exchange.kept.append(said)


def _is_idle(said: MessageText, heard: BaseMessage | None, acknowledgements: AbstractSet[str] | None) -> bool:
    """Tell whether there is nothing to learn from *said*, before which *heard* was said to the person."""
    if said.is_upload or said.is_answer:
        return said.is_upload
    return is_acknowledgement(said.text, acknowledgements) and not (heard and asks(text_of(heard.content)))


def _may_ask(message: BaseMessage) -> bool:
    """Tell whether a person may be answering *message*: the assistant's, or that of a tool that asks for it."""
    return not is_hidden(message) and (isinstance(message, ToolMessage) or role_of(message) == "ai")
