"""Take back what was learned in one thread, or since a date, wherever it came to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeVar

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.sentences import sentences
from memgraph.history.diff import EntryConflict, changes_between, reverse
from memgraph.history.undo import without_repeated
from memgraph.models import (
    UNKNOWN_THREAD,
    AsSaid,
    EntryChange,
    Episode,
    Evidence,
    Fact,
    MemoryChanges,
    MemoryDocument,
    PastFact,
    PendingChange,
    Revision,
    Section,
)
from memgraph.retrieval.summary_facts import without_support

LEARNED = frozenset({"update", "tool", "upkeep", "import"})
"""Authors whose revisions are taken back; what a person decided stays."""

AnyFact = TypeVar("AnyFact", Fact, PastFact, AsSaid)


class Source(NamedTuple):
    """What is taken back: all that comes from a thread, or from a time; of both, what comes from both."""

    thread: str | None = None
    is_since: Callable[[str], bool] | None = None
    """Whether a time is in the period, as `analysis.dates.since` makes it."""

    def includes(self, thread: str, at: str) -> bool:
        """Return whether what was said or learned there and then comes from it."""
        return (self.thread is None or self.thread == (thread or UNKNOWN_THREAD)) and (
            self.is_since is None or self.is_since(at)
        )

    def includes_revision(self, entry: Revision) -> bool:
        """Return whether *entry* was learned from it."""
        return entry.by in LEARNED and self.includes(entry.thread, entry.at)


class Revert(NamedTuple):
    """What is different without a source."""

    memory: MemoryDocument
    """The memory without it."""
    changes: MemoryChanges
    """What differs from the memory before; empty if nothing came from it."""
    conflicts: tuple[EntryConflict, ...]
    """What stays although it may rest on the source."""


def revert(
    memory: MemoryDocument, revisions: Iterable[Revision], episodes: Sequence[Episode], source: Source, *, at: str
) -> Revert:
    """Return *memory* without what rests only on *source*.

    A fact that has other evidence stays, with less of it; so does what a person wrote. What was superseded or removed
    because of the source is current again, unless something else ended it since. Watermarks stay: the turns are not
    learned again.

    Args:
        memory: The current memory.
        revisions: Its history, the newest first. What is older than the history is found by the sources of the facts
            and the episodes of their evidence.
        episodes: Those that are stored.
        source: What is taken back.
        at: The time of the change.
    """
    history = list(takewhile(lambda entry: entry.by != "delete", revisions))
    reverted, conflicts = _reversed(memory, [entry for entry in history if source.includes_revision(entry)])
    reverted = _Evidence(source, episodes, history).without_source(reverted)
    reverted = _with_current(memory, reverted)
    reverted, repeated = without_repeated(memory, reverted)
    stay = {fact.id for fact in (*reverted.facts, *reverted.past)}
    reverted = without_support(reverted, ((fact, None) for fact in memory.facts if fact.id not in stay))
    if reverted != memory:
        reverted = reverted.model_copy(update={"last_updated": at})
    return Revert(reverted, changes_between(memory, reverted), (*conflicts, *repeated))


def _reversed(memory: MemoryDocument, entries: Iterable[Revision]) -> tuple[MemoryDocument, list[EntryConflict]]:
    """Return *memory* before the changes of *entries*, and the summaries that were rewritten since.

    Facts that were changed since are not conflicts: their evidence decides.
    """
    conflicts: dict[str, EntryConflict] = {}
    for entry in entries:
        reversal = reverse(memory, entry.changes, with_threads=False)
        memory = reversal.memory
        for conflict in reversal.conflicts:
            if conflict.kind == "section":
                change = next(change for change in entry.changes.sections if change.key == conflict.key)
                memory, is_complete = _without_sentences(memory, change)
                if not is_complete:
                    conflicts[conflict.key] = conflict
            elif conflict.kind == "key":
                conflicts[conflict.key] = conflict
    return memory, list(conflicts.values())


def _without_sentences(memory: MemoryDocument, change: EntryChange[Section]) -> tuple[MemoryDocument, bool]:
    """Return *memory* without the sentences that *change* added to a summary, and whether all of them were there."""
    before, after = (_sentences(part.summary) if part else [] for part in (change.before, change.after))
    added = frozenset(after) - frozenset(before)
    name, section = change.key, memory.section(change.key)
    current = _sentences(section.summary)
    kept = [sentence for sentence in current if sentence not in added]
    if len(kept) < len(current):
        memory = memory.with_section(name, section.model_copy(update={"summary": " ".join(kept)}))
    return memory, added <= frozenset(current)


def _sentences(summary: str) -> list[str]:
    return [sentence.strip() for sentence in sentences(summary)]


class _Evidence:
    """The evidence of facts without that of a source.

    Args:
        source: What is taken back.
        episodes: Those that are stored.
        history: The revisions, the newest first.
    """

    def __init__(self, source: Source, episodes: Sequence[Episode], history: Sequence[Revision]) -> None:
        self._source = source
        self._episodes = {episode.id: episode for episode in episodes}
        self._threads_confirming = _threads_confirming(history, source)

    def without_source(self, memory: MemoryDocument) -> MemoryDocument:
        """Return *memory* in which nothing learned rests on the source."""
        quarantine = tuple(item for item in memory.pending if not self._holds_only_source(item))
        if len(quarantine) < len(memory.pending):
            memory = memory.model_copy(update={"pending": quarantine})
        facts = tuple(kept for fact in memory.facts if (kept := self._without_source(fact)))
        past = tuple(kept for fact in memory.past if (kept := self._without_source(fact)))
        as_said = tuple(kept for claim in memory.as_said if (kept := self._without_source(claim)) and kept.words)
        if (facts, past, as_said) == (memory.facts, memory.past, memory.as_said):
            return memory
        return memory.model_copy(update={"facts": facts, "past": past, "as_said": as_said})

    def _holds_only_source(self, item: PendingChange) -> bool:
        return bool(item.facts) and not any(self._without_source(fact) for fact in item.facts)

    def _without_source(self, fact: AnyFact) -> AnyFact | None:
        """Return *fact* as far as it rests on something else; None if it does not."""
        if fact.is_manual:
            return fact
        if not fact.evidence:
            rests_on_source = self._source.includes(fact.source, fact.created_at)
            return self._confirmed_elsewhere(fact) if rests_on_source else fact
        others = tuple(one for one in fact.evidence if not self._is_of_source(one, fact))
        if len(others) == len(fact.evidence):
            return fact
        if not others:
            return self._confirmed_elsewhere(fact)
        lost = len(fact.evidence) - len(others)
        said = [episode.at for one in others if (episode := self._episodes.get(one.episode)) and episode.at]
        return self._from_another_thread(fact, others).model_copy(
            update={
                "evidence": others,
                "confirmations": max(0, fact.confirmations - lost),
                "said_at": min(said, default=fact.said_at),
            }
        )

    def _is_of_source(self, evidence: Evidence, fact: Fact) -> bool:
        episode = self._episodes.get(evidence.episode)
        thread, at = (episode.thread_id, episode.at) if episode else (fact.source, fact.created_at)
        return self._source.includes(thread, at)

    def _from_another_thread(self, fact: AnyFact, evidence: Sequence[Evidence]) -> AnyFact:
        """Return *fact* as learned in the thread of its remaining evidence."""
        if fact.source != self._source.thread:
            return fact
        threads = [episode.thread_id for one in evidence if (episode := self._episodes.get(one.episode))]
        return fact.model_copy(update={"source": next(iter(threads), UNKNOWN_THREAD)})

    def _confirmed_elsewhere(self, fact: AnyFact) -> AnyFact | None:
        """Return *fact* without evidence if something else confirmed it, whose words are not among its evidence."""
        thread = self._threads_confirming.get(fact.id)
        if thread is None:
            return None
        return fact.model_copy(
            update={"evidence": (), "source": thread, "confirmations": max(0, fact.confirmations - 1)}
        )


def _threads_confirming(history: Sequence[Revision], source: Source) -> dict[str, str]:
    """Return by fact the thread, other than *source*, that confirmed it."""
    return {
        change.key: entry.thread or UNKNOWN_THREAD
        for entry in history
        if entry.by in LEARNED and not source.includes_revision(entry)
        for change in entry.changes.facts
        if change.before and change.after and change.after.last_confirmed_at > change.before.last_confirmed_at
    }


def _with_current(memory: MemoryDocument, reverted: MemoryDocument) -> MemoryDocument:
    """Return *reverted* in which those past facts are current that ended only because of what is gone.

    A fact that would return, but whose successor was superseded by one that stays, ended because of that one. Of
    several that would return with the same content, or the same attribute, the last one does.
    """
    known, past = {fact.id for fact in memory.facts}, {fact.id: fact for fact in (*reverted.past, *memory.past)}
    staying = {fact.id for fact in reverted.facts if fact.id in known}
    gone = (known | set(past)) - {fact.id for fact in (*reverted.facts, *reverted.past)}
    returned = [fact for fact in reverted.facts if fact.id not in known and fact.id in past]
    ended = [fact for fact in reverted.past if fact.ended_by in gone]
    successors = {fact.id: _successor(past[fact.id], past, staying) for fact in (*returned, *ended)}
    last = {key: fact.id for fact in (*returned, *ended) if not successors[fact.id] for key in _keys(fact)}
    successors |= {
        fact.id: next((other for key in _keys(fact) if (other := last[key]) != fact.id), "")
        for fact in (*returned, *ended)
        if not successors[fact.id]
    }
    facts = [fact for fact in reverted.facts if not successors.get(fact.id)]
    facts += [fact.as_current() for fact in ended if not successors[fact.id]]
    unchanged = [fact for fact in reverted.past if fact.id not in successors]
    later = [past[key].model_copy(update={"ended_by": successor}) for key, successor in successors.items() if successor]
    return reverted.model_copy(update={"facts": tuple(facts), "past": (*unchanged, *later)})


def _keys(fact: Fact) -> tuple[str, ...]:
    """Return what no two current facts have in common: the content, and the attribute if there is one."""
    return (fact_key(fact.content), *([f"slot {fact.slot}"] if fact.slot else []))


def _successor(fact: PastFact, past: Mapping[str, PastFact], staying: set[str]) -> str:
    """Return the id of the staying fact that ended *fact*, directly or by way of others; empty if none did."""
    seen = {fact.id}
    fact_id = fact.ended_by
    while fact_id in past and fact_id not in staying | seen:
        seen.add(fact_id)
        fact_id = past[fact_id].ended_by
    return fact_id if fact_id in staying else ""
