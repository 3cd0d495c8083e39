"""Reviews: lists the proposals that wait for a person, and records decisions. A worker applies them later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from memgraph._validation import field_errors
from memgraph.background.planning import deleted_at, last_deletion
from memgraph.errors import EditError, NotInReviewError, StorageError, UnreadableReviewError
from memgraph.models import MemoryUpdate, Refusal
from memgraph.review import Decision, Proposal, apply_decision, parse_decision

if TYPE_CHECKING:
    from memgraph.background.outbox import ConversationKey, HeldJob, Outbox, ReviewDecision
    from memgraph.models import Scope
    from memgraph.storage import MemoryStorage


@dataclass(frozen=True, slots=True)
class PendingReview:
    """A proposal that waits for a decision."""

    id: str
    """Id of the proposal; the next one for the same conversation has another."""
    key: ConversationKey
    at: float
    """When it was proposed, in seconds since 1970."""
    proposal: Proposal
    storage: str = ""
    """Name of the storage it would be saved to; empty if a LangGraph server decides."""
    deletion: str | None = None
    """As in StoredProposal."""
    is_readable: bool = True
    """Whether the stored proposal could be read. If not, it has no items but the reason, and any answer discards it."""


class StoredProposal(BaseModel):
    """A proposal as the outbox stores it, as JSON."""

    model_config = ConfigDict(frozen=True)

    changes: MemoryUpdate
    proposal: Proposal
    storage: str
    """Name of the storage it was proposed for."""
    deletion: str | None = None
    """The last deletion of the memory that it was proposed for, see `last_deletion`; None is not known."""


class StoredDecision(BaseModel):
    """A decision as the outbox stores it, as JSON."""

    answer: str | Decision

    @classmethod
    def from_answer(cls, proposal: Proposal, answer: object) -> StoredDecision:
        """Parse an answer to *proposal*.

        Raises:
            EditError: If it is invalid, or an edit is not allowed.
        """
        parse_decision(proposal, answer)
        return cls(answer=answer if isinstance(answer, str) else Decision.model_validate(answer))


def in_review(outbox: Outbox, scope: Scope | None = None) -> tuple[PendingReview, ...]:
    """Return the proposals that wait for a decision, all or those of *scope*, the earliest first."""
    return tuple(read_review(held) for held in outbox.in_review() if scope in (None, held.job.key.scope))


def decide_review(outbox: Outbox, review_id: str, answer: object, *, now: float) -> PendingReview:
    """Record a decision. A worker of the outbox applies it, without calling the model again.

    Args:
        outbox: The queue that holds the proposal.
        review_id: See `PendingReview.id`.
        answer: `"accept"`, `"reject"`, or a Decision: as an object, or as its JSON. If the proposal is unreadable,
            the conversation is read again instead.
        now: Seconds since 1970.

    Returns:
        The review that was decided.

    Raises:
        EditError: If the answer is invalid, or an edit is not allowed; the review stays open.
        NotInReviewError: If nothing with that id is in review, for example because it was decided already.
    """
    held = next((held for held in outbox.in_review() if held.id == review_id), None)
    if held is None:
        raise NotInReviewError(review_id)
    review = read_review(held)
    decision = StoredDecision.from_answer(review.proposal, answer).model_dump_json(exclude_unset=True)
    if not review.is_readable:
        _discard(outbox, review, now=now)
    elif not outbox.decide(review_id, decision, now=now):
        raise NotInReviewError(review_id)
    return review


def discard_deleted(outbox: Outbox, storage: MemoryStorage, *, now: float) -> None:
    """Cancel reviews for memories of *storage* that were deleted since; their jobs are then run and discarded."""
    for review in in_review(outbox):
        if review.storage == storage.name and _is_deleted(review, storage):
            _discard(outbox, review, now=now)


def _discard(outbox: Outbox, review: PendingReview, *, now: float) -> None:
    outbox.cancel_review(now=now, scope=review.key.scope, thread_id=review.key.thread_id or "")


def _is_deleted(review: PendingReview, storage: MemoryStorage) -> bool:
    try:
        memory = storage.load(review.key.scope)
    except StorageError:  # reported when the job runs; other reviews can be decided
        return False
    if review.deletion is None:  # an earlier version stored it
        return review.at <= deleted_at(memory)
    return review.deletion != last_deletion(memory)


def is_proposal(value: object) -> bool:
    """Whether the value of an interrupt is a proposal."""
    return isinstance(value, Mapping) and cast("Mapping[str, object]", value).get("type") == "memory_review"


def decided_changes(decided: ReviewDecision) -> MemoryUpdate:
    """Return the changes that a decision leaves of those proposed.

    Raises:
        UnreadableReviewError: If either cannot be read.
    """
    try:
        stored = _parse(decided.proposal)
        answer = StoredDecision.model_validate_json(decided.decision).answer
        return apply_decision(stored.changes, stored.proposal, answer)
    except (ValidationError, EditError) as error:
        raise UnreadableReviewError(_describe(error)) from error


def read_review(held: HeldJob) -> PendingReview:
    """Return the review of a job; one whose stored proposal cannot be read has the reason."""
    key = held.job.key
    try:
        stored = _parse(held.proposal)
    except ValidationError as error:
        proposal = unreadable_proposal(key, error, "any answer has the conversation read again")
        return PendingReview(held.id, key, held.at, proposal, held.job.storage, is_readable=False)
    return PendingReview(held.id, key, held.at, stored.proposal, stored.storage, stored.deletion)


def unreadable_proposal(key: ConversationKey, error: ValidationError, remedy: str) -> Proposal:
    """Return the proposal that is listed in place of one that cannot be read, with the reason."""
    refused = (Refusal(item="the stored proposal", reason=f"it cannot be read ({_describe(error)}): {remedy}"),)
    scope = key.scope
    return Proposal(
        user_id=scope.user_id, agent_name=scope.agent_name, thread_id=key.thread_id, items=(), refused=refused
    )


def _parse(text: str) -> StoredProposal:
    """Read a stored proposal; keys that only a later release knows are ignored."""
    return StoredProposal.model_validate_json(text, extra="ignore")


def _describe(error: ValidationError | EditError) -> str:
    return str(field_errors(error)[0]) if isinstance(error, ValidationError) else str(error)
