"""Apply a decision: reduce a change set to the accepted changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from memgraph.models import Addition, MemoryUpdate, PersonDecision, Refusal, Removal, Rewrite
from memgraph.report import REJECTED
from memgraph.review.models import Edit, Proposal, ReviewItem, Verdict
from memgraph.review.parse import parse_decision
from memgraph.text.normalize import fact_key

Decisions = Mapping[str, Verdict | Edit]
_WORDED = frozenset({"add", "confirm"})
"""Kinds of items with the wording of a fact."""


def apply_decision(changes: MemoryUpdate, proposal: Proposal, answer: object) -> MemoryUpdate:
    """Return *changes* with the accepted changes only.

    Changes that are not in the proposal are dropped, too: they would have no effect now, and the effect was
    not accepted that they may have on a later version of the memory. Rejected changes are listed in `refused`.

    Args:
        changes: What the model proposed.
        proposal: What the reviewer saw.
        answer: `"accept"`, `"reject"`, or a Decision, as an object or as JSON.

    Raises:
        EditError: If the answer is not one of these, or contains an invalid edit.
    """
    decisions = parse_decision(proposal, answer)
    rejected = tuple(item for item in proposal.items if decisions[item.key] == "reject")
    return changes.model_copy(
        update={
            "rewrites": tuple(_rewrites(changes, decisions)),
            "additions": tuple(_additions(changes, proposal, decisions)),
            "removals": tuple(_removals(changes, decisions)),
            "merges": tuple(merge for merge in changes.merges if decisions.get(f"merge:{merge.id}") == "accept"),
            "profile": tuple(
                change for change in changes.profile if decisions.get(f"profile:{change.field}") == "accept"
            ),
            "quarantined": proposal.quarantined,
            "decisions": tuple(_person_decision(item, decisions[item.key]) for item in proposal.items),
            "refused": (*proposal.refused, *(Refusal(item=_describe(item), reason=REJECTED) for item in rejected)),
        }
    )


def fingerprint(changes: MemoryUpdate) -> str:
    """Return a sha256 that identifies *changes*, also after a round trip through JSON."""
    return hashlib.sha256(changes.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


def _rewrites(changes: MemoryUpdate, decisions: Decisions) -> list[Rewrite]:
    accepted: list[Rewrite] = []
    for rewrite in changes.rewrites:
        decision = decisions.get(f"rewrite:{rewrite.section}", "reject")
        if isinstance(decision, Edit):
            accepted.append(rewrite.model_copy(update={"summary": decision.after, "edited_by_user": True}))
        elif decision == "accept":
            accepted.append(rewrite)
    return accepted


def _additions(changes: MemoryUpdate, proposal: Proposal, decisions: Decisions) -> list[Addition]:
    """Return the accepted additions. Those with one content are one item, so they share its decision.

    So does an addition whose richer wording the item has. What the rules put into quarantine is not among them: a
    review does not decide it.
    """
    held = {fact.id for item in proposal.quarantined for fact in item.facts}
    by_key = {
        fact_key(addition.content): decision
        for addition in changes.additions
        if addition.id not in held
        and (decision := decisions.get(f"add:{addition.id}") or decisions.get(f"confirm:{addition.id}"))
    }
    worded = {fact_key(item.after): decisions.get(item.key) for item in proposal.items if item.kind in _WORDED}
    by_key = {key: decision for key, decision in worded.items() if decision} | by_key
    accepted: list[Addition] = []
    for addition in changes.additions:
        decision = None if addition.id in held else by_key.get(fact_key(addition.content))
        if isinstance(decision, Edit):
            accepted.append(_apply_edit(addition, decision))
        elif decision == "accept":
            accepted.append(addition)
    return accepted


def _apply_edit(addition: Addition, edit: Edit) -> Addition:
    return addition.model_copy(
        update={
            "content": edit.after,
            "category": edit.category,
            "confidence": edit.confidence,
            "source_error": edit.source_error,
            "edited_by_user": True,
        }
    )


def _removals(changes: MemoryUpdate, decisions: Decisions) -> list[Removal]:
    return [removal for removal in changes.removals if decisions.get(f"remove:{removal.id}", "reject") == "accept"]


def _person_decision(item: ReviewItem, decision: Verdict | Edit) -> PersonDecision:
    verdict = "edit" if isinstance(decision, Edit) else decision
    return PersonDecision(item=item.key, verdict=verdict, text=item.after or item.before)


def _describe(item: ReviewItem) -> str:
    return item.id if item.kind == "rewrite" else item.after or item.before
