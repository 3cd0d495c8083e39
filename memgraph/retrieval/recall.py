"""recall: what an agent is told about its user."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memgraph.errors import EmbeddingError
from memgraph.models import Fact, Memory, SectionName
from memgraph.retrieval.budget import SUMMARIES_SHARE, fit
from memgraph.retrieval.index_cache import IndexCache
from memgraph.retrieval.query import Query, query_of
from memgraph.retrieval.rankers import ranker_named
from memgraph.retrieval.render import render
from memgraph.retrieval.results import ScoredFact
from memgraph.text.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.fact_index import FactIndex, Ranking
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.render import Summaries


_log = logging.getLogger("memgraph.recall")


class FittedFacts(NamedTuple):
    """What of a memory fits."""

    summaries: Mapping[SectionName, str]
    places: list[int]
    """Of the facts that get in, the best first."""


@dataclass(frozen=True, kw_only=True)
class RecallPipeline:
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

    def __call__(self, memory: Memory, messages: Sequence[MessageLike] = ()) -> str:
        """Return what a prompt is told about the user."""
        indexed, ranking = self.rank(memory.facts, self.query(messages))
        fitted = self.fit(memory, indexed, ranking.order)
        return render(fitted.summaries, [indexed.lines[place] for place in fitted.places])

    def query(self, messages: Sequence[MessageLike]) -> Query:
        """Return what facts are compared with."""
        return query_of(messages, max_context_turns=self.max_context_turns)

    def rank(self, facts: Sequence[Fact], query: Query) -> tuple[FactIndex, Ranking]:
        """Order *facts*; by words alone where the embedding model fails."""
        weights = {"similarity_weight": self.similarity_weight, "confidence_weight": self.confidence_weight}
        try:
            indexed = self.cache.index(facts, ranker=self.ranker, embeddings=self.embeddings)
            return indexed, indexed.rank(query, **weights)
        except EmbeddingError as error:
            _log.error("facts are ranked by words alone: %s", error)
            indexed = self.indexed(facts)
            return indexed, indexed.rank(query, **weights)

    def indexed(self, facts: Sequence[Fact]) -> FactIndex:
        """Return *facts* indexed by words, which never fails."""
        return self.cache.index(facts)

    def fit(self, memory: Memory, indexed: FactIndex, order: Sequence[int]) -> FittedFacts:
        """Choose what of *memory* is said: the summaries, then facts in *order*."""
        summaries = self.cache.summaries(memory, int(self.max_tokens * SUMMARIES_SHARE))
        places = fit(
            order,
            indexed.costs,
            indexed.guaranteed,
            least=indexed.min_cost,
            room=self.max_tokens - summaries.tokens,
            guaranteed=int(self.max_tokens * self.guaranteed_share),
        )
        while self._is_too_long(summaries, indexed, places):
            if not places:
                return FittedFacts({}, [])
            places.pop()
        return FittedFacts(summaries.texts, places)

    def _is_too_long(self, summaries: Summaries, indexed: FactIndex, places: Sequence[int]) -> bool:
        """Count the text as a whole where the tokens of its lines may not add up; else they did when it was filled."""
        if not summaries.may_miscount and indexed.may_miscount.isdisjoint(places):
            return False
        return count_tokens(render(summaries.texts, [indexed.lines[place] for place in places])) > self.max_tokens


class RecallSettings(Protocol):
    """The settings that recall reads; `Settings` has them, among others."""

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
    """Return the recaller that *settings* describe.

    Args:
        settings: What is configured.
        embeddings: In place of the model that `settings.embedding` describes. With one, and no ranker named, words and
            meaning rank together; where it fails, words alone.
        cache: Keeps indexes; default: one of its own.
        max_tokens: In place of max_injection_tokens.

    Raises:
        ConfigError: If there is no ranker of that name, or the embedding is described wrongly.
    """
    if embeddings is None and settings.embedding is not None:
        from memgraph.retrieval.embedding_models import embeddings_of

        embeddings = embeddings_of(settings.embedding)
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
    """Order *facts* by how well they fit *query*, the best first.

        score = (similarity_weight * similarity + confidence_weight * confidence) / (both weights)

    Args:
        facts: N facts in the order of the memory: neighbours from one thread help each other.
        query: A text, or a `Query` that weighs several. Empty: by confidence alone.
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses.
        similarity_weight: How much the similarity to the query counts, from 0.
        confidence_weight: How much the confidence of a fact counts, from 0.
        cache: Keeps the index for the next call over the same facts.

    Returns:
        All N facts. One that was replaced stands below the fact that took its place; of equals the
        newest is first.

    Raises:
        ConfigError: If there is no such ranker.
        EmbeddingError: If "hybrid" has no embedding model, or it does not answer.
    """
    asked = Query.of(query) if isinstance(query, str) else query
    indexed = (IndexCache(1) if cache is None else cache).index(facts, ranker=ranker, embeddings=embeddings)
    ranking = indexed.rank(asked, similarity_weight=similarity_weight, confidence_weight=confidence_weight)
    return [indexed.scored(ranking, place) for place in ranking.order]


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
    """Return what a prompt is told about the user: the summaries, then the facts that fit best.

    Args:
        memory: What is remembered.
        messages: The conversation so far, the oldest first: messages, turns or texts. Without any the
            surest facts come first.
        max_tokens: What the text takes at most, tags and framing counted, in tokens of cl100k_base.
        max_context_turns: Last exchanges that facts are compared with.
        similarity_weight: How much the similarity of a fact to the conversation counts, in [0, 1].
        confidence_weight: How much the confidence of a fact counts, in [0, 1].
        guaranteed_share: Share of the tokens that corrections and preferences are sure of, in [0, 1].
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses. Where it fails, words alone rank, and an error is logged.
        cache: Keeps indexes from call to call; without one each call builds its own.

    Returns:
        One `<memory>` block, in which what users wrote is escaped; "" where nothing is known, or nothing fits.

    Raises:
        ConfigError: If there is no such ranker.
    """
    recaller = RecallPipeline(
        max_tokens=max_tokens,
        max_context_turns=max_context_turns,
        similarity_weight=similarity_weight,
        confidence_weight=confidence_weight,
        guaranteed_share=guaranteed_share,
        ranker=ranker,
        embeddings=embeddings,
        cache=IndexCache(1) if cache is None else cache,
    )
    return recaller(memory, messages)
