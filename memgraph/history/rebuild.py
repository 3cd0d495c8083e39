"""Learn a memory again from its episodes: their order, what stays as it is, and how the result replaces it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from memgraph.analysis.normalize import fact_key
from memgraph.models import (
    UNKNOWN_THREAD,
    DocumentModel,
    Episode,
    Fact,
    MemoryDocument,
    PastFact,
    PendingChange,
    Revision,
    Scope,
)
from memgraph.models.values import Count, Text
from memgraph.rules.add import SomeFact

MAX_MESSAGES = 20
"""Maximum number of messages that are learned at once. The progress is stored after them."""
DECISIONS = frozenset({"person", "tool", "undo", "revert"})
"""Authors whose removals and edits stay: what they removed does not return."""

_KEY = "rebuild"
_AGENT = "memgraph-rebuild"
_MAX_AGENT_CHARS = 64


class RebuildProgress(DocumentModel):
    """How far a rebuild is. It is stored in the document that is being learned, so both are saved at once."""

    model: Text
    """The name of the model that learns."""
    episodes: Count = 0
    """How many episodes were learned, the oldest ones."""
    digest: Text = ""
    """Identifies these, so that a rebuild begins again if one of them is gone."""

    def fits(self, model: str, episodes: Sequence[Episode]) -> bool:
        """Return whether the rebuild of *episodes* by *model* can go on from here."""
        is_same = self.digest == episodes_digest(episodes[: self.episodes])
        return self.model == model and is_same and self.episodes <= len(episodes)


def rebuild_progress(memory: MemoryDocument) -> RebuildProgress | None:
    """Return how far the rebuild is that *memory* is the document of; None if it is another document."""
    stored = (memory.model_extra or {}).get(_KEY)
    return RebuildProgress.model_validate(stored) if isinstance(stored, dict) else None


def with_progress(memory: MemoryDocument, progress: RebuildProgress) -> MemoryDocument:
    """Return the document of a rebuild with its progress."""
    return memory.model_copy(update={_KEY: progress.model_dump()})


def episodes_digest(episodes: Iterable[Episode]) -> str:
    """Identify a sequence of episodes."""
    ids = "\0".join(episode.id for episode in episodes)
    return hashlib.sha256(ids.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def rebuild_scope(scope: Scope) -> Scope:
    """Return where the document of a rebuild is stored meanwhile: next to the memory of *scope*, as an agent's."""
    agent = f"{_AGENT}-{scope.agent_name}" if scope.agent_name else _AGENT
    if len(agent) > _MAX_AGENT_CHARS:
        agent = f"{_AGENT}-{hashlib.sha256(agent.encode()).hexdigest()[:16]}"
    return Scope(scope.user_id, agent)


# -- learning -------------------------------------------------------------------------------------


class Session(NamedTuple):
    """Consecutive messages of one thread and origin, which are learned together."""

    thread: str
    messages: tuple[tuple[Episode, ...], ...]
    """The episodes of each message: one, or the parts of a long one."""

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return sum(map(len, self.messages))


def sessions_of(episodes: Iterable[Episode]) -> list[Session]:
    """Return *episodes*, the oldest first, as sessions of at most MAX_MESSAGES messages."""
    found: list[Session] = []
    for (thread, _), group in groupby(episodes, key=lambda one: (one.thread_id or UNKNOWN_THREAD, one.origin)):
        messages = [tuple(parts) for _, parts in groupby(group, key=lambda episode: episode.message_id or episode.id)]
        starts = range(0, len(messages), MAX_MESSAGES)
        found += [Session(thread, tuple(messages[start : start + MAX_MESSAGES])) for start in starts]
    return found


def memory_to_relearn(memory: MemoryDocument, episodes: Iterable[Episode]) -> MemoryDocument:
    """Return the document with which a rebuild begins: what *episodes* cannot teach again is known from the start."""
    rests_on = _Learnable(episodes)
    facts, as_said = (tuple(one for one in known if one not in rests_on) for known in (memory.facts, memory.as_said))
    return MemoryDocument().model_copy(update={"facts": facts, "as_said": as_said})


