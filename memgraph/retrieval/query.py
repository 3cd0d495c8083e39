"""What facts are compared with: the last exchanges of a conversation, the latest counting most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memgraph.models import Turn

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage, MessageLikeRepresentation

    MessageLike = MessageLikeRepresentation | Turn
    """How a part of a conversation may be given; a text is what a person says."""

FADING = 0.5
"""How much a turn counts of what a turn in the exchange after it counts."""
ANSWER = 0.4
"""How much an answer of the assistant counts of what its question counts."""
MAX_CHARS = 2_000
"""Of a turn; of a longer one the beginning and the end are compared."""
SPARE = 2
"""More human messages are read than count, since some only acknowledge."""


@dataclass(frozen=True, slots=True)
class Query:
    """Texts, the oldest first, and how much each counts, in (0, 1]."""

    parts: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, text: str) -> Query:
        """The query that one text makes."""
        return cls(((_shortened(text), 1.0),))

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(text for text, _ in self.parts)

    def __bool__(self) -> bool:
        return any(text.strip() for text, _ in self.parts)


def query_of(said: Sequence[MessageLike], *, max_context_turns: int = 3) -> Query:
    """Return the query that the last exchanges of a conversation make.

    Args:
        said: Messages, turns or texts, the oldest first; a text alone is one human turn.
        max_context_turns: How many exchanges count, from the last back: human messages are counted,
            the final answers between them included.
    """
    if max_context_turns < 1:
        return Query()
    turns = _turns([said] if isinstance(said, str) else said, max_context_turns)
    return Query(tuple(_weighted(turns, max_context_turns))[::-1])


def _weighted(turns: Sequence[Turn], exchanges: int) -> Iterator[tuple[str, float]]:
    """Weigh *turns* from the last back, until that many people's turns are counted."""
    weight = 1.0
    for turn in reversed(turns):
        yield _shortened(turn.text), weight if turn.role == "human" else weight * ANSWER
        if turn.role == "human":
            exchanges -= 1
            weight *= FADING
        if not exchanges:
            return


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"


def _turns(said: Sequence[MessageLike], wanted: int) -> Sequence[Turn]:
    """Return the turns at the end of *said*; the beginning of a long conversation is not looked at."""
    if all(isinstance(item, Turn) for item in said[-wanted * SPARE :]):
        return [item for item in said if isinstance(item, Turn)]
    if all(isinstance(item, str) for item in said):
        return [Turn(id="", role="human", text=str(item)) for item in said[-wanted:]]
    from memgraph.text.turns import turns_of

    return turns_of(_last_messages(said, wanted * SPARE + 1))


def _last_messages(said: Sequence[MessageLike], humans: int) -> list[BaseMessage]:
    """Return the end of *said* as messages, so that it holds that many of people, or is all of it."""
    messages = list[Any]()
    for message in _as_messages(reversed(said)):
        messages.append(message)
        humans -= message.type == "human"
        if not humans:
            break
    return messages[::-1]


def _as_messages(said: Iterable[MessageLike]) -> Iterator[BaseMessage]:
    from langchain_core.messages import BaseMessage, convert_to_messages

    for item in said:
        if isinstance(item, BaseMessage):
            yield item
        else:
            yield from convert_to_messages([(item.role, item.text) if isinstance(item, Turn) else item])
