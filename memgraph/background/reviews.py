"""What waits for a person: listed, and decided. It needs an outbox and nothing else; whoever runs jobs applies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict

from memgraph.background.planning import deleted_at
from memgraph.errors import NotInReviewError, StorageError
from memgraph.models import MemoryUpdate
from memgraph.review import Decision, Proposal, apply_decision, parse_decision

if TYPE_CHECKING:
    from memgraph.background.outbox import ConversationKey, HeldJob, Outbox, ReviewDecision
    from memgraph.models import Scope
    from memgraph.storage import MemoryStorage


@dataclass(frozen=True, slots=True)
class PendingReview:
    """What a person is asked."""

    id: str
    """Of this proposal; what is proposed next for the same conversation has another."""
    key: ConversationKey
    at: float
    """When it was proposed, in seconds since 1970."""
    proposal: Proposal
    storage: str = ""
    """Name of the storage it would be saved to; empty where that is the server's business."""


class StoredProposal(BaseModel):
    """What an outbox holds of a proposal, as JSON."""

    model_config = ConfigDict(frozen=True)

    changes: MemoryUpdate
    proposal: Proposal
    storage: str
    """Name of the storage it was proposed for."""


class StoredDecision(BaseModel):
    """What it holds of the decision."""

    answer: str | Decision

    @classmethod
    def of(cls, proposal: Proposal, given: object) -> StoredDecision:
        """Read what was *given* as an answer to *proposal*.

        Raises:
            EditError: If it cannot be understood, or edits an item to what may not be.
        """
        parse_decision(proposal, given)
        return cls(answer=given if isinstance(given, str) else Decision.model_validate(given))


def in_review(outbox: Outbox, scope: Scope | None = None) -> tuple[PendingReview, ...]:
    """What waits for a person, all of it or that of *scope*, the earliest first."""
    return tuple(_read(held) for held in outbox.in_review() if scope in (None, held.job.key.scope))


def decide_review(outbox: Outbox, review_id: str, given: object, *, now: float) -> PendingReview:
    """Decide what waits under *review_id*. Whoever works on the outbox applies it, without asking the model again.

    Args:
        outbox: Where it waits.
        review_id: See `InReview.id`.
        given: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON.
        now: Seconds since 1970.

    Returns:
        What was decided.

    Raises:
        EditError: If the answer cannot be understood, or edits an item to what may not be; it waits on.
        NotInReviewError: If nothing waits under that id, as somebody else has decided.
    """
    found = next((held for held in outbox.in_review() if held.id == review_id), None)
    if found is None:
        raise NotInReviewError(review_id)
    asked = _read(found)
    kept = StoredDecision.of(asked.proposal, given).model_dump_json(exclude_unset=True)
    if not outbox.decide(review_id, kept, now=now):
        raise NotInReviewError(review_id)
    return asked


def discard_deleted(outbox: Outbox, storage: MemoryStorage, *, now: float) -> None:
    """Withdraw what was proposed for memories of *storage* that were deleted since; who runs the job drops it."""
    for asked in in_review(outbox):
        if asked.storage == storage.name and _is_forgotten(asked, storage):
            outbox.cancel_review(now=now, scope=asked.key.scope, thread_id=asked.key.thread_id or "")


def _is_forgotten(asked: PendingReview, storage: MemoryStorage) -> bool:
    try:
        return asked.at <= deleted_at(storage.load(asked.key.scope))
    except StorageError:  # whoever runs the job says what is wrong; the others can be decided
        return False


def is_proposal(asked: object) -> bool:
    """Whether what an interrupt asks is a proposal."""
    return isinstance(asked, Mapping) and cast("Mapping[str, object]", asked).get("type") == "memory_review"


def decided_changes(decided: ReviewDecision) -> MemoryUpdate:
    """What is left of the proposed changes after the decision."""
    kept = StoredProposal.model_validate_json(decided.held)
    return apply_decision(kept.changes, kept.proposal, StoredDecision.model_validate_json(decided.decision).answer)


def _read(held: HeldJob) -> PendingReview:
    kept = StoredProposal.model_validate_json(held.held)
    return PendingReview(held.id, held.job.key, held.at, kept.proposal, kept.storage)
