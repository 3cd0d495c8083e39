"""Draft: a memory in the making, and what its rules have to say about it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from memgraph.models import Fact, Memory, MemoryUpdate, Refusal
from memgraph.policy import Policy
from memgraph.report import RemovedFact


@dataclass(frozen=True, slots=True)
class Draft:
    """What a rule gets and gives back."""

    memory: Memory
    changes: MemoryUpdate
    policy: Policy
    removed: tuple[RemovedFact, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self.memory.facts

    @property
    def new_ids(self) -> frozenset[str]:
        """Ids of what this update adds."""
        return frozenset(addition.id for addition in self.changes.additions)

    def with_facts(self, facts: Iterable[Fact]) -> Draft:
        """The draft with these facts."""
        return replace(self, memory=self.memory.with_facts(tuple(facts)))

    def without_facts(self, ids: Iterable[str], *, because: str) -> Draft:
        """The draft less the facts with these ids."""
        gone = frozenset(ids)
        removed = tuple(RemovedFact(fact=fact, why=because) for fact in self.facts if fact.id in gone)
        kept = self.with_facts(fact for fact in self.facts if fact.id not in gone)
        return replace(kept, removed=self.removed + removed)

    def with_refusal(self, what: str, why: str) -> Draft:
        """The draft with a note of something that was not kept."""
        return replace(self, refused=(*self.refused, Refusal(item=what, reason=why)))


Rule = Callable[[Draft], Draft]


def fact_key(content: str) -> str:
    """What two wordings of one fact share: compared without case, width or spacing."""
    return "".join(unicodedata.normalize("NFKC", content).casefold().split())
