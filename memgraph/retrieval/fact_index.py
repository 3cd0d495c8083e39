"""The facts of one memory, indexed by a ranker: their order for a question, and the line of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from memgraph.models import Fact
from memgraph.retrieval.documents import Document
from memgraph.retrieval.lexical import Scores
from memgraph.retrieval.lines import Line, fact_lines
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import Index
from memgraph.retrieval.supersession import resolve_superseded

GUARANTEED_CATEGORIES = frozenset({"correction", "preference"})
"""Categories that have a guaranteed share of the budget."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order and the scores of N facts or episodes."""

    order: list[int]
    """Positions, the best first."""
    scores: Scores
    """Shape (N,), in the order of the memory."""
    similarity: Scores
    """Shape (N,), in [0, 1], in the order of the memory."""


class FactIndex:
    """N facts with their index.

    Args:
        facts: In the order of the memory.
        documents: The facts as they are searched.
        index: What a ranker made of *documents*.
        timezone: IANA name of the time zone of the days in their lines.
    """

    def __init__(
        self, facts: Sequence[Fact], documents: Sequence[Document], index: Index, *, timezone: str = "UTC"
    ) -> None:
        self.facts = tuple(facts)
        self.documents = documents
        self._index = index
        self._timezone = timezone
        self._confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        self._superseded = resolve_superseded(facts)
        self._lines: dict[int, Line | None] = dict.fromkeys(self._superseded)
        newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
        self._age = np.empty(len(facts), dtype=np.int64)
        self._age[newest_first] = np.arange(len(facts))

    def lines(self, positions: Sequence[int]) -> list[Line | None]:
        """Return the lines of facts; None for one that has no content, or is superseded."""
        if missing := [position for position in positions if position not in self._lines]:
            made = fact_lines([self.facts[position] for position in missing], self._timezone)
            self._lines.update(zip(missing, made, strict=True))
        return [self._lines[position] for position in positions]

    @cached_property
    def guaranteed(self) -> frozenset[int]:
        """Positions of corrections and preferences."""
        return frozenset(
            position for position, fact in enumerate(self.facts) if fact.effective_category in GUARANTEED_CATEGORIES
        )

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
        is_superseded = np.zeros(len(self.facts), dtype=bool)
        for old, current in self._superseded.items():
            scores[old], is_superseded[old] = min(scores[old], scores[current]), True
        order = cast("list[int]", np.lexsort((self._age, is_superseded, -scores)).tolist())
        return Ranking(order, scores, similarity)

    def _similarity(self, query: Query) -> Scores:
        scores = self._index.scores(query)
        for old, current in self._superseded.items():
            scores[current] = max(scores[current], scores[old])
        return scale_to_best(scores)


def scale_to_best(scores: Scores) -> Scores:
    """Return *scores* in [0, 1], the best being 1; all 0 if none is above 0."""
    best = scores.max() if len(scores) else 0
    return np.clip(scores / best, 0, 1) if best > 0 else np.zeros(len(scores))
