"""Reduce a change set to the accepted changes: by a decision, or until a person decides about the others.

It also finds what a person edited in a change set that a node wrote, as in Studio or by the threads API of a server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from pydantic.alias_generators import to_camel

from memgraph.models import (
    REVIEW_ASKED,
    Addition,
    AsSaid,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    PendingChange,
    PersonDecision,
    ProfileChange,
    Refusal,
    Removal,
    Rewrite,
)
from memgraph.models.values import Timestamp
from memgraph.report import REJECTED
from memgraph.review.models import Edit, Proposal, ReviewItem, Verdict, parse_decision
from memgraph.review.proposal import Proposed
from memgraph.rules.pending import make_pending, refusals
from memgraph.text.normalize import fact_key

Item = TypeVar("Item", Addition, Removal, Rewrite, ProfileChange)
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
    return _accepted(changes, proposal, decisions).model_copy(
        update={
            "decisions": tuple(_person_decision(item, decisions[item.key]) for item in proposal.items),
            "refused": (*proposal.refused, *(Refusal(item=_describe(item), reason=REJECTED) for item in rejected)),
        }
    )


def hold_items(
    changes: MemoryUpdate, proposed: Proposed, items: Sequence[ReviewItem], memory: MemoryDocument
) -> MemoryUpdate:
    """Return *changes* in which *items* of the proposal wait for a person; the others are accepted.

    Args:
        changes: What the model proposed.
        proposed: Their effect on *memory*.
        items: Those that a person must accept.
        memory: The current memory.
    """
    proposal = proposed.proposal
    decisions: dict[str, Verdict] = {item.key: "reject" if item in items else "accept" for item in proposal.items}
    thread = "upkeep" if changes.asked is not None else changes.thread
    waiting = [_pending_change(item, proposed.memory, memory, at=changes.at, thread=thread) for item in items]
    notes = (note for change in waiting for note in refusals(change, memory))
    return _accepted(changes, proposal, decisions).model_copy(
        update={"quarantined": (*proposal.quarantined, *waiting), "refused": (*proposal.refused, *notes)}
    )


def _pending_change(
    item: ReviewItem, after: MemoryDocument, before: MemoryDocument, *, at: Timestamp, thread: str
) -> PendingChange:
    make = partial(make_pending, REVIEW_ASKED, at=at, thread=thread)
    replaced = tuple(known.id for known in item.replaces)
    same = (fact for fact in after.recallable if fact_key(fact.content) == fact_key(item.after))
    match item.kind:
        case "rewrite":
            return make(summaries={to_camel(item.id): item.after})
        case "profile":
            return make(profile={item.id: after.profile.values.get(item.id)})
        case "add" | "confirm" | "merge" if fact := after.fact(item.id) or next(same, None):
            if isinstance(fact, AsSaid):  # a person who accepts it makes it plain
                fact = Fact.model_validate(fact.model_dump(exclude={"reason"}))
            fact = fact.model_copy(update={"replaces": tuple(dict.fromkeys((*fact.replaces, *replaced)))})
            return make(facts=[fact], removes=[fact.id] if before.fact(fact.id) else [])
        case _:
            return make(removes=replaced or [item.id])


def _accepted(changes: MemoryUpdate, proposal: Proposal, decisions: Decisions) -> MemoryUpdate:
    def is_accepted(key: str) -> bool:
        return decisions.get(key) == "accept"

    return changes.model_copy(
        update={
            "rewrites": tuple(
                decided
                for one in changes.rewrites
                if (decided := _decided(one, "summary", decisions.get(f"rewrite:{one.section}")))
            ),
            "additions": tuple(_additions(changes, proposal, decisions)),
            "removals": tuple(one for one in changes.removals if is_accepted(f"remove:{one.id}")),
            "merges": tuple(one for one in changes.merges if is_accepted(f"merge:{one.id}")),
            "profile": tuple(one for one in changes.profile if is_accepted(f"profile:{one.field}")),
            "quarantined": proposal.quarantined,
        }
    )


def fingerprint(changes: MemoryUpdate) -> str:
    """Return a sha256 that identifies *changes*, also after a round trip through JSON."""
    return hashlib.sha256(changes.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


def _additions(changes: MemoryUpdate, proposal: Proposal, decisions: Decisions) -> list[Addition]:
    """Return the accepted additions. Those with one content are one item, so they share its decision.

    So does an addition whose richer wording the item has. What the rules hold back is not among them: a
    review does not decide it.
    """
    held = {fact.id for item in proposal.quarantined for fact in item.facts}
    by_key: dict[str, Verdict | Edit] = {
        fact_key(item.after): decisions[item.key]
        for item in proposal.items
        if item.kind in _WORDED and item.key in decisions
    }
    for one in changes.additions:
        decision = decisions.get(f"add:{one.id}") or decisions.get(f"confirm:{one.id}")
        if decision and one.id not in held:
            by_key[fact_key(one.content)] = decision
    return [
        decided
        for one in changes.additions
        if one.id not in held and (decided := _decided(one, "content", by_key.get(fact_key(one.content))))
    ]


def _decided(item: Item, text: str, decision: Verdict | Edit | None) -> Item | None:
    """Return *item* if it is accepted, in the wording of an edit, which replaces the field *text*."""
    if isinstance(decision, Edit):
        return item.model_copy(update={text: decision.after, "edited_by_user": True})
    return item if decision == "accept" else None


def _person_decision(item: ReviewItem, decision: Verdict | Edit) -> PersonDecision:
    verdict = "edit" if isinstance(decision, Edit) else decision
    return PersonDecision(item=item.key, verdict=verdict, text=item.after or item.before)


def _describe(item: ReviewItem) -> str:
    return item.id if item.kind == "rewrite" else item.after or item.before


# -- what a person edited in a change set ----------------------------------------------------------

_WRITABLE = ("additions", "removals", "rewrites", "profile")
"""The items of a change set that a person may write."""


def item_digests(changes: MemoryUpdate) -> tuple[str, ...]:
    """Return the digests of the items of *changes* that a person may write; they survive a round trip through JSON."""
    return tuple(_digest(item) for kind in _WRITABLE for item in getattr(changes, kind))


def mark_edited(changes: MemoryUpdate, written: Collection[str] | None) -> MemoryUpdate:
    """Return *changes* with the items marked as a person's that are not among *written*, the digests of a node's.

    None is an unknown origin, as in a checkpoint of an earlier release: nothing is marked.
    """
    if written is None or set(item_digests(changes)) <= set(written):
        return changes
    return changes.model_copy(update={kind: _marked(getattr(changes, kind), written) for kind in _WRITABLE})


def _marked(items: Sequence[Item], written: Collection[str]) -> tuple[Item, ...]:
    return tuple(
        item if _digest(item) in written else item.model_copy(update={"edited_by_user": True}) for item in items
    )


def _digest(item: Addition | Removal | Rewrite | ProfileChange) -> str:
    text = f"{type(item).__name__} {item.model_dump_json()}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
