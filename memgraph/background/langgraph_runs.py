"""Runs that wait on LangGraph Server: which conversation each is of, what is to be done with it, and when."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.reviews import PendingReview, is_proposal
from memgraph.background.schedule import MAX_TRIES, DebouncePolicy
from memgraph.models import UNKNOWN_THREAD, Scope
from memgraph.review import Proposal

NAMESPACE = uuid.UUID("6f0a8d5e-3c0b-5b61-9d0e-3a51f3f0c7d4")
"""Never changes: the same conversation is the same thread of the server, whoever submits."""

NOTES = "memgraph"
"""The key of a thread's or a run's metadata under which ours stands."""


def thread_of(assistant: str, key: ConversationKey) -> str:
    """Id of the server's thread that the updates of *key* run on."""
    named = [assistant, key.scope.user_id, key.scope.agent_name or "", key.thread_id or ""]
    return str(uuid.uuid5(NAMESPACE, json.dumps(named)))


def thread_metadata(assistant: str, key: ConversationKey) -> dict[str, Any]:
    """What the metadata of a thread says, such that it can be found by user, agent and thread."""
    return {**scope_metadata(assistant, key.scope), "thread_id": key.thread_id or ""}


def scope_metadata(assistant: str, scope: Scope) -> dict[str, Any]:
    """The part of it that all threads of *scope* share."""
    return {"assistant": assistant, "user_id": scope.user_id, "agent_name": scope.agent_name or ""}


def context_of(key: ConversationKey) -> dict[str, str]:
    """The context of a run. Without a thread's name the server's own id would count as one."""
    agent = {"agent_name": key.scope.agent_name} if key.scope.agent_name else {}
    return {"user_id": key.scope.user_id, "thread_id": key.thread_id or UNKNOWN_THREAD, **agent}


@dataclass(frozen=True, slots=True)
class ServerRun:
    """A run of the server, as far as it matters here."""

    id: str
    """Later runs have higher ones: the server draws them by time."""
    status: str
    key: ConversationKey
    submissions: int
    """How many are merged in it; 0 for a run that somebody else started on the thread."""
    first_at: float
    last_at: float
    due_at: float
    tries: int
    """How often what it carries failed before."""
    decides: str = ""
    """Of a run that goes on after a review: the one that was stopped for it, whose conversation this is."""

    @property
    def is_ours(self) -> bool:
        """Somebody else's, such as one that goes on after an interrupt of theirs, is left alone."""
        return self.submissions > 0

    @property
    def is_open(self) -> bool:
        return self.status in {"pending", "running"}

    @property
    def has_failed(self) -> bool:
        return self.status in {"error", "timeout"}

    def job(self, error: str = "") -> Job:
        """What can be told of it."""
        number = uuid.UUID(self.id).int
        return Job(
            id=number,
            key=self.key,
            submissions=self.submissions,
            first_number=number,
            last_number=number,
            first_at=self.first_at,
            last_at=self.last_at,
            due_at=self.due_at,
            attempts=self.tries + self.has_failed,
            error=error,
            running=self.status == "running",
        )


def read_run(run: Mapping[str, Any]) -> ServerRun:
    """Read what the server says of a run on one of our threads."""
    notes: Mapping[str, Any] = run["metadata"].get(NOTES) or {}
    due = datetime.fromisoformat(run["created_at"]).timestamp()  # the server adds the delay to it
    return ServerRun(
        id=run["run_id"],
        status=run["status"],
        # somebody else's may not say whose it is, and nobody asks
        key=ConversationKey(
            Scope(notes.get("user_id", "default"), notes.get("agent_name")), notes.get("thread_id") or None
        ),
        submissions=notes.get("submissions", 0),
        first_at=notes.get("first_at", due),
        last_at=notes.get("last_at", due),
        due_at=due,
        tries=notes.get("tries", 0),
        decides=notes.get("decides", ""),
    )


