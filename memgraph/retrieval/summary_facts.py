"""Summaries follow facts: a sentence that rests on a fact that has ended is not shown, until it is rewritten."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memgraph.models import Fact, MemoryDocument, PastFact
from memgraph.models.dates import DAY_CHARS, days_of
from memgraph.retrieval.terms import content_terms
from memgraph.text.sentences import sentences

ENDING = frozenset({"superseded", "removed", "expired"})
"""Reasons of the past facts that do not hold any more."""
_ADDED_DATE = re.compile(r"[(（]\d{4}(?:-\d\d){0,2}[)）]")
"""An update adds it to a relative time; a summary has it in other words."""
MIN_SHARE = 0.6
"""Share of the words that an ended fact has, and the one that followed it has not, in a sentence that rests on it."""


@dataclass(frozen=True)
class EndedFact:
    """A fact that ended, by its words."""

    fact: PastFact
    terms: frozenset[str]
    following: frozenset[str]
    """The terms of the fact that followed it; none if none did."""

    def supports(self, terms: frozenset[str]) -> bool:
        """Return whether a sentence with these terms rests on it."""
        own = self.terms - self.following
        return _has_most(terms, own) and not _has_most(terms, self.following - self.terms)

    def is_explained(self, terms: frozenset[str], current: Mapping[str, frozenset[str]]) -> bool:
        """Return whether another *current* fact has more of *terms*, also of those that distinguish this one."""
        own, shared = terms & (self.terms - self.following), len(terms & self.terms)
        others = (known for fact_id, known in current.items() if fact_id != self.fact.ended_by)
        return any(own <= known and len(terms & known) > shared for known in others)


def _has_most(terms: frozenset[str], wanted: frozenset[str]) -> bool:
    return bool(wanted) and len(terms & wanted) >= MIN_SHARE * len(wanted)


def ended_facts(memory: MemoryDocument, since: str) -> list[tuple[str, EndedFact]]:
    """Return the past facts of *memory* that do not hold any more, known to have ended at *since* or later, and when.

    Others are not read: a document has up to 1,000 past facts, most of which ended before its summaries were written.
    """
    known: dict[str, Fact] = {fact.id: fact for fact in (*memory.past, *memory.facts)}
    ended = list[tuple[str, EndedFact]]()
    for fact in memory.past:
        successor = known.get(fact.ended_by)
        at = max(_last_moment(fact.ended_at), successor.created_at if successor else "")
        if fact.reason in ENDING and at >= since:
            following = content_terms(successor.content) if successor else frozenset[str]()
            ended.append((at, EndedFact(fact, content_terms(_ADDED_DATE.sub("", fact.content)), following)))
    return ended


def _last_moment(at: str) -> str:
    """Return a time as it is; of a partial date the last day."""
    days = days_of(at) if len(at) < DAY_CHARS else None
    return days.last.isoformat() if days else at


def with_current_summaries(memory: MemoryDocument) -> MemoryDocument:
    """Return *memory* with what still holds of its summaries.

    Sentences that rest on a fact that ended after the summary was written are left out. A sentence rests on such a
    fact if it has most of the words that the fact that followed has not. It holds if it has those of this fact, too
    ("Moved from Lisbon to Porto."), or if a current fact has more of its words.
    """
    written = [part for part in memory.sections() if part[1].summary.strip()]
    if not written or not memory.past:
        return memory
    ended = ended_facts(memory, min(section.updated_at for _, section in written))
    if not ended:
        return memory
    current = {fact.id: content_terms(fact.content) for fact in memory.facts}
    for name, section in written:
        since = [fact for at, fact in ended if at >= section.updated_at]
        text = "".join(part for part in sentences(section.summary) if not _is_outdated(part, since, current)).strip()
        if len(text) < len(section.summary.strip()):
            memory = memory.with_section(name, section.model_copy(update={"summary": text}))
    return memory


def _is_outdated(sentence: str, ended: Sequence[EndedFact], current: Mapping[str, frozenset[str]]) -> bool:
    terms = content_terms(sentence)
    return any(fact.supports(terms) and not fact.is_explained(terms, current) for fact in ended)
