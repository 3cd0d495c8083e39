"""What is kept in RAM of turns that run: what the model was told, and which messages were there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from memgraph._cache import LRUCache
from memgraph.agents.identity import Identity
from memgraph.agents.messages import last_user_index, latest_tool_revision, removed_by_summary
from memgraph.models import Scope


@dataclass(frozen=True, slots=True)
class TurnKey:
    """From one thing the user says to the next."""

    scope: Scope
    thread_id: str | None
    said: Hashable
    """Which message of the user's began it."""


@dataclass(frozen=True, slots=True)
class MessageSnapshot:
    """A conversation when a model was last asked."""

    said: Hashable
    messages: Sequence[BaseMessage]


@dataclass(frozen=True, slots=True)
class TurnLookup:
    """What there is to do before a model is asked."""

    turn: TurnKey
    revision: int
    """To which the turn's own tools changed the memory."""
    told: str | None
    """What the model was told in this turn; None where that is no longer, or not yet, so."""
    taken_away: Sequence[BaseMessage]
    """What a summary took away, to be learned from."""


class TurnCache:
    """The turns that run at the moment. Nothing of them is in an agent's state, so no checkpoint holds it.

    Args:
        keep: Conversations at once; of more than that the oldest is told afresh at its next step.
    """

    def __init__(self, keep: int = 1_024) -> None:
        self._told: LRUCache[TurnKey, tuple[int, str]] = LRUCache(keep)
        self._seen: LRUCache[tuple[Scope, str], MessageSnapshot] = LRUCache(keep)

    def start(self, caller: Identity, messages: Sequence[BaseMessage]) -> None:
        """Note that an agent starts; also when it does so for the same message again."""
        said = _said(messages)
        self._told.pop(TurnKey(caller.scope, caller.thread_id, said))
        if caller.thread_id:
            self._seen.put((caller.scope, caller.thread_id), MessageSnapshot(said, tuple(messages)))

    def lookup(self, caller: Identity, messages: Sequence[BaseMessage]) -> TurnLookup:
        """Note that a model is about to be asked, and return what there is to do before."""
        said, away = _said(messages), ()
        if caller.thread_id:
            key = (caller.scope, caller.thread_id)
            seen = self._seen.get(key)
            said = said or (seen.said if seen else None)
            away = removed_by_summary(seen.messages, messages) if seen else ()
            self._seen.put(key, MessageSnapshot(said, tuple(messages)))
        turn, revision = TurnKey(caller.scope, caller.thread_id, said), latest_tool_revision(messages)
        told = self._told.get(turn) if said else None
        return TurnLookup(turn, revision, told[1] if told and told[0] == revision else None, away)

    def store(self, look: TurnLookup, text: str) -> None:
        """Keep what the model is told, until the turn ends or changes the memory itself."""
        if look.turn.said:
            self._told.put(look.turn, (look.revision, text))

    def finish(self, caller: Identity, messages: Sequence[BaseMessage]) -> None:
        """Let go of a turn."""
        self._told.pop(TurnKey(caller.scope, caller.thread_id, _said(messages)))
        if caller.thread_id:
            self._seen.pop((caller.scope, caller.thread_id))


def _said(messages: Sequence[BaseMessage]) -> Hashable:
    """What the last message of the user is known by: its words too, since ids may be a caller's own."""
    start = last_user_index(messages)
    return None if start is None else (messages[start].id, hash(messages[start].text))