def reviewed_run(runs: Iterable[ServerRun]) -> ServerRun | None:
    """Which of *runs* it was that stopped for review, on a thread that did; the server calls it a success."""
    return max((run for run in runs if run.is_ours and run.status == "success"), key=lambda run: run.id, default=None)


def mergeable(
    runs: Iterable[ServerRun], timing: DebouncePolicy, now: float, *, is_in_review: bool = False
) -> list[ServerRun]:
    """Which of a thread's *runs* a new submission takes in, the earliest first.

    Those that wait or run, and those that stopped for a person and were not gone on with. One that has waited
    its longest is not touched any more: else a busy conversation would roll it back for ever; nor is one
    that applies a decision, which would have to be made again.

    Args:
        runs: Those of one thread.
        timing: When they are due.
        now: Seconds since 1970.
        is_in_review: Whether what its last run proposed waits for a person; that one's time counts from now.
    """
    runs = sorted((run for run in runs if run.is_ours or run.status == "success"), key=lambda run: run.id)
    done = max((run.id for run in runs if run.status == "success"), default="")
    reviewed = reviewed_run(runs) if is_in_review else None
    return [
        replace(run, first_at=now) if run is reviewed else run
        for run in runs
        if (run.is_open and not run.decides and now < run.first_at + timing.max_wait)
        or (run.status == "interrupted" and run.id > done)
        or run is reviewed
    ]


def retryable(runs: Iterable[ServerRun]) -> list[ServerRun]:
    """Which of a thread's *runs* failed, but not so often that a person has to look at them."""
    failed = (run for run in runs if run.is_ours and run.has_failed and run.tries + 1 < MAX_TRIES)
    return sorted(failed, key=lambda run: run.id)


def expeditable(runs: Iterable[ServerRun], now: float) -> list[ServerRun]:
    """Which of a thread's *runs* still wait for their quiet time."""
    return sorted(
        (run for run in runs if run.is_ours and run.status == "pending" and run.due_at > now), key=lambda run: run.id
    )


def run_metadata(
    assistant: str,
    key: ConversationKey,
    merged: Sequence[ServerRun],
    *,
    now: float,
    submitted: int = 0,
    tries: int | None = None,
) -> dict[str, Any]:
    """What the metadata of a run says that carries *merged* and *submitted* new submissions."""
    return {
        **thread_metadata(assistant, key),
        "submissions": sum(run.submissions for run in merged) + submitted,
        "first_at": min((run.first_at for run in merged), default=now),
        "last_at": now if submitted else max((run.last_at for run in merged), default=now),
        "tries": max((run.tries for run in merged), default=0) if tries is None else tries,
    }


def delay(timing: DebouncePolicy, first: float, now: float) -> int:
    """After how many seconds a run starts whose first submission came at *first*; the server counts in whole ones."""
    return max(0, math.ceil(timing.due(first, now) - now))


@dataclass(frozen=True, slots=True)
class InterruptedThread:
    """A thread of the server, and what is asked on it."""

    thread: str
    at: float
    asked: tuple[PendingReview, ...]


def read_waiting(thread: Mapping[str, Any]) -> InterruptedThread:
    """Read what the server says of one of our threads. Questions that are none of ours are left out."""
    at = datetime.fromisoformat(thread["updated_at"]).timestamp()
    return InterruptedThread(thread["thread_id"], at, tuple(_asked(thread, at)))


def _asked(thread: Mapping[str, Any], at: float) -> Iterator[PendingReview]:
    metadata: Mapping[str, Any] = thread["metadata"] or {}
    notes: Mapping[str, Any] = metadata.get(NOTES) or {}
    interrupts: Mapping[str, Any] = thread["interrupts"] or {}
    for interrupt in chain.from_iterable(interrupts.values()):
        if notes and is_proposal(interrupt["value"]):
            key = ConversationKey(Scope(notes["user_id"], notes["agent_name"] or None), notes["thread_id"] or None)
            yield PendingReview(interrupt["id"], key, at, Proposal.model_validate(interrupt["value"]))
