"""The nodes between the change set and the save: a person's review, the rules, and what they scrub."""

from __future__ import annotations

import logging

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from memgraph.context import RunContext
from memgraph.errors import EditError
from memgraph.models import MemoryUpdate, Turn
from memgraph.review import Proposal
from memgraph.review.decision import apply_decision, fingerprint, hold_items, item_digests, mark_edited
from memgraph.review.models import strictest
from memgraph.review.proposal import items_to_review, make_proposal
from memgraph.rules.apply import apply
from memgraph.rules.evict import FULL
from memgraph.rules.scrub import scrub
from memgraph.state import Applied, ApplyInput, Reviewed, ReviewInput, Scrubbed, ScrubInput

_log = logging.getLogger("memgraph.update")


def apply_update(state: ApplyInput, runtime: Runtime[RunContext]) -> Applied:
    """Apply the changes that the policy allows. Those that a person edited since a node wrote them are marked."""
    changes = mark_edited(state["changes"], state.get("change_digests"))
    result = apply(changes, state["memory"], runtime.context.policy, *shown(state), slots=runtime.context.slots)
    if evicted := sum(removed.why == FULL for removed in result.removed):
        _log.info("the memory is full: %d facts were evicted", evicted)
    applied: Applied = {"applied": result.memory, "removed": result.removed, "refused": result.refused}
    return applied if changes is state["changes"] else {**applied, "changes": changes}


def shown(state: ApplyInput) -> tuple[tuple[Turn, ...], frozenset[str] | None]:
    """Return the turns and the ids of the facts that the prompt showed.

    Without a prompt, all turns, and None: a person accepted the changes.
    """
    if "prompt" not in state:
        return state["turns"], None
    prompt = state["prompt"]
    check = state.get("check")
    ids = None if prompt.fact_ids is None else frozenset((*prompt.fact_ids, *(check.known if check else ())))
    return prompt.shown(state["turns"]), ids


def review_changes(state: ReviewInput, runtime: Runtime[RunContext]) -> Reviewed:
    """Hold back what needs a review, or interrupt the run with a proposal if its context asks for that.

    A save conflict brings a reviewed change set back here; it is not reviewed twice.
    """
    changes = mark_edited(state["changes"], state.get("change_digests"))
    if state.get("reviewed") == fingerprint(changes):
        return {}
    origin, context, memory = state["origin"], runtime.context, state["memory"]
    proposed = make_proposal(
        changes,
        memory,
        context.policy,
        *shown(state),
        scope=origin.scope,
        thread_id=origin.thread_id,
        slots=context.slots,
    )
    items = items_to_review(proposed.proposal, strictest(origin.review, context.review), memory.accepted_kinds)
    if not items:
        return {}
    asks = origin.review_by == "interrupt"
    approved = _request_decision(changes, proposed.proposal) if asks else hold_items(changes, proposed, items, memory)
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


def scrub_uploads(state: ScrubInput) -> Scrubbed:
    """Remove what this update wrote about uploads, and nothing that was in the memory before."""
    edited = [rewrite.section for rewrite in state["changes"].rewrites if rewrite.edited_by_user]
    result = scrub(state["memory"], state["applied"], edited_by_user=edited)
    return {"scrubbed": result.memory, "uploads": result.refused}
