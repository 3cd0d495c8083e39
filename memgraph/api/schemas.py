"""What requests say: their query and their body, with every range. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from memgraph._validation import unknown_key
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from memgraph.models import Fact, Section
from memgraph.review import Proposal

Category = Literal["preference", "knowledge", "context", "behavior", "goal", "correction"]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
ThreadId = Annotated[str, Field(max_length=256)]

MAX_MESSAGES = 10_000


class RequestModel(BaseModel):
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


class ScopeQuery(RequestModel):
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


class PageQuery(ScopeQuery):
    """Which part of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="Items of one answer.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Items passed over.")
    category: str | None = Field(default=None, max_length=100, description="Only facts of this category.")


class ImportQuery(ScopeQuery):
    """How a document comes in."""

    mode: Literal["merge", "replace"] = Field(
        default="merge",
        description="merge adds what is not known yet; replace puts the document in the place of what is known.",
    )


class RetryQuery(ScopeQuery):
    """What to put back."""

    thread_id: ThreadId | None = Field(default=None, description="Only this conversation.")


# -- bodies ----------------------------------------------------------------------------------------


class BodyModel(RequestModel):
    """What a person writes into a memory; its keys are those of the document."""

    model_config = ConfigDict(alias_generator=to_camel)


class FactCreate(BodyModel):
    """A fact to add."""

    content: Text = Field(description="What is so, in 1 to 2,000 characters.")
    category: Category = cast("Category", DEFAULT_CATEGORY)
    confidence: Confidence = DEFAULT_CONFIDENCE
    source_error: Text | None = Field(default=None, description="On corrections only: what went wrong.")


class FactUpdate(BodyModel):
    """What to change of a fact; what is not given stays."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    content: Text | None = None
    category: Category | None = None
    confidence: Confidence | None = None
    source_error: Text | None = None


class SummaryUpdate(BodyModel):
    """A summary as it is to be."""

    summary: str = Field(max_length=20_000, description="At most 1,000 tokens; an empty one removes what is there.")


class Message(RequestModel):
    """A message of a conversation."""

    role: Literal["user", "human", "assistant", "ai", "system", "tool"]
    content: str | list[dict[str, Any]] = Field(description="A text, or blocks such as {type: text, text: ...}.")
    id: str | None = Field(default=None, max_length=256, description="By which a later version takes its place.")
    name: str | None = Field(default=None, max_length=256)
    tool_call_id: str | None = Field(default=None, max_length=256, description="Of a tool's message: which call.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="Of the assistant's: which calls.")
    additional_kwargs: dict[str, Any] | None = Field(default=None, description="As LangChain's messages have it.")


class RecallRequest(RequestModel):
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


class ConversationCreate(RequestModel):
    """What was said."""

    messages: list[Message] = Field(
        min_length=1, max_length=MAX_MESSAGES, description="The oldest first: what is new, or all of it again."
    )
    thread_id: ThreadId | None = Field(default=None, description="Which conversation; empty counts as absent.")


class ResponseModel(BaseModel):
    """A part of an answer."""


class RevisionResponse(ResponseModel):
    """What a change led to."""

    revision: int = Field(description="Of the memory as it is stored now.")


class FactPage(RevisionResponse):
    """Some of the facts, in the order in which they are stored."""

    total: int = Field(description="How many there are, of this category if one is asked for.")
    next_offset: int | None = Field(description="Where the next page begins; null on the last.")
    facts: list[Fact]


class FactResponse(RevisionResponse):
    """A fact."""

    fact: Fact


class SummaryResponse(RevisionResponse):
    """A summary."""

    name: str
    section: Section


class ImportResponse(RevisionResponse):
    """What an import did."""

    counts: dict[str, int] = Field(description="How many facts were added, confirmed and removed, summaries rewritten.")
    backup: str | None = Field(description="The name of what was there before; null where nothing was, or stayed so.")


class DeleteResponse(RevisionResponse):
    """What is left of a memory that was deleted."""

    forgotten_at: str


class BackupInfo(ResponseModel):
    """A backup."""

    name: str
    bytes: int


class BackupList(ResponseModel):
    """Backups, the newest first."""

    backups: list[BackupInfo]


class SubmissionAccepted(ResponseModel):
    """What was handed over."""

    messages: int = Field(description="How many messages came in; they are on disk, and learned from later.")
    thread_id: str | None


class JobInfo(ResponseModel):
    """A conversation that waits to be learned from."""

    thread_id: str | None
    submissions: int = Field(description="How often something of it was handed over.")
    first_at: str
    last_at: str
    due_at: str
    running: bool
    tries: int = Field(description="How often it failed.")
    error: str = Field(description="Why it failed last; empty where it did not.")


class ReviewInfo(ResponseModel):
    """A proposed change, waiting for a person to decide."""

    id: str
    thread_id: str | None
    at: str
    proposal: Proposal = Field(description="What would be added, removed and rewritten, and how to answer.")


class ReviewList(ResponseModel):
    """What waits for a decision, the earliest first."""

    reviews: list[ReviewInfo]


class DecisionResponse(ResponseModel):
    """What was decided."""

    id: str


class JobsResponse(ResponseModel):
    """What is to be learned for a memory."""

    pending: list[JobInfo]
    failed: list[JobInfo] = Field(description="Set aside after the last try; a retry puts them back.")
    in_review: list[ReviewInfo] = Field(description="Waiting for a person's decision.")


class RetryResponse(ResponseModel):
    """What a retry did."""

    put_back: int


class ServiceInfo(ResponseModel):
    """The service as a whole."""

    storage: str
    pending: int = Field(description="Conversations that wait to be learned from.")
    failed: int = Field(description="Conversations set aside after their last try.")
    in_review: int = Field(description="Changes that wait for a person's decision.")
    stats: dict[str, int] = Field(description="What this process did since it started.")


class Status(ResponseModel):
    """Whether memory is on, and for whom this token may act."""

    status: Literal["ok"] = "ok"
    version: str
    enabled: bool = Field(description="False: nothing is learned and nothing is recalled.")
    injection_enabled: bool
    user_id: str | None = Field(description="For whom this caller may act; null is everybody.")
    service: ServiceInfo | None = Field(description="Only for callers who may act for everybody.")


class Config(ResponseModel):
    """The settings in force."""

    model: str
    storage: str
    settings: dict[str, Any] = Field(description="Passwords, keys and tokens are left out.")
