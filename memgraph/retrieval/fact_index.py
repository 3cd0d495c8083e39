"""The facts of one memory, indexed by a ranker: their order for a question, and the line of each.

A superseded fact is one that another fact replaced, and that is current in its stead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memgraph.models import Fact
from memgraph.retrieval.documents import NO_THREAD, PRECEDING_WEIGHT, QUOTE_WEIGHT, Document
from memgraph.retrieval.lexical import Scores
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import Index
from memgraph.retrieval.render import CountedLine, TokenCounter, count_lines, fact_lines
from memgraph.retrieval.terms import content_terms

GUARANTEED_CATEGORIES = frozenset({"correction", "preference"})
"""Categories that have a guaranteed share of the budget."""
BYTES_PER_DOCUMENT = 1_000
BYTES_PER_CHARACTER = 20
"""Size of an index by its documents and their texts; measured, and rounded up."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order and the scores of N facts or episodes."""

    order: list[int]
    """Positions, the best first."""
    scores: Scores
    """Shape (N,), in the order of the memory."""
    similarity: Scores
    """Shape (N,), in [0, 1], in the order of the memory."""

    def without(self, positions: AbstractSet[int]) -> Ranking:
        """Return this ranking without some positions in its order."""
        return replace(self, order=[position for position in self.order if position not in positions])


class FactIndex:
    """N facts with their index.

    Args:
        facts: In the order of the memory.
        documents: The facts as they are searched.
        index: What a ranker made of *documents*.
        count: Counts the tokens of their lines.
        timezone: IANA name of the time zone of the days in their lines.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        documents: Sequence[Document],
        index: Index,
        *,
        count: TokenCounter,
        timezone: str = "UTC",
    ) -> None:
        self.facts = tuple(facts)
        self.documents = documents
        self.size = estimate_bytes(documents)
        self._index = index
        self._count = count
        self._timezone = timezone
        self._confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        self.ending = [position for position, fact in enumerate(facts) if fact.valid_until]
        """Positions of the facts that hold until a date, past or to come."""
        self._superseded = resolve_superseded(facts)
        self._lines: dict[int, CountedLine | None] = dict.fromkeys(self._superseded)
        self._terms: dict[int, frozenset[str]] = {}
        newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
        self._order_of_equals = np.array(sorted(newest_first, key=self._superseded.__contains__), dtype=np.int64)

    def expired(self, today: str) -> AbstractSet[int]:
        """Return the positions of the facts that have expired *today*: see `Fact.has_expired`."""
        return {position for position in self.ending if self.facts[position].has_expired(today)}

    def lines(self, positions: Sequence[int]) -> list[CountedLine | None]:
        """Return the lines of facts; None for one that has no content, or is superseded."""
        if missing := [position for position in positions if position not in self._lines]:
            made = fact_lines([self.facts[position] for position in missing], self._timezone)
            self._lines.update(zip(missing, count_lines(made, self._count), strict=True))
        return [self._lines[position] for position in positions]

    @cached_property
    def guaranteed(self) -> frozenset[int]:
        """Positions of corrections and preferences, but for those that only repeat the user's words."""
        return frozenset(
            position
            for position, fact in enumerate(self.facts)
            if fact.effective_category in GUARANTEED_CATEGORIES and not self._repeats_words(position)
        )

    @cached_property
    def learned_from(self) -> Mapping[str, Sequence[int]]:
        """Positions of the facts that were learned from an episode, by its id."""
        learned = dict[str, list[int]]()
        for position, fact in enumerate(self.facts):
            for episode in dict.fromkeys(item.episode for item in fact.evidence):
                learned.setdefault(episode, []).append(position)
        return learned

    def terms(self, position: int) -> frozenset[str]:
        """Return the different terms of the line of a fact."""
        if position not in self._terms:
            self._terms[position] = content_terms(searchable_text(self.facts[position]))
        return self._terms[position]

    def _repeats_words(self, position: int) -> bool:
        quotes = (item.quote for item in self.facts[position].evidence)
        return any(self.terms(position) <= content_terms(quote) for quote in quotes)

    def rank(self, query: Query, *, similarity_weight: float, confidence_weight: float) -> Ranking:
        """Order the facts by their similarity to *query* and their confidence.

            score = (similarity_weight * similarity + confidence_weight * confidence) / (both weights)

        Similarity is scaled to [0, 1] within the memory. A fact answers what the facts it superseded answered, and
        always ranks above them. Of equals the newest is first. Without a query only confidence counts.
        """
        if query:
            similarity = self._similarity(query)
            total = similarity_weight + confidence_weight or 1.0
            scores = (similarity_weight * similarity + confidence_weight * self._confidence) / total
        else:
            similarity, scores = np.zeros(len(self.facts)), self._confidence.copy()
        for old, current in self._superseded.items():
            scores[old] = min(scores[old], scores[current])
        return Ranking(best_first(self._order_of_equals, scores), scores, similarity)

    def matches(self, query: Query) -> NDArray[np.bool_]:
        """Return which facts match *query*, by themselves or by a fact that they superseded."""
        found = self._index.matches(query)
        for old, current in self._superseded.items():
            found[current] |= found[old]
        return found

    def _similarity(self, query: Query) -> Scores:
        scores = self._index.scores(query)
        for old, current in self._superseded.items():
            scores[current] = max(scores[current], scores[old])
        return scale_to_best(scores)


