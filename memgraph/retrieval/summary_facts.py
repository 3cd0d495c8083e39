"""Summaries follow facts: a sentence that rests on a fact that has ended is not shown, until it is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memgraph.models import Fact, Memory, PastFact
from memgraph.models.dates import DAY_CHARS, days_of
from memgraph.retrieval.terms import content_terms
from memgraph.text.sentences import sentences
from memgraph.text.slots import find_slot

ENDING = frozenset({"superseded", "removed", "expired"})
"""Reasons of the past facts that do not hold any more."""
MIN_SHARE = 0.6
"""Share of the words that an ended fact has, and the one that followed it has not, in a sentence that rests on it."""


@dataclass(frozen=True)
class EndedFact:
    """A fact that ended, by its words."""

    fact: PastFact
    at: str
    """When it was known to have ended."""
    terms: frozenset[str]
    following: frozenset[str]
    """The terms of the fact that followed it; none if none did."""

    @cached_property
    def _value(self) -> frozenset[str]:
        """The terms of its value, such as the old home; none if it states no attribute."""
        found = find_slot(self.fact.content, self.fact.slot)
        return content_terms(found.value) - self.following if found else frozenset()

    def supports(self, terms: frozenset[str]) -> bool:
        """Return whether a sentence with these terms rests on it."""
        own = self.terms - self.following
        if own.isdisjoint(terms) or _has_most(terms, self.following - self.terms):
            return False
        return self._value <= terms if self._value else _has_most(terms, own)


def _has_most(terms: frozenset[str], wanted: frozenset[str]) -> bool:
    return bool(wanted) and len(terms & wanted) >= MIN_SHARE * len(wanted)


def ended_facts(memory: Memory) -> list[EndedFact]:
    """Return the past facts of *memory* that do not hold any more."""
    known: dict[str, Fact] = {fact.id: fact for fact in memory.past} | {fact.id: fact for fact in memory.facts}
    ended = [fact for fact in memory.past if fact.reason in ENDING]
    successors = [known.get(fact.ended_by) for fact in ended]
    terms = [content_terms(fact.content) for fact in ended]
    following = [content_terms(fact.content) if fact else frozenset[str]() for fact in successors]
    times = [
        max(_last_moment(fact.ended_at), successor.created_at if successor else "")
        for fact, successor in zip(ended, successors, strict=True)
    ]
    return [EndedFact(*parts) for parts in zip(ended, times, terms, following, strict=True)]


def _last_moment(at: str) -> str:
    """Return a time as it is; of a partial date the last day."""
    days = days_of(at)
    return days.last.isoformat() if days and len(at) < DAY_CHARS else at


def with_current_summaries(memory: Memory) -> Memory:
    """Return *memory* with what still holds of its summaries.

    Sentences that rest on a fact that ended after the summary was written are left out. A sentence rests on such a
    fact if it has its value, such as the old home, or most of the words that the fact that followed has not. It holds
    if it has those of this fact, too ("Moved from Lisbon to Porto."), or if a current fact has more of its words.
    """
    ended = ended_facts(memory) if memory.past else []
    if not ended:
        return memory
    for name, section in memory.sections():
        since = [fact for fact in ended if fact.at >= section.updated_at]
        kept = [part for part in sentences(section.summary) if not _is_outdated(part, since, memory)]
        text = "".join(kept).strip()
        if len(text) < len(section.summary.strip()):
            memory = memory.with_section(name, section.model_copy(update={"summary": text}))
    return memory


def _is_outdated(sentence: str, ended: Sequence[EndedFact], memory: Memory) -> bool:
    terms = content_terms(sentence)
    return any(fact.supports(terms) and not _is_explained(terms, fact, memory) for fact in ended)


def _is_explained(terms: frozenset[str], ended: EndedFact, memory: Memory) -> bool:
    """Return whether another current fact has more of *terms*, also of those that distinguish the ended one."""
    own, shared = terms & (ended.terms - ended.following), len(terms & ended.terms)
    others = (content_terms(fact.content) for fact in memory.facts if fact.id != ended.fact.ended_by)
    return any(own <= known and len(terms & known) > shared for known in others)