class _Learnable:
    """The facts that some episodes can teach again: those that were learned from them.

    A fact without evidence counts if its thread is among theirs. Facts that a person wrote, or that were imported, or
    whose episodes are gone, do not.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        read = tuple(episodes)
        self._ids = frozenset(episode.id for episode in read)
        self._threads = frozenset(episode.thread_id or UNKNOWN_THREAD for episode in read)

    def __contains__(self, fact: Fact) -> bool:
        if fact.is_manual:
            return False
        known = {one.episode for one in fact.evidence if one.episode}
        return not self._ids.isdisjoint(known) if known else fact.source in self._threads


# -- the result -----------------------------------------------------------------------------------


def rebuilt_memory(
    memory: MemoryDocument,
    learned: MemoryDocument,
    episodes: Sequence[Episode],
    revisions: Iterable[Revision],
    *,
    at: str,
    limit: int,
) -> MemoryDocument:
    """Return *memory* in which what was learned from *episodes* is replaced by *learned*.

    What a person wrote or edited stays, and what a person removed, undid or reverted does not return: what it had ended
    stays current, unless something else ended it. What was imported or rests on other words stays, and so do the
    watermarks, and a summary of which nothing was learned. A fact that is learned again keeps its id.

    Args:
        memory: The current memory.
        learned: What was learned from the episodes.
        episodes: Those that were learned from.
        revisions: The history of the memory, the newest first.
        at: The time of the change.
        limit: Maximum number of past facts.
    """
    learnable, decided = _Learnable(episodes), _Decisions(revisions)
    names = _Names(memory, learned)
    removed = decided.removed_keys - {fact_key(fact.content) for fact in memory.facts}
    restored = decided.restored_keys & _unended_keys(learned, removed)
    stay = {fact.id: fact for fact in memory.facts if fact not in learnable or fact_key(fact.content) in restored}
    gone = removed - {fact_key(fact.content) for fact in memory.past}
    excluded = removed | {fact_key(fact.content) for fact in stay.values()}
    taught = [fact for fact in learned.facts if fact.id not in stay and fact_key(fact.content) not in excluded]
    by_id = {fact.id: fact for fact in map(names.renamed, taught)} | stay
    known = [by_id[fact.id] for fact in memory.facts if fact.id in by_id]
    facts = {fact.id: fact for fact in (*known, *by_id.values())}
    ended = [fact for fact in learned.past if fact.id not in stay and fact_key(fact.content) not in gone]
    past = [*(fact for fact in memory.past if fact not in learnable), *map(names.renamed_past, ended)]
    said = [claim for claim in memory.as_said if claim not in learnable]
    said += [claim for claim in map(names.renamed, learned.as_said) if fact_key(claim.content) not in excluded]
    as_said = {claim.id: claim for claim in said if claim.id not in facts}
    rebuilt = memory.model_copy(update={"facts": tuple(facts.values()), "past": (), "as_said": tuple(as_said.values())})
    rebuilt = rebuilt.with_past((fact for fact in past if fact.id not in facts), limit)
    rebuilt = rebuilt.with_pending(*(item for item in learned.pending if decided.leaves_open(item)))
    rebuilt = _with_summaries(rebuilt, learned, decided)
    return rebuilt if rebuilt == memory else rebuilt.model_copy(update={"last_updated": at})


def _unended_keys(learned: MemoryDocument, removed: Collection[str]) -> set[str]:
    """Return the past facts that nothing would have ended without the facts that are *removed*."""
    keys = {fact.id: fact_key(fact.content) for fact in (*learned.facts, *learned.past)}
    enders, unended = {fact.id: fact.ended_by for fact in learned.past}, set[str]()
    for fact in learned.past:
        ender, seen = fact.ended_by, {fact.id}
        while keys.get(ender) in removed and ender not in seen:
            seen.add(ender)
            ender = enders.get(ender, "")
        if ender not in keys or ender in seen:
            unended.add(keys[fact.id])
    return unended


class _Decisions:
    """What persons decided about a memory, by its history."""

    def __init__(self, revisions: Iterable[Revision]) -> None:
        history = list(revisions)
        decisions = [entry.changes for entry in history if entry.by in DECISIONS]
        self.removed_keys = frozenset(
            fact_key(change.before.content)
            for changes in decisions
            for change in (*changes.facts, *changes.past, *changes.as_said)
            if change.before and (change.after is None or change.after.content != change.before.content)
        )
        self.restored_keys = frozenset(
            fact_key(change.after.content)
            for changes in decisions
            for change in changes.facts
            if change.after and (change.before is None or change.after.content != change.before.content)
        )
        self._items = frozenset(change.key for changes in decisions for change in changes.quarantine if change.before)
        authors: dict[str, str] = {}
        for entry in history:
            for change in entry.changes.sections:
                authors.setdefault(change.key, entry.by)
        self.sections = frozenset(name for name, author in authors.items() if author in DECISIONS)
        """The summaries that a person wrote last."""

    def leaves_open(self, item: PendingChange) -> bool:
        """Return whether a pending change was not decided before."""
        known = all(fact_key(fact.content) in self.removed_keys for fact in item.facts)
        return item.id not in self._items and not (item.facts and known)


def _with_summaries(memory: MemoryDocument, learned: MemoryDocument, decided: _Decisions) -> MemoryDocument:
    for name, section in learned.sections():
        is_new = section.summary and section.summary != memory.section(name).summary
        if is_new and name not in decided.sections:
            memory = memory.with_section(name, section)
    return memory


class _Names:
    """The ids that facts of a rebuild have in the memory: a fact that states the same keeps its id.

    Args:
        memory: The current memory.
        learned: What was learned from the episodes.
    """

    def __init__(self, memory: MemoryDocument, learned: MemoryDocument) -> None:
        self._past = {fact_key(fact.content): fact for fact in memory.past}
        everything: tuple[Fact, ...] = (*memory.as_said, *memory.past, *memory.facts)
        self._known = {fact_key(fact.content): fact for fact in everything}
        self._ids: dict[str, str] = {}
        taken: set[str] = set()
        for fact in (*learned.recallable, *reversed(learned.past)):
            known = self._known.get(fact_key(fact.content))
            if known and known.id not in taken:
                taken.add(known.id)
                self._ids[fact.id] = known.id

    def renamed(self, fact: SomeFact) -> SomeFact:
        """Return *fact* with the id of the known fact, and the time at which that was learned."""
        known = self._known.get(fact_key(fact.content)) if fact.id in self._ids else None
        return fact.model_copy(
            update={
                "id": self._ids.get(fact.id, fact.id),
                "created_at": known.created_at if known else fact.created_at,
                "replaces": tuple(self._ids.get(old, old) for old in fact.replaces),
            }
        )

    def renamed_past(self, fact: PastFact) -> PastFact:
        """Return *fact* as it is known, if it was past before for the same reason."""
        renamed = PastFact.model_validate(
            fact.model_dump()
            | {**self.renamed(fact).model_dump(), "ended_by": self._ids.get(fact.ended_by, fact.ended_by)}
        )
        known = self._past.get(fact_key(fact.content))
        is_known = known and (known.id, known.reason, known.ended_by) == (renamed.id, renamed.reason, renamed.ended_by)
        return known if known and is_known else renamed
