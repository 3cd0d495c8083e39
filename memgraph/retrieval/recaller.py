"""Recall in its steps: rank, fit, render. What stays the same from call to call is said once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memgraph.errors import EmbeddingError
from memgraph.models import Fact, Memory, SectionName
from memgraph.retrieval.budget import SUMMARIES_SHARE, fit
from memgraph.retrieval.cache import IndexCache
from memgraph.retrieval.query import Query, query_of
from memgraph.retrieval.rankers import ranker_named
from memgraph.retrieval.render import render
from memgraph.text.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.indexed import IndexedFacts, Ranking
    from memgraph.retrieval.query import Said
    from memgraph.retrieval.summaries import Summaries

_log = logging.getLogger("memgraph.recall")


class Fitted(NamedTuple):
    """What of a memory fits."""

    summaries: Mapping[SectionName, str]
    places: list[int]
    """Of the facts that get in, the best first."""


@dataclass(frozen=True, kw_only=True)
class Recaller:
    """Tells what a prompt should know about a user. The arguments are those of `recall`."""

    max_tokens: int = 2_000
    max_context_turns: int = 3
    similarity_weight: float = 0.6
    confidence_weight: float = 0.4
    guaranteed_share: float = 0.25
    ranker: str | None = None
    embeddings: Embeddings | None = None
    cache: IndexCache = field(default_factory=IndexCache)

    def __post_init__(self) -> None:
        ranker_named(self.ranker)

    def __call__(self, memory: Memory, messages: Sequence[Said] = ()) -> str:
        """Return what a prompt is told about the user."""
        indexed, ranking = self.rank(memory.facts, self.query(messages))
        fitted = self.fit(memory, indexed, ranking.order)
        return render(fitted.summaries, [indexed.lines[place] for place in fitted.places])

    def query(self, messages: Sequence[Said]) -> Query:
        """Return what facts are compared with."""
        return query_of(messages, max_context_turns=self.max_context_turns)

    def rank(self, facts: Sequence[Fact], query: Query) -> tuple[IndexedFacts, Ranking]:
        """Order *facts*; by words alone where the embedding model fails."""
        weights = {"similarity_weight": self.similarity_weight, "confidence_weight": self.confidence_weight}
        try:
            indexed = self.cache.index(facts, ranker=self.ranker, embeddings=self.embeddings)
            return indexed, indexed.rank(query, **weights)
        except EmbeddingError as error:
            _log.error("facts are ranked by words alone: %s", error)
            indexed = self.indexed(facts)
            return indexed, indexed.rank(query, **weights)

    def indexed(self, facts: Sequence[Fact]) -> IndexedFacts:
        """Return *facts* indexed by words, which never fails."""
        return self.cache.index(facts)

    def fit(self, memory: Memory, indexed: IndexedFacts, order: Sequence[int]) -> Fitted:
        """Choose what of *memory* is said: the summaries, then facts in *order*."""
        summaries = self.cache.summaries(memory, int(self.max_tokens * SUMMARIES_SHARE))
        places = fit(
            order,
            indexed.costs,
            indexed.favoured,
            least=indexed.least,
            room=self.max_tokens - summaries.tokens,
            guaranteed=int(self.max_tokens * self.guaranteed_share),
        )
        while self._is_too_long(summaries, indexed, places):
            if not places:
                return Fitted({}, [])
            places.pop()
        return Fitted(summaries.texts, places)

    def _is_too_long(self, summaries: Summaries, indexed: IndexedFacts, places: Sequence[int]) -> bool:
        """Count the text as a whole where the tokens of its lines may not add up; else they did when it was filled."""
        if not summaries.unbroken and indexed.unbroken.isdisjoint(places):
            return False
        return count_tokens(render(summaries.texts, [indexed.lines[place] for place in places])) > self.max_tokens
