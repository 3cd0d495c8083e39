"""What a running agent's messages tell: where the turn began, whether it was answered, what a summary took away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, ToolMessage

from memgraph.text.message import has_tool_calls, is_hidden, is_injected, role_of

REVISION = "memory_revision"
"""In the artifact of a tool that changed the memory: what it changed it to."""


def is_user_message(message: BaseMessage) -> bool:
    """Tell whether a person said this, and not a machine in their place."""
    return role_of(message) == "human" and not is_hidden(message) and not is_injected(message)


def last_user_index(messages: Sequence[BaseMessage]) -> int | None:
    """Return the place of the last thing the user said, None where there is none."""
    return next((at for at in reversed(range(len(messages))) if is_user_message(messages[at])), None)


def has_reply(messages: Sequence[BaseMessage], *, by_structure: bool = False) -> bool:
    """Tell whether the user said something, and the agent has answered it.

    Args:
        messages: The conversation, the oldest first.
        by_structure: Whether a structured response, which may come as a tool call, is the answer.
    """
    start = last_user_index(messages)
    if start is None:
        return False
    return by_structure or any(role_of(after) == "ai" and not has_tool_calls(after) for after in messages[start + 1 :])


def latest_tool_revision(messages: Sequence[BaseMessage]) -> int:
    """Return the revision to which tools of this turn have changed the memory, 0 where they have not."""
    start = last_user_index(messages)
    return max(_revisions(messages[start or 0 :]), default=0)


def _revisions(messages: Sequence[BaseMessage]) -> Iterator[int]:
    for message in messages:
        artifact: object = message.artifact if isinstance(message, ToolMessage) else None
        revision = cast("dict[str, Any]", artifact).get(REVISION) if isinstance(artifact, dict) else None
        if isinstance(revision, int):
            yield revision


def removed_by_summary(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return what has to be learned from since a summary took the place of messages; empty where none did.

    That is all of *before* and not only what is gone, since how far a conversation was learned from is known
    by its last messages. A turn that still is there is left out: it is learned from with its answer.
    """
    kept = {message.id for message in now}
    gone = [message for message in before if message.id not in kept]
    if not any(map(is_user_message, gone)) or not _is_summarized(before, now):
        return ()
    start = last_user_index(before)
    return before[:start] if start is not None and before[start].id in kept else before


def _is_summarized(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> bool:
    known = {message.id for message in before}
    return any(message.id not in known and is_injected(message) for message in now)
