"""Messages of a running agent: the start of a turn, whether it has a reply, and what a summary removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, ToolMessage

from memgraph.text.message import has_tool_calls, is_hidden, is_injected, role_of

REVISION = "memory_revision"
"""Key in the artifact of a tool that changed the memory: the new revision."""


def is_user_message(message: BaseMessage) -> bool:
    """Return whether a person wrote *message*, not a program on their behalf."""
    return role_of(message) == "human" and not is_hidden(message) and not is_injected(message)


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


def latest_tool_revision(messages: Sequence[BaseMessage]) -> int:
    """Return the latest revision that tools of this turn made, or 0."""
    start = last_user_index(messages)
    return max(revisions(messages[start or 0 :]), default=0)


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
    if not any(map(is_user_message, removed)) or not _is_summarized(before, now):
        return ()
    start = last_user_index(before)
    return before[:start] if start is not None and before[start].id in remaining else before


def _is_summarized(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> bool:
    known = {message.id for message in before}
    return any(message.id not in known and is_injected(message) for message in now)
