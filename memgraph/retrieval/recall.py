"""recall: the memory text for a prompt, as one pipeline of query, ranking, budget and rendering."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memgraph.errors import EmbeddingError
from memgraph.models import Fact, Memory, SectionName
from memgraph.retrieval.budget import SUMMARIES_SHARE, fit
from memgraph.retrieval.fact_index import IndexCache, get_ranker
from memgraph.retrieval.query import Query, build_query
from memgraph.retrieval.render import FACTS_HEADING, render
from memgraph.retrieval.results import ScoredFact
from memgraph.text.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.fact_index import FactIndex, Ranking
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.render import Summaries


_log = logging.getLogger("memgraph.recall")


class FittedMemory(NamedTuple):
    """What of a memory fits the budget."""

    summaries: Mapping[SectionName, str]
    positions: list[int]
    """Of the facts, the best first."""


@dataclass(frozen=True, kw_only=True)
class RecallPipeline:
    """Recall with fixed options, which are those of `recall`."""

    max_tokens: int = 2_000
    max_context_turns: int = 3
    similarity_weight: float = 0.6
    confidence_weight: float = 0.4
    guaranteed_share: float = 0.25
    ranker: str | None = None
    embeddings: Embeddings | None = None
    cache: IndexCache = field(default_factory=IndexCache)

    def __post_init__(self) -> None:
        get_ranker(self.ranker)

    def __call__(self, memory: Memory, messages: Sequence[MessageLike] = ()) -> str:
        """Return the memory text for a prompt."""
        index, ranking = self.rank(memory.facts, self.query(messages))
        fitted = self.fit(memory, index, ranking.order)
        return render(fitted.summaries, [index.lines[position] for position in fitted.positions])

    def query(self, messages: Sequence[MessageLike]) -> Query:
        """Return the query of a conversation."""
        return build_query(messages, max_context_turns=self.max_context_turns)

    def rank(self, facts: Sequence[Fact], query: Query) -> tuple[FactIndex, Ranking]:
        """Order *facts* by *query*; by words alone if the embedding model fails."""
        weights = {"similarity_weight": self.similarity_weight, "confidence_weight": self.confidence_weight}
        try:
            index = self.cache.index(facts, ranker=self.ranker, embeddings=self.embeddings)
            return index, index.rank(query, **weights)
        except EmbeddingError as error:
            _log.error("facts are ranked by words alone: %s", error)
            index = self.lexical_index(facts)
            return index, index.rank(query, **weights)

    def lexical_index(self, facts: Sequence[Fact]) -> FactIndex:
        """Return *facts* indexed by words, which never fails."""
        return self.cache.index(facts)

    def fit(self, memory: Memory, index: FactIndex, order: Sequence[int]) -> FittedMemory:
        """Select what fits the budget: the summaries, then facts in *order*."""
        summaries = self.cache.summaries(memory, int(self.max_tokens * SUMMARIES_SHARE))
        positions = fit(
            order,
            index.costs,
            index.guaranteed,
            min_cost=index.min_cost,
            max_tokens=self.max_tokens - summaries.tokens - count_tokens(FACTS_HEADING),
            guaranteed_tokens=int(self.max_tokens * self.guaranteed_share),
        )
        while positions and self._is_too_long(summaries, index, positions):
            positions.pop()
        return FittedMemory(summaries.texts, positions)

    def _is_too_long(self, summaries: Summaries, index: FactIndex, positions: Sequence[int]) -> bool:
        """Recount the rendered text if the tokens of its lines may not add up; else the budget holds already."""
        if not summaries.may_miscount and index.may_miscount.isdisjoint(positions):
            return False
        return (
            count_tokens(render(summaries.texts, [index.lines[position] for position in positions])) > self.max_tokens
        )


class RecallSettings(Protocol):
    """The part of `Settings` that recall reads."""

    @property
    def max_injection_tokens(self) -> int: ...
    @property
    def max_context_turns(self) -> int: ...
    @property
    def similarity_weight(self) -> float: ...
    @property
    def confidence_weight(self) -> float: ...
    @property
    def guaranteed_share(self) -> float: ...
    @property
    def ranker(self) -> str | None: ...
    @property
    def embedding(self) -> str | Mapping[str, Any] | None: ...


def make_recall_pipeline(
    settings: RecallSettings,
    *,
    embeddings: Embeddings | None = None,
    cache: IndexCache | None = None,
    max_tokens: int | None = None,
) -> RecallPipeline:
    """Return the pipeline that *settings* describe.

    Args:
        settings: The configuration.
        embeddings: Overrides `settings.embedding`. With a model and without a ranker the ranker is "hybrid"; if the
            model fails, facts are ranked by words alone.
        cache: Keeps indexes; default: a new one.
        max_tokens: Overrides `settings.max_injection_tokens`.

    Raises:
        ConfigError: If the ranker is unknown, or the embedding configuration is invalid.
    """
    if embeddings is None and settings.embedding is not None:
        from memgraph.retrieval.embedding_models import make_embeddings

        embeddings = make_embeddings(settings.embedding)
    return RecallPipeline(
        max_tokens=max_tokens or settings.max_injection_tokens,
        max_context_turns=settings.max_context_turns,
        similarity_weight=settings.similarity_weight,
        confidence_weight=settings.confidence_weight,
        guaranteed_share=settings.guaranteed_share,
        ranker=settings.ranker or ("hybrid" if embeddings is not None else None),
        embeddings=embeddings,
        cache=IndexCache() if cache is None else cache,
    )


def rank_facts(
    facts: Sequence[Fact],
    query: str | Query,
    *,
    ranker: str | None = None,
    embeddings: Embeddings | None = None,
    similarity_weight: float = 1.0,
    confidence_weight: float = 0.0,
    cache: IndexCache | None = None,
) -> list[ScoredFact]:
    """Order *facts* by how well they match *query*, the best first.

        score = (similarity_weight * similarity + confidence_weight * confidence) / (both weights)

    Args:
        facts: N facts in the order of the memory: neighbours from one thread support each other.
        query: A text, or a `Query` of several with their weights. Empty: by confidence alone.
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses.
        similarity_weight: Weight of the similarity to the query, from 0.
        confidence_weight: Weight of the confidence of a fact, from 0.
        cache: Keeps the index for the next call over the same facts.

    Returns:
        All N facts. A superseded fact ranks below the one that replaced it; of equals the newest is first.

    Raises:
        ConfigError: If the ranker is unknown.
        EmbeddingError: If "hybrid" has no embedding model, or it fails.
    """
    if isinstance(query, str):
        query = Query.from_text(query)
    index = (IndexCache(1) if cache is None else cache).index(facts, ranker=ranker, embeddings=embeddings)
    ranking = index.rank(query, similarity_weight=similarity_weight, confidence_weight=confidence_weight)
    return [index.scored_fact(ranking, position) for position in ranking.order]


def recall(
    memory: Memory,
    messages: Sequence[MessageLike] = (),
    *,
    max_tokens: int = 2_000,
    max_context_turns: int = 3,
    similarity_weight: float = 0.6,
    confidence_weight: float = 0.4,
    guaranteed_share: float = 0.25,
    ranker: str | None = None,
    embeddings: Embeddings | None = None,
    cache: IndexCache | None = None,
) -> str:
    """Return the memory text for a prompt: the summaries, then the facts that match the conversation best.

    Args:
        memory: The memory of the user.
        messages: The conversation so far, the oldest first: messages, turns or texts. Without any, facts are ranked
            by confidence.
        max_tokens: Maximum size of the text, tags and framing included, in tokens of cl100k_base.
        max_context_turns: How many of the last exchanges facts are compared with.
        similarity_weight: Weight of the similarity of a fact to the conversation, in [0, 1].
        confidence_weight: Weight of the confidence of a fact, in [0, 1].
        guaranteed_share: Share of the tokens reserved for corrections and preferences, in [0, 1].
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses. If it fails, facts are ranked by words alone and an error is logged.
        cache: Keeps indexes between calls; without one each call builds its own.

    Returns:
        One `<memory>` block in which user text is escaped; "" if the memory is empty, or nothing fits.

    Raises:
        ConfigError: If the ranker is unknown.
    """
    pipeline = RecallPipeline(
        max_tokens=max_tokens,
        max_context_turns=max_context_turns,
        similarity_weight=similarity_weight,
        confidence_weight=confidence_weight,
        guaranteed_share=guaranteed_share,
        ranker=ranker,
        embeddings=embeddings,
        cache=IndexCache(1) if cache is None else cache,
    )
    return pipeline(memory, messages)
