"""review_changes: a person agrees to what would change, or does not."""

from __future__ import annotations

from typing import NotRequired

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from memgraph.context import RunContext
from memgraph.errors import EditError
from memgraph.models import MemoryUpdate
from memgraph.review import Proposal, apply_decision, fingerprint, make_proposal, needs_review, strictest
from memgraph.state import Filtered, Loaded, Reviewed


class ReviewInput(Filtered, Loaded):
    """What review_changes reads."""

    changes: MemoryUpdate
    reviewed: NotRequired[str]


def review_changes(state: ReviewInput, runtime: Runtime[RunContext]) -> Reviewed:
    """Interrupt the run with what would change, unless nobody has to be asked, or this change set was decided.

    A save that lost a race brings back the change set that was decided, and nobody is asked twice.
    """
    changes = state["changes"]
    if state.get("reviewed") == fingerprint(changes):
        return {}
    origin, context = state["origin"], runtime.context
    proposal = make_proposal(changes, state["memory"], context.policy, scope=origin.scope, thread_id=origin.thread_id)
    if not needs_review(proposal, strictest(origin.review, context.review)):
        return {}
    agreed = _asked(changes, proposal)
    return {"changes": agreed, "reviewed": fingerprint(agreed), "altered": agreed != changes}


def _asked(changes: MemoryUpdate, proposal: Proposal) -> MemoryUpdate:
    """Ask until the answer can be understood. What is asked is plain JSON, which every checkpoint keeps as it is.

    Each resume runs the node again from its top, and each `interrupt` then returns the answer it was given before.
    """
    while True:
        answer = interrupt(proposal.model_dump(mode="json"))
        try:
            return apply_decision(changes, proposal, answer)
        except EditError as error:
            proposal = proposal.model_copy(update={"problem": str(error)})
