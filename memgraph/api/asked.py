"""What requests say: their query and their body, with every range. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from memgraph.config.problems import unknown_key
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE

Category = Literal["preference", "knowledge", "context", "behavior", "goal", "correction"]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
ThreadId = Annotated[str, Field(max_length=256)]

MAX_MESSAGES = 10_000


class Asked(BaseModel):
    """A part of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _know_every_key(cls, given: object) -> object:
        if isinstance(given, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in cast("dict[str, object]", given):
                if key not in known:
                    told = str(unknown_key(key[:80], repr(key[:80]), known)).replace("{", "{{").replace("}", "}}")
                    raise PydanticCustomError("unknown_key", cast("Any", told))
        return cast("object", given)


# -- queries ---------------------------------------------------------------------------------------


class Whose(Asked):
    """Whose memory. In the query, where any id survives every proxy: in a path, `/`, `.` and `..` would not."""

    user_id: str | None = Field(
        default=None,
        max_length=256,
        description="Whose memory: 1-256 characters without control characters. A user's own token need not say it.",
    )
    agent_name: str | None = Field(
        default=None,
        pattern="^[A-Za-z0-9_-]{0,64}$",
        description="The memory that this agent has of the user; none is the one that all agents share.",
    )


class Page(Whose):
    """Which part of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="Items of one answer.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Items passed over.")
    category: str | None = Field(default=None, max_length=100, description="Only facts of this category.")


class Importing(Whose):
    """How a document comes in."""

    mode: Literal["merge", "replace"] = Field(
        default="merge",
        description="merge adds what is not known yet; replace puts the document in the place of what is known.",
    )


class Retrying(Whose):
    """What to put back."""

    thread_id: ThreadId | None = Field(default=None, description="Only this conversation.")


# -- bodies ----------------------------------------------------------------------------------------


class Written(Asked):
    """What a person writes into a memory; its keys are those of the document."""

    model_config = ConfigDict(alias_generator=to_camel)


class NewFact(Written):
    """A fact to add."""

    content: Text = Field(description="What is so, in 1 to 2,000 characters.")
    category: Category = cast("Category", DEFAULT_CATEGORY)
    confidence: Confidence = DEFAULT_CONFIDENCE
    source_error: Text | None = Field(default=None, description="On corrections only: what went wrong.")


class ChangedFact(Written):
    """What to change of a fact; what is not given stays."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    content: Text | None = None
    category: Category | None = None
    confidence: Confidence | None = None
    source_error: Text | None = None


class NewSummary(Written):
    """A summary as it is to be."""

    summary: str = Field(max_length=20_000, description="At most 1,000 tokens; an empty one removes what is there.")


class Message(Asked):
    """A message of a conversation."""

    role: Literal["user", "human", "assistant", "ai", "system", "tool"]
    content: str | list[dict[str, Any]] = Field(description="A text, or blocks such as {type: text, text: ...}.")
    id: str | None = Field(default=None, max_length=256, description="By which a later version takes its place.")
    name: str | None = Field(default=None, max_length=256)
    tool_call_id: str | None = Field(default=None, max_length=256, description="Of a tool's message: which call.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="Of the assistant's: which calls.")
    additional_kwargs: dict[str, Any] | None = Field(default=None, description="As LangChain's messages have it.")


class Question(Asked):
    """What an agent is asked."""

    messages: list[Annotated[str, Field(max_length=100_000)] | Message] = Field(
        default_factory=list[str | Message],
        max_length=1_000,
        description="The conversation so far, the oldest first; a text is what a person says. None: the surest facts.",
    )
    max_tokens: int | None = Field(
        default=None,
        ge=100,
        le=100_000,
        strict=True,
        description="Of the text; default: max_injection_tokens.",
    )


class Conversation(Asked):
    """What was said."""

    messages: list[Message] = Field(
        min_length=1, max_length=MAX_MESSAGES, description="The oldest first: what is new, or all of it again."
    )
    thread_id: ThreadId | None = Field(default=None, description="Which conversation; empty counts as absent.")