def scale_to_best(scores: Scores) -> Scores:
    """Return *scores* in [0, 1], the best being 1; all 0 if none is above 0."""
    best = scores.max() if len(scores) else 0
    return np.clip(scores / best, 0, 1) if best > 0 else np.zeros(len(scores))


def best_first(positions: NDArray[np.int64], scores: Scores, limit: int | None = None) -> list[int]:
    """Return *positions* by their scores, the highest first; equals stay in order.

    Args:
        positions: N positions.
        scores: By position.
        limit: How many to return at most; default: all.
    """
    if limit is not None and 0 < limit < len(positions):  # sort no more than those, and what equals the last of them
        found = scores[positions]
        positions = positions[found >= np.partition(found, -limit)[-limit]]
    return cast("list[int]", positions[np.argsort(-scores[positions], kind="stable")][:limit].tolist())


def estimate_bytes(documents: Sequence[Document]) -> int:
    """Estimate the bytes of an index of *documents*."""
    characters = sum(len(document.text) + sum(len(text) for text, _ in document.context) for document in documents)
    return len(documents) * BYTES_PER_DOCUMENT + characters * BYTES_PER_CHARACTER


# -- as documents ---------------------------------------------------------------------------------


def fact_documents(facts: Iterable[Fact], preceding: Mapping[str, str]) -> tuple[Document, ...]:
    """Return the documents of *facts*: their content, their quotes and the turns before these.

    Args:
        facts: N facts.
        preceding: The turn before an episode, by the id of the episode.
    """
    return tuple(_fact_document(fact, preceding) for fact in facts)


def _fact_document(fact: Fact, preceding: Mapping[str, str]) -> Document:
    context = [(item.quote, QUOTE_WEIGHT) for item in fact.evidence if item.quote]
    # a turn that two quotes are from counts once
    turns = dict.fromkeys(preceding.get(item.episode, "") for item in fact.evidence)
    context.extend((turn, PRECEDING_WEIGHT) for turn in turns if turn)
    return Document(
        searchable_text(fact),
        tuple(context),
        "" if fact.source in NO_THREAD else fact.source,
        tuple(date for date in (fact.said_at, fact.valid_from, fact.valid_until) if date),
    )


def searchable_text(fact: Fact) -> str:
    """Return the text of *fact*: its content, and what went wrong."""
    return f"{fact.content}\n{fact.source_error}" if fact.source_error else fact.content


# -- superseded facts -----------------------------------------------------------------------------


def resolve_superseded(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the current fact at the end of its chain."""
    replaced_by = find_replacements(facts)
    current = dict[int, int]()
    for old, replacement in replaced_by.items():
        new = replacement
        while new in replaced_by:
            new = replaced_by[new]
        current[old] = new
    return current


def find_replacements(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the fact that replaced it.

    If facts replace each other in a circle, the newest one stays current, so at least one always does.
    """
    positions = {fact.id: position for position, fact in enumerate(facts)}
    newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
    age = {position: rank for rank, position in enumerate(newest_first)}
    replaced_by = dict[int, int]()
    for new in newest_first:
        for fact_id in facts[new].replaces:
            old = positions.get(fact_id, new)
            # an older clock must not bring the replaced fact back, unless that closes a circle
            if old != new and (age[old] > age[new] or new not in replaced_by):
                replaced_by.setdefault(old, new)
    return replaced_by
