"""Hold back the changes that a person must accept, and add those that a reviewer of the run accepted.

It also finds what a person edited in a change set that a node wrote, as in Studio or by the threads API of a server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from pydantic.alias_generators import to_camel

from memgraph.analysis.normalize import fact_key
from memgraph.models import (
    REVIEW_ASKED,
    Addition,
    AsSaid,
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
from memgraph.review import AcceptedText, parse_decision
from memgraph.review.proposal import Item, Proposed
from memgraph.rules.decide import category_to_accept, reworded
from memgraph.rules.pending import make_pending, refusals


class Held(NamedTuple):
    """A change set without what a person must accept, and that."""

    changes: MemoryUpdate
    waiting: tuple[PendingChange, ...]

    def pending(self, memory: MemoryDocument) -> MemoryUpdate:
        """Return the changes, with what waits as pending changes of *memory*."""
        after = memory.with_pending(*self.waiting)
        notes = (note for change in self.waiting for note in refusals(change, after))
        return self.changes.model_copy(
            update={
                "quarantined": (*self.changes.quarantined, *self.waiting),
                "refused": (*self.changes.refused, *notes),
            }
        )

    def decided(self, memory: MemoryDocument, answer: object) -> MemoryUpdate:
        """Return the changes, with what a reviewer accepted. What was rejected is listed in `refused`.

        Args:
            memory: The current memory.
            answer: `"accept"`, `"reject"`, or a Decision, as an object or as JSON.

        Raises:
            EditError: If the answer is not one of these, or a change cannot be decided so.
        """
        accepted, decisions, refused = list[PendingChange](), list[PersonDecision](), list(self.changes.refused)
        verdicts = parse_decision(self.waiting, answer)
        for change in self.waiting:
            verdict, text = verdicts[change.id], _describe(change, memory)
            if verdict == "always":
                category_to_accept(change)
            if verdict == "reject":
                refused.append(Refusal(item=text, reason=REJECTED))
            else:
                accepted.append(reworded(change, verdict.text) if isinstance(verdict, AcceptedText) else change)
            name = "edit" if isinstance(verdict, AcceptedText) else verdict
            decisions.append(PersonDecision(item=change.id, verdict=name, text=text))
        parts = {"accepted": tuple(accepted), "decisions": tuple(decisions), "refused": tuple(refused)}
        return self.changes.model_copy(update=parts)


def hold_items(changes: MemoryUpdate, proposed: Proposed, items: Sequence[Item], memory: MemoryDocument) -> Held:
    """Return *changes* without *items*, which wait for a person if none rejected them before; the others are accepted.

    Changes without an effect are dropped, too: no person accepts the effect that they may have on a later version of
    the memory.

    Args:
        changes: What the model proposed.
        proposed: Their effect on *memory*.
        items: Those that a person must accept.
        memory: The current memory.
    """
    accepted = {(item.kind, item.id) for item in proposed.items if item not in items}
    thread = "upkeep" if changes.asked is not None else changes.thread
    held = [_pending_change(item, proposed.memory, memory, at=changes.at, thread=thread) for item in items]
    known = [change for change in held if change.id in memory.rejected]
    notes = (note for change in known for note in refusals(change, memory))
    kept = changes.model_copy(
        update={
            "rewrites": tuple(one for one in changes.rewrites if ("rewrite", one.section) in accepted),
            "additions": _accepted_additions(changes, proposed, items),
            "removals": tuple(one for one in changes.removals if ("remove", one.id) in accepted),
            "merges": tuple(one for one in changes.merges if ("merge", one.id) in accepted),
            "profile": tuple(one for one in changes.profile if ("profile", one.field) in accepted),
            "quarantined": proposed.quarantined,
            "refused": (*proposed.refused, *notes),
        }
    )
    return Held(kept, tuple(change for change in held if change not in known))


def _pending_change(
    item: Item, after: MemoryDocument, before: MemoryDocument, *, at: Timestamp, thread: str
) -> PendingChange:
    make = partial(make_pending, REVIEW_ASKED, at=at, thread=thread)
    same = (fact for fact in after.recallable if fact_key(fact.content) == fact_key(item.after))
    match item.kind:
        case "rewrite":
            return make(summaries={to_camel(item.id): item.after})
        case "profile":
            return make(profile={item.id: after.profile.values.get(item.id)})
        case "add" | "confirm" | "merge" if fact := after.fact(item.id) or next(same, None):
            if isinstance(fact, AsSaid):  # a person who accepts it makes it plain
                fact = fact.as_current()
            fact = fact.model_copy(update={"replaces": tuple(dict.fromkeys((*fact.replaces, *item.replaces)))})
            return make(facts=[fact], removes=[fact.id] if before.fact(fact.id) else [])
        case _:
            return make(removes=item.replaces or [item.id])


def _accepted_additions(changes: MemoryUpdate, proposed: Proposed, waiting: Sequence[Item]) -> tuple[Addition, ...]:
    """Return the accepted additions. Those with one content are one item, so they share its decision.

    So does an addition whose richer wording the item has. What the rules hold back is not among them: a
    review does not decide it.
    """
    held = {fact.id for item in proposed.quarantined for fact in item.facts}
    worded = [item for item in proposed.items if item.kind in {"add", "confirm"}]
    accepted = {fact_key(item.after): item not in waiting for item in worded}
    by_id = {item.id: item not in waiting for item in worded}
    accepted |= {fact_key(one.content): by_id[one.id] for one in changes.additions if one.id in by_id}
    return tuple(one for one in changes.additions if one.id not in held and accepted.get(fact_key(one.content)))


def _describe(change: PendingChange, memory: MemoryDocument) -> str:
    """Return what *change* states: its texts, else those of what it removes."""
    texts = [*(fact.content for fact in change.facts), *change.summaries.values(), *change.profile]
    removed = (fact.content if (fact := memory.fact(fact_id)) else fact_id for fact_id in change.removes)
    return " ".join(texts or removed)


def fingerprint(changes: MemoryUpdate) -> str:
    """Return a sha256 that identifies *changes*, also after a round trip through JSON."""
    return hashlib.sha256(changes.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


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

    def mark(item: Addition | Removal | Rewrite | ProfileChange) -> object:
        return item if _digest(item) in written else item.model_copy(update={"edited_by_user": True})

    return changes.model_copy(update={kind: tuple(map(mark, getattr(changes, kind))) for kind in _WRITABLE})


def _digest(item: Addition | Removal | Rewrite | ProfileChange) -> str:
    text = f"{type(item).__name__} {item.model_dump_json()}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
