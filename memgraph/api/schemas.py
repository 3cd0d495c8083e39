"""Schemas of requests and responses. Unknown keys in requests are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from langchain_core.messages import AnyMessage
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from memgraph._validation import unknown_key
from memgraph.background.serialization import validate_messages
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from memgraph.history.diff import EntryKind
from memgraph.history.undo import UndoOutcome
from memgraph.models import AsSaid, Episode, Fact, MemoryChanges, PastFact, PendingChange, Refusal, Revision, Section
from memgraph.report import Outcome, Report
from memgraph.text.dates import UtcTime

CategoryName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=40,
        description="A category of the setting `categories`; by default preference, knowledge, context, behavior, goal "
        "or correction. GET /status lists them.",
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
ThreadId = Annotated[str, Field(max_length=256)]

MAX_MESSAGES = 10_000


class RequestModel(BaseModel):
    """The query or the body of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: object) -> object:
        """Suggest the nearest key, which pydantic's own error does not."""
        if isinstance(value, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in cast("dict[str, object]", value):
                if key not in known:
                    # pydantic formats the message as a template, in which braces are doubled
                    message = str(unknown_key(key[:80], repr(key[:80]), known)).replace("{", "{{").replace("}", "}}")
                    raise PydanticCustomError("unknown_key", cast("Any", message))
        return cast("object", value)


# -- queries ---------------------------------------------------------------------------------------


class ScopeQuery(RequestModel):
    """Whose memory. Ids are in the query, since proxies change `/`, `.` and `..` in a path."""

    user_id: str | None = Field(
        default=None,
        max_length=256,
        description="Whose memory: 1-256 characters without control characters. Optional with a user's own token.",
    )
    agent_name: str | None = Field(
        default=None,
        pattern="^[A-Za-z0-9_-]{0,64}$",
        description="The memory that this agent has of the user; default: the memory that all agents share.",
    )


class AsOfQuery(ScopeQuery):
    """Whose memory, and of which date."""

    as_of: str | None = Field(
        default=None,
        max_length=40,
        description="The memory as it held at the end of a year, month or day: 2026-03; default: as it holds now.",
    )


class PageQuery(ScopeQuery):
    """A page of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of items.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Number of items to skip.")


class FactQuery(PageQuery):
    """Which facts to list."""

    category: str | None = Field(default=None, max_length=100, description="Only facts of this category.")
    all: bool = Field(default=False, description="Also claims that are kept as the user said them, after the facts.")


class EpisodeQuery(PageQuery):
    """Which episodes to list."""

    thread_id: ThreadId | None = Field(default=None, description="Only those of this conversation.")
    since: str | None = Field(
        default=None,
        max_length=40,
        description="Only those since a time, or a year, month or day in the time zone of the settings: 2026-05.",
    )


class UserQuery(RequestModel):
    """Which user."""

    user_id: str | None = Field(
        default=None,
        max_length=256,
        description="1-256 characters without control characters. Optional with a user's own token.",
    )


class UserPageQuery(RequestModel):
    """A page of the users."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of users.")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Number of users to skip.")


class HistoryQuery(ScopeQuery):
    """Which revisions to list."""

    limit: int = Field(default=20, ge=1, le=1_000, description="Maximum number of revisions.")
    before: int | None = Field(default=None, ge=1, le=2**53, description="Only revisions before this one.")


class UndoQuery(ScopeQuery):
    """How a revision is undone."""

    relearn: bool = Field(default=False, description="Let the next update learn from the same turns again.")
    partial: bool = Field(default=False, description="Undo the rest if not all of it can be undone.")


class RevertQuery(ScopeQuery):
    """What is taken back: give either a thread or a date."""

    thread_id: str | None = Field(default=None, max_length=256, description="What was learned in this conversation.")
    since: str | None = Field(
        default=None,
        max_length=40,
        description="What was learned since this date, such as `2026-05`, or time; days are in the server's time zone.",
    )


