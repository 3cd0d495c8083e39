"""Messages of a running agent: the start of a turn, its reply, what a summary removed, and the turns in progress."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import BaseMessage, ToolMessage

from memgraph._cache import LRUCache
from memgraph.analysis.message import has_tool_calls, is_hidden, is_injected, role_of, text_of
from memgraph.models import Scope

if TYPE_CHECKING:
    from memgraph.agents.injection import Injected
    from memgraph.agents.resources import UserIdentity

REVISION = "memory_revision"
"""Key in the artifact of a tool that changed the memory: the new revision."""


def is_user_message(message: BaseMessage) -> bool:
    """Return whether a person wrote *message*, not a program on their behalf."""
    return role_of(message) == "human" and not is_hidden(message) and not is_injected(message)


def derived_thread(messages: Sequence[BaseMessage]) -> str:
    """Return the thread of a run that names none: the same for each run that begins with the same words."""
    first = next((text_of(message.content) for message in messages if is_user_message(message)), "")
    return f"run-{hashlib.sha256(first.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def last_user_index(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the last message of the user, or None."""
    return next((index for index in reversed(range(len(messages))) if is_user_message(messages[index])), None)


def has_reply(messages: Sequence[BaseMessage], *, by_structure: bool = False) -> bool:
    """Return whether there is a message of the user and the agent has replied to the last one.

    Args:
        messages: The conversation, oldest first.
        by_structure: Whether the run has a structured response, which is a reply even if it came as a tool call.
    """
    start = last_user_index(messages)
    if start is None:
        return False
    return by_structure or any(role_of(after) == "ai" and not has_tool_calls(after) for after in messages[start + 1 :])


def revisions(messages: Sequence[BaseMessage]) -> Iterator[int]:
    """Yield the revision of each change that tools made, in the order of *messages*."""
    for message in messages:
        artifact: object = message.artifact if isinstance(message, ToolMessage) else None
        revision = cast("dict[str, Any]", artifact).get(REVISION) if isinstance(artifact, dict) else None
        if isinstance(revision, int):
            yield revision


def removed_by_summary(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the messages to learn from because a summary replaced some of *before*; empty without a summary.

    Returns all of *before*, not just the removed messages, because the watermark of a conversation is found by its
    last messages. A turn that is still in *now* is excluded: it is captured with its reply.
    """
    remaining = {message.id for message in now}
    removed = [message for message in before if message.id not in remaining]
    known = {message.id for message in before}
    is_summarized = any(message.id not in known and is_injected(message) for message in now)
    if not is_summarized or not any(map(is_user_message, removed)):
        return ()
    start = last_user_index(before)
    return before[:start] if start is not None and before[start].id in remaining else before


# -- turns in progress: the memory text and the messages, kept in RAM and out of checkpoints ----------------------


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
    version: tuple[int, object]
    """The latest revision that the turn's own tools made, and the run."""
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
        self._texts: LRUCache[TurnKey, tuple[tuple[int, object], Injected]] = LRUCache(max_turns)
        self._snapshots: LRUCache[tuple[Scope, str], tuple[Hashable, Sequence[BaseMessage]]] = LRUCache(max_turns)
        """The key of the last message of the user, and the conversation, as they were at the last model call."""

    def start(self, identity: UserIdentity, messages: Sequence[BaseMessage]) -> None:
        """Record the start of a turn; a turn that is run again, also within a run, starts without a text."""
        key = _key(messages)
        self._texts.pop(TurnKey(identity.scope, identity.thread_id, key))
        if identity.thread_id:
            self._snapshots.put((identity.scope, identity.thread_id), (key, tuple(messages)))

    def lookup(self, identity: UserIdentity, messages: Sequence[BaseMessage], run: object) -> TurnLookup:
        """Record *messages* before a model call, and return what the cache has for it.

        *run* is an object of the run: one that is resumed after an interrupt, perhaps days later, has no text yet.
        """
        user_message, removed = _key(messages), ()
        if identity.thread_id:
            thread = (identity.scope, identity.thread_id)
            last_message, before = self._snapshots.get(thread) or (None, ())
            # a summary may have removed the user's message: then the turn is still the one before
            user_message = user_message or last_message
            removed = removed_by_summary(before, messages)
            self._snapshots.put(thread, (user_message, tuple(messages)))
        key = TurnKey(identity.scope, identity.thread_id, user_message)
        version = max(revisions(messages[last_user_index(messages) or 0 :]), default=0), run
        cached = self._texts.get(key) if user_message else None
        return TurnLookup(identity, key, version, cached[1] if cached and cached[0] == version else None, removed)

    def store(self, lookup: TurnLookup, shown: Injected) -> None:
        """Keep what is shown of the memory until the turn ends or one of its tools changes the memory."""
        if lookup.key.user_message:
            self._texts.put(lookup.key, (lookup.version, shown))

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
