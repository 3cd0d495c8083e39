"""A conversation as plain text: `User:` and `Assistant:` at the beginning of a line begin a turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from memgraph.errors import ConversationError

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

SPEAKERS: Mapping[str, str] = MappingProxyType(
    {
        "user": "human",
        "human": "human",
        "用户": "human",
        "assistant": "ai",
        "ai": "ai",
        "助手": "ai",
        "system": "system",
        "系统": "system",
    }
)
"""Who speaks, by the word before the colon."""

_TURN = re.compile(rf"[ \t]*({'|'.join(SPEAKERS)})[ \t]*[:：][ \t]*(.*)", re.IGNORECASE)


def first_speaker(text: str) -> str | None:
    """Who speaks in the first line that is not blank; None where it begins no turn."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    turn = _TURN.fullmatch(first)
    return SPEAKERS[turn[1].lower()] if turn else None


def read_plain(text: str, place: str) -> list[AnyMessage]:
    """Read turns; the lines that follow belong to the turn before them.

    Raises:
        ConversationError: If the first line that is not blank begins no turn.
    """
    turns: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        turn = _TURN.fullmatch(line)
        if turn:
            turns.append((SPEAKERS[turn[1].lower()], [turn[2]]))
        elif turns:
            turns[-1][1].append(line)
        elif line.strip():
            raise ConversationError(
                f"{place}, line {number}: {line[:60]!r} begins no turn; a turn begins with User: or Assistant:"
            )
    makers = _makers()
    return [makers[speaker]("\n".join(lines).strip()) for speaker, lines in turns]


def _makers() -> Mapping[str, Callable[[str], AnyMessage]]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    return {"human": HumanMessage, "ai": AIMessage, "system": SystemMessage}