class ImportQuery(ScopeQuery):
    """How a document is imported."""

    mode: Literal["merge", "replace"] = Field(
        default="merge",
        description="merge adds what is not known yet; replace overwrites the memory with the document.",
    )
    trusted: bool = Field(
        default=False,
        description="Take the document as it is: nothing is held back, and it states which facts a person wrote and "
        "which threads were learned from. For your own backups; it needs the administrator's token.",
    )


class FactDeleteQuery(ScopeQuery):
    """Which memory, and what is removed with the fact."""

    keep_words: bool = Field(
        default=False, description="Keep the episodes that only this fact rests on, in which recall would find it."
    )


class RetryQuery(ScopeQuery):
    """Which jobs to retry."""

    thread_id: ThreadId | None = Field(default=None, description="Only this conversation.")


class RebuildQuery(ScopeQuery):
    """Which memory to rebuild."""

    dry_run: bool = Field(default=False, description="Replace nothing. The next rebuild does, without learning again.")


class UpkeepQuery(ScopeQuery):
    """Which memory to keep up."""

    dry_run: bool = Field(default=False, description="Return the changes, and save nothing.")


# -- bodies ----------------------------------------------------------------------------------------


class BodyModel(RequestModel):
    """A manual edit; its keys are those of the stored document."""

    model_config = ConfigDict(alias_generator=to_camel)


class FactCreate(BodyModel):
    """A fact to add."""

    content: Text = Field(description="The fact, in 1 to 2,000 characters.")
    category: CategoryName = DEFAULT_CATEGORY
    confidence: Confidence = DEFAULT_CONFIDENCE
    source_error: Text | None = Field(default=None, description="The corrected mistake; corrections only.")


