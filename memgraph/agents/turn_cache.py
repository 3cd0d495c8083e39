"""Turn cache: the memory text and the messages of turns in progress, kept in RAM and out of checkpoints."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from memgraph._cache import LRUCache
from memgraph.agents.identity import UserIdentity
from memgraph.agents.injection import Injected
from memgraph.agents.messages import last_user_index, latest_tool_revision, removed_by_summary
from memgraph.models import Scope


@dataclass(frozen=True, slots=True)
class TurnKey:
    """A turn: from one message of the user to the next."""

    scope: Scope
    thread_id: str | None
    user_message: Hashable
    """Identifies the message of the user that started the turn; None if there is none."""


@dataclass(frozen=True, slots=True)
class TurnLookup:
    """What the cache has for the next model call."""

    identity: UserIdentity
    key: TurnKey
    revision: int
    """The latest revision that the turn's own tools made."""
    shown: Injected | None
    """What the model sees of the memory in this turn; None if it has to be rendered."""
    removed: Sequence[BaseMessage]
    """Messages that a summary removed and that have to be captured."""


class TurnCache:
    """The turns in progress. They are not in an agent's state, so no checkpoint contains memory.

    Args:
        max_turns: Conversations at the same time; the text of an evicted one is rendered again at its next step.
    """

    def __init__(self, max_turns: int = 1_024) -> None:
        self._texts: LRUCache[TurnKey, tuple[int, Injected]] = LRUCache(max_turns)
        self._snapshots: LRUCache[tuple[Scope, str], tuple[Hashable, Sequence[BaseMessage]]] = LRUCache(max_turns)
        """The key of the last message of the user, and the conversation, as they were at the last model call."""

    def start(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> None:
        """Record the start of a turn; a turn that is run again starts without a text."""
        key = _key(messages)
        self._texts.pop(TurnKey(identity.scope, identity.thread_id, key))
        if identity.thread_id:
            self._snapshots.put((identity.scope, identity.thread_id), (key, tuple(messages)))

    def lookup(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> TurnLookup:
        """Record *messages* before a model call, and return what the cache has for it."""
        user_message, removed = _key(messages), ()
        if identity.thread_id:
            thread = (identity.scope, identity.thread_id)
            last_message, before = self._snapshots.get(thread) or (None, ())
            # a summary may have removed the user's message: then the turn is still the one before
            user_message = user_message or last_message
            removed = removed_by_summary(before, messages)
            self._snapshots.put(thread, (user_message, tuple(messages)))
        key, revision = TurnKey(identity.scope, identity.thread_id, user_message), latest_tool_revision(messages)
        cached = self._texts.get(key) if user_message else None
        return TurnLookup(identity, key, revision, cached[1] if cached and cached[0] == revision else None, removed)

    def store(self, lookup: TurnLookup, shown: Injected) -> None:
        """Keep what is shown of the memory until the turn ends or one of its tools changes the memory."""
        if lookup.key.user_message:
            self._texts.put(lookup.key, (lookup.revision, shown))

    def finish(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> Injected | None:
        """Remove a turn that has ended; return what it showed of the memory, if that is known."""
        turn = TurnKey(identity.scope, identity.thread_id, _key(messages))
        shown = self._texts.get(turn)
        self._texts.pop(turn)
        if identity.thread_id:
            self._snapshots.pop((identity.scope, identity.thread_id))
        return shown[1] if shown else None


def _key(messages: Sequence[BaseMessage]) -> Hashable:
    """Return the key of the user's last message. It includes the text, since clients may reuse message ids."""
    start = last_user_index(messages)
    return None if start is None else (messages[start].id, hash(messages[start].text))
