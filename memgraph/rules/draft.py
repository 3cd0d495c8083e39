"""Draft: the value that every rule takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from memgraph.analysis.slots import Slots, packaged_slots
from memgraph.models import Addition, EndReason, Fact, MemoryDocument, MemoryUpdate, PendingChange, Refusal, Turn
from memgraph.models.values import Timestamp
from memgraph.policy import Policy
from memgraph.report import RemovedFact


class SetAside(NamedTuple):
    """An addition that is not known to follow from what the user said."""

    addition: Addition
    reason: str
    is_firm: bool = False
    """Whether it is as firm as its sentence, so that only its words are other ones."""
    named: tuple[str, ...] = ()
    """The facts that the model named as replaced: it repeats none of them, also if it does not end them."""

    def ending(self, fact_ids: tuple[str, ...]) -> SetAside:
        """Return it as one that ends these facts."""
        return self._replace(addition=self.addition.model_copy(update={"replaces": fact_ids}))


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory while an update is applied to it, with what was removed and refused so far."""

    memory: MemoryDocument
    changes: MemoryUpdate
    policy: Policy
    turns: tuple[Turn, ...] = ()
    """The turns that the prompt showed, in their order."""
    shown_ids: frozenset[str] | None = None
    """Ids of the facts that the prompt showed; None if a person accepted the changes."""
    slots: Slots = field(default_factory=packaged_slots)
    """What a person has one of at a time."""
    removable: int | None = None
    """How many learned facts may be removed, replaced and evicted in all; None if there is no limit."""
    removed: tuple[RemovedFact, ...] = ()
    refused: tuple[Refusal, ...] = ()
    as_said: tuple[SetAside, ...] = ()
    pending: tuple[PendingChange, ...] = ()

    @property
    def new_ids(self) -> frozenset[str]:
        """Ids of the facts that this update adds."""
        return frozenset(addition.id for addition in self.changes.additions)

    def is_fixed(self, fact: Fact) -> bool:
        """Return whether repeating *fact* leaves it as it is: a person wrote it, or only a tool repeats it."""
        return fact.is_manual or (self.changes.origin is not None and fact.origin != self.changes.origin)

    def end_facts(
        self,
        ids: Iterable[str],
        reason: EndReason,
        *,
        why: str,
        by: str = "",
        at: Timestamp | None = None,
        decided: str = "",
    ) -> Draft:
        """Return the draft in which the facts with these ids are past, with a note of why.

        A fact of this update never was current: it is dropped, unless its own time has passed.

        Args:
            ids: Ids of facts; unknown ones are ignored.
            reason: Stored with each fact.
            why: The note, for people.
            by: Id of the fact that follows them.
            at: When they ceased to hold; default: the time of the update.
            decided: What decided it, stored with each fact.
        """
        gone = frozenset(ids)
        ended = [fact for fact in self.memory.facts if fact.id in gone]
        removed = tuple(RemovedFact(fact=fact, why=why) for fact in ended)
        past = gone if reason == "expired" else gone - self.new_ids
        when, limit = at or self.changes.at, self.policy.max_past_facts
        memory = self.memory.end_facts(past, reason, at=when, by=by, limit=limit, why=decided)
        kept = memory.with_facts(tuple(fact for fact in memory.facts if fact.id not in gone))
        return replace(self, memory=kept, removed=self.removed + removed)

    def with_fact(self, changed: Fact) -> Draft:
        """Return the draft in which *changed* stands for the fact with its id."""
        facts = tuple(changed if fact.id == changed.id else fact for fact in self.memory.facts)
        return replace(self, memory=self.memory.with_facts(facts))

    def with_additions(self, additions: Iterable[Addition]) -> Draft:
        """Return the draft with *additions* in place of those of its change set."""
        return replace(self, changes=self.changes.model_copy(update={"additions": tuple(additions)}))

    def with_pending(self, item: PendingChange, notes: tuple[Refusal, ...]) -> Draft:
        """Return the draft with a change that waits for a person, and with *notes* of it."""
        return replace(self, pending=(*self.pending, item), refused=(*self.refused, *notes))

    def with_refusal(self, item: str, reason: str) -> Draft:
        """Return the draft with a note of a change that was not applied."""
        return replace(self, refused=(*self.refused, Refusal(item=item, reason=reason)))


Rule = Callable[[Draft], Draft]
