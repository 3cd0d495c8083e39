"""What answers say. Parts of a memory are as they are stored; all else is in snake_case, as in LangGraph's own API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from memgraph.models import Fact, Section
from memgraph.review import Proposal


class Told(BaseModel):
    """A part of an answer."""


class At(Told):
    """What a change led to."""

    revision: int = Field(description="Of the memory as it is stored now.")


class FactPage(At):
    """Some of the facts, in the order in which they are stored."""

    total: int = Field(description="How many there are, of this category if one is asked for.")
    next_offset: int | None = Field(description="Where the next page begins; null on the last.")
    facts: list[Fact]


class OneFact(At):
    """A fact."""

    fact: Fact


class OneSummary(At):
    """A summary."""

    name: str
    section: Section


class Imported(At):
    """What an import did."""

    counts: dict[str, int] = Field(description="How many facts were added, confirmed and removed, summaries rewritten.")
    backup: str | None = Field(description="The name of what was there before; null where nothing was, or stayed so.")


class Cleared(At):
    """What is left of a memory that was deleted."""

    forgotten_at: str


class BackupTold(Told):
    """A backup."""

    name: str
    bytes: int


class BackupList(Told):
    """Backups, the newest first."""

    backups: list[BackupTold]


class Accepted(Told):
    """What was handed over."""

    messages: int = Field(description="How many messages came in; they are on disk, and learned from later.")
    thread_id: str | None


class JobTold(Told):
    """A conversation that waits to be learned from."""

    thread_id: str | None
    submissions: int = Field(description="How often something of it was handed over.")
    first_at: str
    last_at: str
    due_at: str
    running: bool
    tries: int = Field(description="How often it failed.")
    error: str = Field(description="Why it failed last; empty where it did not.")


class ReviewTold(Told):
    """A proposed change, waiting for a person to decide."""

    id: str
    thread_id: str | None
    at: str
    proposal: Proposal = Field(description="What would be added, removed and rewritten, and how to answer.")


class ReviewList(Told):
    """What waits for a decision, the earliest first."""

    reviews: list[ReviewTold]


class Decided(Told):
    """What was decided."""

    id: str


class Updates(Told):
    """What is to be learned for a memory."""

    pending: list[JobTold]
    failed: list[JobTold] = Field(description="Set aside after the last try; a retry puts them back.")
    in_review: list[ReviewTold] = Field(description="Waiting for a person's decision.")


class PutBack(Told):
    """What a retry did."""

    put_back: int


class Service(Told):
    """The service as a whole."""

    storage: str
    pending: int = Field(description="Conversations that wait to be learned from.")
    failed: int = Field(description="Conversations set aside after their last try.")
    in_review: int = Field(description="Changes that wait for a person's decision.")
    stats: dict[str, int] = Field(description="What this process did since it started.")


class Status(Told):
    """Whether memory is on, and for whom this token may act."""

    status: Literal["ok"] = "ok"
    version: str
    enabled: bool = Field(description="False: nothing is learned and nothing is recalled.")
    injection_enabled: bool
    user_id: str | None = Field(description="For whom this caller may act; null is everybody.")
    service: Service | None = Field(description="Only for callers who may act for everybody.")


class Config(Told):
    """The settings in force."""

    model: str
    storage: str
    settings: dict[str, Any] = Field(description="Passwords, keys and tokens are left out.")
