"""Messages as they come over HTTP -> messages."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from memgraph.api.schemas import Message
from memgraph.background.serialization import validate_messages


def to_messages(given: Sequence[str | Message]) -> list[AnyMessage]:
    """Read what was given as a conversation; a text is what a person says.

    Raises:
        ConversationError: If an item is no message, saying which.
    """
    return validate_messages([item if isinstance(item, str) else item.model_dump(exclude_none=True) for item in given])
