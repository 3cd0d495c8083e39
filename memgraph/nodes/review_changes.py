"""review_changes: let a person approve the changes before they are saved."""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from memgraph.context import RunContext
from memgraph.errors import EditError
from memgraph.models import MemoryUpdate
from memgraph.nodes.apply_update import shown
from memgraph.review import (
    Proposal,
    apply_decision,
    fingerprint,
    item_digests,
    make_proposal,
    mark_edited,
    needs_review,
    strictest,
)
from memgraph.state import Reviewed, ReviewInput


def review_changes(state: ReviewInput, runtime: Runtime[RunContext]) -> Reviewed:
    """Interrupt the run with a proposal, unless no review is needed or this change set was already approved.

    A save conflict brings an approved change set back here; it is not reviewed twice.
    """
    changes = mark_edited(state["changes"], state.get("change_digests"))
    if state.get("reviewed") == fingerprint(changes):
        return {}
    origin, context = state["origin"], runtime.context
    proposal = make_proposal(
        changes,
        state["memory"],
        context.policy,
        *shown(state),
        scope=origin.scope,
        thread_id=origin.thread_id,
        slots=context.slots,
    )
    if not needs_review(proposal, strictest(origin.review, context.review)):
        return {}
    approved = _request_decision(changes, proposal)
    is_altered = approved != changes.model_copy(update={"decisions": approved.decisions})
    return {
        "changes": approved,
        "change_digests": item_digests(approved),
        "reviewed": fingerprint(approved),
        "altered": is_altered,
    }


def _request_decision(changes: MemoryUpdate, proposal: Proposal) -> MemoryUpdate:
    """Interrupt until the decision is valid, with the proposal as plain JSON, which every checkpointer can store.

    Every resume runs the node again from its start, and each `interrupt` then returns the answer that it got before.
    """
    while True:
        answer = interrupt(proposal.model_dump(mode="json"))
        try:
            return apply_decision(changes, proposal, answer)
        except EditError as error:
            proposal = proposal.model_copy(update={"problem": str(error)})
