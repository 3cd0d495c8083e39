"""Schemas of requests that no operation describes by itself, and of the state of the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from memgraph.analysis.dates import UtcTime
from memgraph.background.serialization import validate_messages
from memgraph.operations import RequestModel
from memgraph.operations.results import ResponseModel
from memgraph.operations.session import ThreadId

MAX_MESSAGES = 10_000

# -- queries ---------------------------------------------------------------------------------------


class UserQuery(RequestModel):
    """Which user. Ids are in the query, since proxies change `/`, `.` and `..` in a path."""

    user_id: str | None = Field(
        default=None,
        max_length=256,
        description="Whose memory: 1-256 characters without control characters. Optional with a user's own token.",
    )


class ScopeQuery(UserQuery):
    """Whose memory."""

    agent_name: str | None = Field(
        default=None,
        pattern="^[A-Za-z0-9_-]{0,64}$",
        description="The memory that this agent has of the user; default: the memory that all agents share.",
    )


class PageQuery(ScopeQuery):
    """A page of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of items.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Number of items to skip.")


class UserPageQuery(RequestModel):
    """A page of the users; how many to skip is an argument of the operation."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of users.")


# -- bodies ----------------------------------------------------------------------------------------


class BodyModel(RequestModel):
    """A manual edit; its keys are those of the stored document."""

    model_config = ConfigDict(alias_generator=to_camel)


class Message(RequestModel):
    """A message of a conversation."""

    role: Literal["user", "human", "assistant", "ai", "system", "tool"]
    content: str | list[dict[str, Any]] = Field(description="Text, or content blocks such as {type: text, text: ...}.")
    id: str | None = Field(default=None, max_length=256, description="A later message of the same id replaces it.")
    name: str | None = Field(default=None, max_length=256)
    tool_call_id: str | None = Field(default=None, max_length=256, description="The call that a tool message answers.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="The calls of an assistant message.")
    additional_kwargs: dict[str, Any] | None = Field(default=None, description="As in LangChain's messages.")


class RecallRequest(RequestModel):
    """The conversation for which to recall, and the budget."""

    messages: list[Annotated[str, Field(max_length=100_000)] | Message] = Field(
        default_factory=list[str | Message],
        max_length=1_000,
        description="The conversation, oldest message first; a text is a user message. Empty: facts by confidence.",
    )
    max_tokens: int | None = Field(
        default=None,
        ge=100,
        le=100_000,
        strict=True,
        description="The limit of the text; default: max_injection_tokens.",
    )


class ConversationCreate(RequestModel):
    """A conversation to learn from."""

    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="Oldest message first: the new messages, or all of them.",
    )
    thread_id: ThreadId | None = Field(default=None, description="The id of the conversation; empty counts as absent.")
    at: UtcTime | None = Field(
        default=None,
        description="When messages without a time of their own were written: ISO 8601 (UTC if it has no zone), or "
        "seconds or milliseconds since 1970; default: now.",
    )


def parse_messages(items: Sequence[str | Message]) -> list[AnyMessage]:
    """Return the messages of a request; a text is a user message.

    Raises:
        ConversationError: If an item is not a valid message; it is named by its position.
    """
    return validate_messages([item if isinstance(item, str) else item.model_dump(exclude_none=True) for item in items])


# -- the service -----------------------------------------------------------------------------------


class ServiceInfo(ResponseModel):
    """The state of the service, over all users."""

    storage: str
    finding: str = Field(description="By what memory is found, and what that costs.")
    pending: int = Field(description="Number of pending jobs.")
    failed: int = Field(description="Number of failed jobs.")
    stats: dict[str, int] = Field(description="Counters since the start of this process.")


class StatusResponse(ResponseModel):
    """Whether memory is enabled, and what the token gives access to."""

    status: Literal["ok"] = "ok"
    version: str
    enabled: bool = Field(description="False: learning and recall are off.")
    injection_enabled: bool
    categories: list[str] = Field(description="The categories that a fact may have.")
    sections: list[str] = Field(description="The keys of the summaries that are kept up to date.")
    user_id: str | None = Field(description="The user whose memory the token gives access to; null: every user.")
    service: ServiceInfo | None = Field(description="Only for the administrator's token.")


class ConfigResponse(ResponseModel):
    """The settings in force."""

    model: str
    storage: str
    settings: dict[str, Any] = Field(description="Passwords, keys and tokens are masked.")
