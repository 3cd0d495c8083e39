"""Which facts are no longer current, since another took their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from memgraph.models import Fact
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import Scores
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import Ranker
from memgraph.retrieval.render import fact_line, is_unbroken
from memgraph.retrieval.results import ScoredFact
from memgraph.text.tokens import count_tokens


def replacements(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the place of each replaced fact, the place of the one that took its place.

    The newest fact wins where facts replace each other in a circle, so one of them always stays.
    """
    places = {fact.id: place for place, fact in enumerate(facts)}
    newest_first = sorted(range(len(facts)), key=lambda place: facts[place].created_at, reverse=True)
    age = {place: rank for rank, place in enumerate(newest_first)}
    taken = dict[int, int]()
    for new in newest_first:
        for fact_id in facts[new].replaces:
            old = places.get(fact_id, new)
            if old != new and (age[old] > age[new] or new not in taken):
                taken.setdefault(old, new)
    return taken


def resolve_superseded(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the place of each replaced fact, the place of the fact that is current in its stead."""
    taken = replacements(facts)
    current = dict[int, int]()
    for old, new in taken.items():
        while new in taken:
            new = taken[new]  # noqa: PLW2901 - from one to the next, to the end
        current[old] = new
    return current


FAVOURED = frozenset({"correction", "preference"})
"""Categories that have a guaranteed share of the budget."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where N facts stand."""

    order: list[int]
    """Places of the facts, the best first."""
    scores: Scores
    """Shape (N,), in the order of the memory."""
    similarity: Scores
    """The same, in [0, 1]."""


class FactIndex:
    """N facts with their index, and what each costs.

    Args:
        facts: In the order of the memory.
        ranker: Builds the index.
        vectors: The embedding, for a ranker that wants one.
    """

    def __init__(self, facts: Sequence[Fact], ranker: Ranker, vectors: EmbeddingCache | None = None) -> None:
        self.facts = tuple(facts)
        self._index = ranker(self.facts, vectors)
        self._confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        self._current = resolve_superseded(facts)
        newest_first = np.array(sorted(range(len(facts)), key=lambda place: facts[place].created_at, reverse=True))
        self._age = np.empty(len(facts), dtype=np.int64)
        self._age[newest_first.astype(np.int64)] = np.arange(len(facts))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The line of each fact."""
        return tuple(map(fact_line, self.facts))

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """The tokens of each line, counted once; infinite for facts that say nothing, or are no longer current."""
        return tuple(
            count_tokens(line) if line and place not in self._current else math.inf
            for place, line in enumerate(self.lines)
        )

    @cached_property
    def min_cost(self) -> float:
        """The tokens of the shortest line; infinite where there is none."""
        return min(self.costs, default=math.inf)

    @cached_property
    def may_miscount(self) -> frozenset[int]:
        """Places of the facts whose line may take another number of tokens beside other lines."""
        return frozenset(place for place, line in enumerate(self.lines) if is_unbroken(line))

    @cached_property
    def guaranteed(self) -> frozenset[int]:
        """Places of corrections and preferences."""
        return frozenset(place for place, fact in enumerate(self.facts) if fact.effective_category in FAVOURED)

    def rank(self, query: Query, *, similarity_weight: float, confidence_weight: float) -> Ranking:
        """Order the facts by what *query* asks, and how sure they are.

            score = (similarity_weight * similarity + confidence_weight * confidence) / (both weights)

        Similarity is scaled to [0, 1] within the memory. A fact answers what the one it replaced answered,
        and always stands above it. Of equals the newest is first. Without a query only confidence counts.
        """
        if query:
            similarity = self._similarity(query)
            total = similarity_weight + confidence_weight or 1.0
            scores = (similarity_weight * similarity + confidence_weight * self._confidence) / total
        else:
            similarity, scores = np.zeros(len(self.facts)), self._confidence.copy()
        replaced = np.zeros(len(self.facts), dtype=bool)
        for old, new in self._current.items():
            scores[old], replaced[old] = min(scores[old], scores[new]), True
        order = cast("list[int]", np.lexsort((self._age, replaced, -scores)).tolist())
        return Ranking(order, scores, similarity)

    def scored(self, ranking: Ranking, place: int) -> ScoredFact:
        """Return the fact at *place* with what it was ranked by."""
        return ScoredFact(
            fact=self.facts[place], score=float(ranking.scores[place]), similarity=float(ranking.similarity[place])
        )

    def _similarity(self, query: Query) -> Scores:
        scores = self._index.scores(query)
        for old, new in self._current.items():
            scores[new] = max(scores[new], scores[old])
        best = scores.max() if len(scores) else 0
        return np.clip(scores / best, 0, 1) if best > 0 else np.zeros(len(scores))
