"""The results of operations as JSON, which the command line, the HTTP API and the MCP server answer with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from memgraph.history.diff import EntryKind
from memgraph.history.undo import UndoOutcome
from memgraph.models import (
    AcceptedKind,
    AsSaid,
    Episode,
    Fact,
    MemoryChanges,
    PastFact,
    PendingChange,
    Refusal,
    Revision,
    Section,
    timestamp,
)
from memgraph.report import Outcome, Report

if TYPE_CHECKING:
    from memgraph.background.rebuild import Rebuild


Time = Annotated[str, BeforeValidator(lambda seconds: timestamp(datetime.fromtimestamp(seconds, UTC)))]
"""ISO 8601 in UTC, of a time in seconds since 1970."""


class ResponseModel(BaseModel):
    """The result of an operation, or a part of it; `model_validate` reads the attributes of what it returned."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class RevisionResponse(ResponseModel):
    """The revision after a change."""

    revision: int = Field(
        description="The current revision of the memory.",
        validation_alias=AliasChoices(AliasPath("memory", "revision"), "revision"),
    )


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
    backup: str | None = Field(
        default=None,
        description="The name of the backup; null if the memory was empty or is unchanged.",
        validation_alias=AliasPath("backup", "name"),
    )
    held: list[Refusal] = Field(description="What was held back or changed, and why.")


class DeleteResponse(RevisionResponse):
    """The result of a deletion."""

    forgotten_at: str = Field(validation_alias=AliasPath("memory", "forgotten", "at"))


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

    thread_id: str | None = Field(validation_alias=AliasPath("key", "thread_id"))
    submissions: int = Field(description="Number of submissions that the job contains.")
    first_at: Time
    last_at: Time
    due_at: Time
    running: bool
    tries: int = Field(description="Number of failed attempts.", validation_alias="attempts")
    error: str = Field(description="The last error; empty if there was none.")


class JobsResponse(ResponseModel):
    """The jobs of a memory."""

    pending: list[JobInfo]
    failed: list[JobInfo] = Field(description="Jobs that failed at their last attempt; a retry requeues them.")


class RetryResponse(ResponseModel):
    """The result of a retry."""

    put_back: int = Field(description="Number of requeued jobs.")


class UpkeepResponse(ResponseModel):
    """The result of an upkeep."""

    outcome: Outcome
    revision: int | None = Field(
        default=None,
        description="The revision after the changes; null if nothing was saved.",
        validation_alias=AliasPath("saved", "revision"),
    )
    report: Report = Field(description="What was confirmed and removed, or would be, and the usage of the model.")


class ReviewList(RevisionResponse):
    """Pending changes, the oldest first."""

    reviews: list[PendingChange]


class DecisionResponse(RevisionResponse):
    """The change that was decided."""

    decided: PendingChange


class AcceptedKinds(RevisionResponse):
    """Which changes are saved without a review, since a person has decided so."""

    kinds: list[AcceptedKind]


class MemoryInfo(ResponseModel):
    """The size of a memory, and when it last changed."""

    agent_name: str | None = Field(
        description="The agent that has it; null is the memory that all agents share.",
        validation_alias=AliasPath("scope", "agent_name"),
    )
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

    @classmethod
    def of(cls, revisions: Sequence[Revision], limit: int) -> Self:
        """Return the page of at most *limit* revisions."""
        last = revisions[-1].revision if len(revisions) == limit else None
        return cls(revisions=list(revisions), next_before=last)


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

    @classmethod
    def of(cls, done: Rebuild, *, is_replaced: bool) -> Self:
        """Return the result of a rebuild."""
        return cls(revision=done.memory.revision, replaced=is_replaced, episodes=done.episodes, changes=done.changes)


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
