"""Summaries follow facts: a sentence that rests on a fact that has ended is not shown, until it is rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from memgraph.analysis.answers import denies
from memgraph.analysis.parts import parts_of
from memgraph.analysis.sentences import sentences
from memgraph.analysis.terms import content_terms
from memgraph.models import Fact, MemoryDocument, SectionName
from memgraph.models.dates import DAY_CHARS, days_of

ENDING = frozenset({"superseded", "removed", "expired"})
"""Reasons of the past facts that do not hold any more."""
_ADDED_DATE = re.compile(r"[(（]\d{4}(?:-\d\d){0,2}[)）]")
"""An update adds it to a relative time; a summary has it in other words."""
MIN_SHARE = 0.6
"""Share of the words that an ended fact has, and the one that followed it has not, in a sentence that rests on it."""


@dataclass(frozen=True)
class EndedFact:
    """A fact that ended, by its words."""

    terms: frozenset[str]
    following: frozenset[str]
    """The terms of the fact that followed it; none if none did."""
    successor: Fact | None = None
    """The fact that followed it."""
    denied: bool | None = None
    """Whether it is a denial, if its successor has all of its words, and either denies what the other states."""

    @classmethod
    def of(cls, fact: Fact, successor: Fact | None = None) -> Self:
        """Return *fact*, which *successor* follows, by its words."""
        terms = content_terms(_ADDED_DATE.sub("", fact.content))
        following = content_terms(successor.content) if successor else frozenset[str]()
        denied = denies(fact.content)
        is_denial = successor is not None and terms <= following and denies(successor.content) != denied
        return cls(terms, following, successor, denied if is_denial else None)

    def supports(self, sentence: str, terms: frozenset[str]) -> bool:
        """Return whether *sentence*, which has these terms, rests on it."""
        if self.denied is not None:
            return _has_most(terms, self.terms) and denies(sentence) == self.denied
        own = self.terms - self.following
        return _has_most(terms, own) and not _has_most(terms, self.following - self.terms)

    def is_explained(self, terms: frozenset[str], current: Mapping[str, frozenset[str]]) -> bool:
        """Return whether another *current* fact has more of *terms*, also of those that distinguish this one."""
        own, shared = terms & (self.terms - self.following), len(terms & self.terms)
        follower = self.successor.id if self.successor else ""
        others = (known for fact_id, known in current.items() if fact_id != follower)
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
            ended.append((at, EndedFact.of(fact, successor)))
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
    since = {name: [fact for at, fact in ended if at >= section.updated_at] for name, section in written}
    return _without_sentences(memory, since)


def without_support(memory: MemoryDocument, gone: Iterable[tuple[Fact, Fact | None]]) -> MemoryDocument:
    """Return *memory* without the sentences of learned summaries that rest on facts which are not in it any more.

    Args:
        memory: The memory.
        gone: Facts that were removed or reworded, each with what stands for it.
    """
    learned = [name for name, section in memory.sections() if section.summary.strip() and not section.is_manual]
    ended = [EndedFact.of(*each) for each in gone] if learned else []
    return _without_sentences(memory, dict.fromkeys(learned, ended)) if ended else memory


def _without_sentences(memory: MemoryDocument, ended: Mapping[SectionName, Sequence[EndedFact]]) -> MemoryDocument:
    """Return *memory* without the sentences of its summaries that rest on these facts, by summary."""
    current = {fact.id: content_terms(fact.content) for fact in memory.facts}
    for name, facts in ended.items():
        section = memory.section(name)
        held = (_held_of(sentence, facts, current) for sentence in sentences(section.summary))
        text = "".join(held).strip()
        if len(text) < len(section.summary.strip()):
            memory = memory.with_section(name, section.model_copy(update={"summary": text}))
    return memory


def _held_of(sentence: str, ended: Sequence[EndedFact], current: Mapping[str, frozenset[str]]) -> str:
    """Return *sentence*, without its statements that rest on facts which have ended."""
    if not _is_outdated(sentence, ended, current):
        return sentence
    parts = parts_of(sentence.strip())
    held = [part for part in parts if not _is_outdated(part, ended, current)] if len(parts) > 1 else []
    return "".join(f"{part} " for part in held)


def _is_outdated(sentence: str, ended: Sequence[EndedFact], current: Mapping[str, frozenset[str]]) -> bool:
    terms = content_terms(sentence)
    return any(fact.supports(sentence, terms) and not fact.is_explained(terms, current) for fact in ended)
