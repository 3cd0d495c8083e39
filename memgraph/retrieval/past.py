"""What a question about the past finds: facts that held once. No other question finds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memgraph.analysis.terms import content_terms
from memgraph.models import Fact, MemoryDocument, PastFact
from memgraph.models.values import last_of
from memgraph.retrieval.lexical import LexicalIndex
from memgraph.retrieval.memory_index import FactIndex, Ranking, best_first, covers, fact_documents, scale_to_best
from memgraph.retrieval.query import Document, Query
from memgraph.retrieval.render import Line, ending_note, past_line
from memgraph.retrieval.summary_facts import ENDING

MAX_PAST_FACTS = 10
"""Maximum number of past facts that a question finds."""
MAX_UNMATCHED = 3
"""How many it finds if none has words of the question: "What was different before?"."""
PAST_SHARE = 0.25
"""Share of the budget that they may take."""
FINDABLE = frozenset({"superseded", "removed", "expired", "evicted"})
"""Reasons of the past facts that can be found; what was merged is in another fact."""


def past_facts(memory: MemoryDocument, today: str) -> tuple[PastFact, ...]:
    """Return the facts that a question about the past may find: past ones, and current ones that have expired *today*.

    The stored document has the latter among its facts until the next update.
    """
    expired = (PastFact.of(fact, "expired", at=fact.valid_until) for fact in memory.facts if fact.has_expired(today))
    return (*(fact for fact in memory.past if fact.reason in FINDABLE), *expired)


@dataclass(frozen=True)
class EndedWords:
    """What was learned from the user's words and does not hold any more, or was edited by a person since."""

    memory: MemoryDocument
    timezone: str

    def note(self, episode: str) -> str:
        """Return what ended of an episode and what followed: see `ending_note`; "" if nothing ended or was edited."""
        found = self.memory.derive(_endings_by_episode).get(episode, ())
        shown = (each for each in found if each[0] or (each[1] and episode in each[1].derive(_outdated_episodes)))
        return "; ".join(filter(None, (ending_note(*each, self.timezone) for each in shown)))


def _endings_by_episode(memory: MemoryDocument) -> Mapping[str, Sequence[tuple[PastFact | None, Fact | None]]]:
    """Return by episode the facts that ended, and the current ones that followed unless the episode has them, too.

    What a person wrote or edited is there without a past fact: see `_outdated_episodes`.
    """
    ended = [fact for fact in memory.past if fact.reason in ENDING]
    current = {fact.id: fact for fact in memory.facts} if ended else {}
    following = {fact.id: fact.ended_by for fact in memory.past if fact.ended_by}
    found = defaultdict[str, list[tuple[PastFact | None, Fact | None]]](list)
    for fact in ended:
        successor = current.get(last_of(fact.id, following) or "")
        again = {item.episode for item in successor.evidence} if successor else set[str]()
        for episode in {item.episode for item in fact.evidence} - again - {""}:
            found[episode].append((fact, successor))
    for fact in memory.facts:
        for episode in {item.episode for item in fact.evidence} - {""} if fact.is_manual else ():
            found[episode].append((None, fact))
    return found


def _outdated_episodes(fact: Fact) -> frozenset[str]:
    """Return the episodes with words of the evidence that do not state *fact*, since a person edited it."""
    quotes = ((item.episode, content_terms(item.quote)) for item in fact.evidence)
    return frozenset(episode for episode, said in quotes if not covers(said, content_terms(fact.content)))


@dataclass(frozen=True)
class PastIndex:
    """N past facts with their index, by words alone."""

    facts: Sequence[PastFact]
    documents: Sequence[Document]
    index: LexicalIndex

    def rank(self, query: Query, current: FactIndex, ranking: Ranking) -> Ranking:
        """Order the facts by their similarity to *query*, or that of the current facts that followed them.

        A past fact answers what its successor answers: "Where did I live before?" finds the home of today by its
        words, and by it the one before. Of equals the latest is first.

        Args:
            query: What they are compared with.
            current: The current facts.
            ranking: Their order for *query*.

        Returns:
            The best MAX_PAST_FACTS of those that something finds; if nothing finds any, the latest MAX_UNMATCHED.
        """
        if not self.facts:
            return Ranking([], np.zeros(0), np.zeros(0))
        (own,) = scale_to_best(self.index.scores(query))
        found = {fact.id: score for fact, score in zip(current.facts, ranking.similarity, strict=True)}
        following = {fact.id: fact.ended_by for fact in self.facts if fact.ended_by}
        by_successor = [found.get(last_of(fact.id, following) or "", 0.0) for fact in self.facts]
        scores = np.maximum(own, by_successor)
        latest_first = np.flatnonzero(scores)[::-1]
        if not len(latest_first):
            latest_first = np.arange(len(scores))[: -MAX_UNMATCHED - 1 : -1]
        return Ranking(best_first(latest_first, scores, MAX_PAST_FACTS), scores, scores)

    def line(self, position: int, timezone: str) -> Line | None:
        """Return the line of a fact; None without content."""
        return past_line(self.facts[position], timezone)


def past_index(facts: Sequence[PastFact]) -> PastIndex:
    """Return the index of *facts*: their content and quotes, and the name of the attribute that they state.

    It is not kept: few questions are about the past.
    """
    named = zip(facts, fact_documents(facts), strict=True)
    documents = [
        replace(document, context=(*document.context, fact.slot.replace("_", " "))) if fact.slot else document
        for fact, document in named
    ]
    return PastIndex(facts, documents, LexicalIndex(documents))