class FactUpdate(BodyModel):
    """Changes of a fact; missing fields stay as they are."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    content: Text | None = None
    category: CategoryName | None = None
    confidence: Confidence | None = None
    source_error: Text | None = None


class SummaryUpdate(BodyModel):
    """The new text of a summary."""

    summary: str = Field(max_length=20_000, description="At most 1,000 tokens; an empty text removes the summary.")


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


def to_messages(items: Sequence[str | Message]) -> list[AnyMessage]:
    """Return the messages of a request; a text is a user message.

    Raises:
        ConversationError: If an item is not a valid message; it is named by its position.
    """
    return validate_messages([item if isinstance(item, str) else item.model_dump(exclude_none=True) for item in items])


# -- responses -------------------------------------------------------------------------------------


class ResponseModel(BaseModel):
    """The body of a response, or a part of it."""


class RevisionResponse(ResponseModel):
    """The revision after a change."""

    revision: int = Field(description="The current revision of the memory.")


class FactPage(RevisionResponse):
    """A page of facts, in the order in which they are stored."""

    total: int = Field(description="Number of facts in all, or in the requested category.")
    next_offset: int | None = Field(description="The offset of the next page; null on the last one.")
    facts: list[Fact | AsSaid]


class EpisodePage(ResponseModel):
    """A page of episodes, the oldest first."""

    total: int = Field(description="Number of episodes in all, or of those that the query selects.")
    next_offset: int | None = Field(description="The offset of the next page; null on the last one.")
    episodes: list[Episode]


class FactResponse(RevisionResponse):
    """A fact, or a claim that is kept as the user said it."""

    fact: Fact | AsSaid


class SummaryResponse(RevisionResponse):
    """A summary."""

    name: str
    section: Section


class ImportResponse(RevisionResponse):
    """The result of an import."""

    counts: dict[str, int] = Field(
        description="Numbers of facts added, confirmed and removed, of rewritten summaries, and of episodes added."
    )
    backup: str | None = Field(description="The name of the backup; null if the memory was empty or is unchanged.")
    held: list[Refusal] = Field(description="What was held back or changed, and why.")


class DeleteResponse(RevisionResponse):
    """The result of a deletion."""

    forgotten_at: str


class BackupInfo(ResponseModel):
    """The name and the size of a backup."""

    name: str
    bytes: int


class BackupList(ResponseModel):
    """Backups, the newest first."""

    backups: list[BackupInfo]


class SubmissionAccepted(ResponseModel):
    """A submitted conversation."""

    messages: int = Field(description="Number of messages that were stored, to be learned from later.")
    thread_id: str | None


class JobInfo(ResponseModel):
    """A pending or failed job: a conversation to learn from."""

    thread_id: str | None
    submissions: int = Field(description="Number of submissions that the job contains.")
    first_at: str
    last_at: str
    due_at: str
    running: bool
    tries: int = Field(description="Number of failed attempts.")
    error: str = Field(description="The last error; empty if there was none.")


class UpkeepResponse(ResponseModel):
    """The result of an upkeep."""

    outcome: Outcome
    revision: int | None = Field(description="The revision after the changes; null if nothing was saved.")
    report: Report = Field(description="What was confirmed and removed, or would be, and the usage of the model.")


class ReviewList(RevisionResponse):
    """Pending changes, the oldest first."""

    reviews: list[PendingChange]


class AcceptedText(RequestModel):
    """Accepts a change of one fact or one summary in another wording."""

    text: str = Field(min_length=1, max_length=10_000)


class DecisionResponse(RevisionResponse):
    """The change that was decided."""

    decided: PendingChange


class MemoryInfo(ResponseModel):
    """The size of a memory, and when it last changed."""

    agent_name: str | None = Field(description="The agent that has it; null is the memory that all agents share.")
    facts: int
    episodes: int
    revision: int
    last_updated: str
    is_damaged: bool = Field(description="Whether the document cannot be read.")


class UserInfo(ResponseModel):
    """A user and the memories of that user."""

    user_id: str
    memories: list[MemoryInfo]


class UserPage(ResponseModel):
    """A page of the users, in alphabetical order."""

    users: list[UserInfo]
    total: int = Field(description="The number of all users.")


class HistoryPage(ResponseModel):
    """A page of the history, the newest revision first."""

    revisions: list[Revision]
    next_before: int | None = Field(description="Send it as `before` for the next page; null on the last one.")


class DiffResponse(ResponseModel):
    """What differs between two revisions."""

    changes: MemoryChanges


class UndoConflict(ResponseModel):
    """What an undo leaves as it is, and why."""

    kind: EntryKind
    key: str
    reason: str


class UndoResponse(RevisionResponse):
    """The result of an undo."""

    outcome: UndoOutcome
    conflicts: list[UndoConflict]


class RebuildPreview(ResponseModel):
    """What a rebuild costs."""

    calls: int = Field(description="Calls of the model, at least.")


class RebuildResponse(RevisionResponse):
    """The result of a rebuild."""

    replaced: bool = Field(description="False: nothing differs, or it was a dry run.")
    episodes: int = Field(description="How many episodes were learned from.")
    changes: MemoryChanges = Field(description="What differs from the memory before.")


class RevertResponse(RevisionResponse):
    """The result of a revert."""

    changes: MemoryChanges = Field(description="What differs from the memory before.")
    conflicts: list[UndoConflict] = Field(description="What may still rest on it, and stays as it is.")


class FactHistoryResponse(ResponseModel):
    """Why a fact is known."""

    fact: Fact | AsSaid
    state: Literal["current", "as said", "past", "removed"]
    superseded: list[PastFact] = Field(description="The past facts that it followed.")
    revisions: list[Revision] = Field(description="Those that changed it, the newest first.")


class JobsResponse(ResponseModel):
    """The jobs of a memory."""

    pending: list[JobInfo]
    failed: list[JobInfo] = Field(description="Jobs that failed at their last attempt; a retry requeues them.")


class RetryResponse(ResponseModel):
    """The result of a retry."""

    put_back: int = Field(description="Number of requeued jobs.")


class ServiceInfo(ResponseModel):
    """The state of the service, over all users."""

    storage: str
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
