"""The nodes between the change set and the save: a person's review, the rules, and what they scrub."""

from __future__ import annotations

import logging

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from memgraph.context import RunContext
from memgraph.errors import EditError
from memgraph.models import MemoryDocument, MemoryUpdate, Turn
from memgraph.review import ReviewRequest, strictest
from memgraph.review.decision import Held, fingerprint, hold_items, item_digests, mark_edited
from memgraph.review.proposal import items_to_review, make_proposal
from memgraph.rules.apply import apply
from memgraph.rules.decide import accepted_sections
from memgraph.rules.evict import FULL
from memgraph.rules.scrub import scrub
from memgraph.state import Applied, ApplyInput, Origin, Reviewed, ReviewInput, Scrubbed, ScrubInput

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
    """Hold back what needs a review, or interrupt the run to ask about it if its context asks for that.

    A save conflict brings a reviewed change set back here; it is not reviewed twice.
    """
    changes = mark_edited(state["changes"], state.get("change_digests"))
    if state.get("reviewed") == fingerprint(changes):
        return {}
    origin, context, memory = state["origin"], runtime.context, state["memory"]
    proposed = make_proposal(changes, memory, context.policy, *shown(state), slots=context.slots)
    items = items_to_review(proposed, strictest(origin.review, context.review), memory.accepted_kinds)
    if not items:
        return {}
    held = hold_items(changes, proposed, items, memory)
    asks = origin.review_by == "interrupt" and held.waiting
    approved = _ask_reviewer(held, memory, origin) if asks else held.pending(memory)
    return {
        "changes": approved,
        "change_digests": item_digests(approved),
        "reviewed": fingerprint(approved),
        "altered": True,
    }


def _ask_reviewer(held: Held, memory: MemoryDocument, origin: Origin) -> MemoryUpdate:
    """Interrupt until the decision is valid, with the request as plain JSON, which every checkpointer can store.

    Every resume runs the node again from its start, and each `interrupt` then returns the answer that it got before.
    """
    request = ReviewRequest(
        user_id=origin.scope.user_id,
        agent_name=origin.scope.agent_name,
        thread_id=origin.thread_id,
        changes=held.waiting,
    )
    while True:
        answer = interrupt(request.model_dump(mode="json", by_alias=True))
        try:
            return held.decided(memory, answer)
        except EditError as error:
            request = request.model_copy(update={"problem": str(error)})


def scrub_uploads(state: ScrubInput) -> Scrubbed:
    """Remove what this update wrote about uploads, and nothing that was in the memory before."""
    changes = state["changes"]
    edited = (rewrite.section for rewrite in changes.rewrites if rewrite.edited_by_user)
    result = scrub(state["memory"], state["applied"], edited_by_user=[*edited, *accepted_sections(changes)])
    return {"scrubbed": result.memory, "uploads": result.refused}
