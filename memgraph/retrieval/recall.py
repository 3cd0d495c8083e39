"""recall: the memory text for a prompt, as one pipeline of query, ranking, budget and rendering."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import Episode, Fact, Memory, SectionName
from memgraph.retrieval.budget import SUMMARIES_SHARE, Candidates, Shares, fit
from memgraph.retrieval.index_cache import IndexCache, IndexOptions
from memgraph.retrieval.lexical import matched_words
from memgraph.retrieval.lines import may_miscount
from memgraph.retrieval.query import Query, build_query
from memgraph.retrieval.rankers import get_ranker
from memgraph.retrieval.render import render
from memgraph.retrieval.results import RecallResult, ScoredEpisode, ScoredFact, Selection
from memgraph.text.dates import check_timezone, local_day
from memgraph.text.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.episode_index import EpisodeIndex
    from memgraph.retrieval.fact_index import FactIndex, Ranking
    from memgraph.retrieval.lines import Line
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.render import Summaries
    from memgraph.retrieval.vector_store import VectorStore


_log = logging.getLogger("memgraph.recall")


class RankedMemory(NamedTuple):
    """A memory ordered by a query."""

    facts: FactIndex
    fact_ranking: Ranking
    episodes: EpisodeIndex
    episode_ranking: Ranking

    def sources_of(self, positions: Iterable[int]) -> set[int]:
        """Return the positions of the episodes that the facts at *positions* were learned from."""
        known, facts = self.episodes.positions, self.facts.facts
        evidence = (item.episode for position in positions for item in facts[position].evidence)
        return {known[episode] for episode in evidence if episode in known}


class FittedMemory(NamedTuple):
    """What of a memory fits the budget."""

    summaries: Mapping[SectionName, str]
    facts: list[int]
    """Positions, the best first."""
    episodes: list[int]
    """Positions, the best first."""


@dataclass(frozen=True, kw_only=True)
class RecallPipeline:
    """Recall with fixed options, which are those of `recall`."""

    max_tokens: int = 2_000
    max_context_turns: int = 3
    similarity_weight: float = 0.9
    confidence_weight: float = 0.1
    guaranteed_share: float = 0.25
    episode_share: float = 0.4
    ranker: str | None = None
    embeddings: Embeddings | None = None
    embedding_seconds: float | None = None
    """Time limit of embedding new facts, and of episodes; None sets none. What is left is ranked by words, and is
    embedded by later calls."""
    timezone: str = "UTC"
    cache: IndexCache = field(default_factory=IndexCache)

    def __post_init__(self) -> None:
        get_ranker(self.ranker)
        try:
            check_timezone(self.timezone)
        except ValueError as error:
            raise ConfigError(f"timezone: {error}") from error

    def __call__(
        self,
        memory: Memory,
        messages: Sequence[MessageLike] = (),
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        now: datetime | None = None,
    ) -> str:
        """Return the memory text for a prompt."""
        today = self.today(now)
        ranked = self.rank(memory.facts, episodes, self.query(messages, today), vectors=vectors)
        return self.render(ranked, self.fit(memory, ranked), today)

    def recall(
        self,
        memory: Memory,
        messages: Sequence[MessageLike] = (),
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        now: datetime | None = None,
    ) -> RecallResult:
        """Return the memory text for a prompt, and why each fact and episode is in it."""
        today = self.today(now)
        query = self.query(messages, today)
        ranked = self.rank(memory.facts, episodes, query, vectors=vectors)
        fitted = self.fit(memory, ranked)
        text = self.render(ranked, fitted, today)
        selection = self.explain(ranked, fitted, query, today)
        return RecallResult(text=text, tokens=count_tokens(text), facts=selection.facts, episodes=selection.episodes)

    def search(
        self,
        memory: Memory,
        query: str,
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        limit: int = 10,
    ) -> list[ScoredFact | ScoredEpisode]:
        """Return the facts and episodes that match *query*, the best first, at most *limit* of them."""
        today = self.today()
        asked = self.query([query], today)
        ranked = self.rank(memory.facts, episodes, asked, vectors=vectors)
        matching = (
            [position for position in ranking.order if ranking.similarity[position] > 0][:limit]
            for ranking in (ranked.fact_ranking, ranked.episode_ranking)
        )
        found = self.explain(ranked, FittedMemory({}, *matching), asked, today)
        return sorted((*found.facts, *found.episodes), key=lambda item: -item.score)[:limit]

    def query(self, messages: Sequence[MessageLike], today: date | None = None) -> Query:
        """Return the query of a conversation whose last message is written *today*; default: the current day."""
        return build_query(messages, max_context_turns=self.max_context_turns, today=today or self.today())

    def today(self, now: datetime | None = None) -> date:
        """Return the user's day."""
        moment = now or datetime.now(UTC)
        return local_day(moment, self.timezone) or moment.date()

    def rank(
        self, facts: Sequence[Fact], episodes: Sequence[Episode], query: Query, *, vectors: VectorStore | None = None
    ) -> RankedMemory:
        """Order *facts* and *episodes* by *query*; by words alone if the embedding model fails.

        Args:
            facts: In the order of the memory.
            episodes: The oldest first.
            query: What they are compared with.
            vectors: Keeps their vectors beyond this process: `storage.vectors(scope)`.
        """
        options = IndexOptions(self.ranker, self.embeddings, self.timezone, vectors, self.embedding_seconds)
        try:
            indexed = self.cache.episodes(episodes, options)
            ranked = self._rank(self.cache.facts(facts, indexed, options), indexed, query)
        except EmbeddingError as error:
            _log.error("memory is ranked by words alone: %s", error)
            return self._rank(*self.lexical_indexes(facts, episodes), query)
        self.cache.prune_vectors(ranked.facts, ranked.episodes, options)
        return ranked

    def lexical_indexes(self, facts: Sequence[Fact], episodes: Sequence[Episode]) -> tuple[FactIndex, EpisodeIndex]:
        """Return *facts* and *episodes* indexed by words, which never fails."""
        options = IndexOptions(timezone=self.timezone)
        indexed = self.cache.episodes(episodes, options)
        return self.cache.facts(facts, indexed, options), indexed

    def _rank(self, facts: FactIndex, episodes: EpisodeIndex, query: Query) -> RankedMemory:
        ranking = facts.rank(query, similarity_weight=self.similarity_weight, confidence_weight=self.confidence_weight)
        return RankedMemory(facts, ranking, episodes, episodes.rank(query))

    def fit(self, memory: Memory, ranked: RankedMemory) -> FittedMemory:
        """Select what fits the budget: the summaries, then facts and episodes in their order."""
        summaries = self.cache.summaries(memory, int(self.max_tokens * SUMMARIES_SHARE))
        facts, episodes = fit(
            Candidates(ranked.fact_ranking.order, ranked.facts.lines),
            Candidates(ranked.episode_ranking.order, ranked.episodes.lines),
            guaranteed=ranked.facts.guaranteed,
            sources_of=ranked.sources_of,
            shares=Shares(
                tokens=self.max_tokens - summaries.tokens,
                guaranteed=int(self.max_tokens * self.guaranteed_share),
                episodes=self.episode_share,
            ),
            count=self.cache.count_tokens,
        )
        fitted = FittedMemory(summaries.texts, facts, episodes)
        while self._is_too_long(summaries, ranked, fitted):
            (fitted.episodes or fitted.facts).pop()
        return fitted

    def _is_too_long(self, summaries: Summaries, ranked: RankedMemory, fitted: FittedMemory) -> bool:
        """Recount the rendered text if the tokens of its lines may not add up; else the budget holds already."""
        if not (fitted.facts or fitted.episodes):
            return False
        if not summaries.may_miscount and not may_miscount(self._lines(ranked, fitted)):
            return False
        return count_tokens(self.render(ranked, fitted, self.today())) > self.max_tokens

    def explain(self, ranked: RankedMemory, fitted: FittedMemory, query: Query, today: date) -> Selection:
        """Return what fits, and how it was found."""
        facts, episodes = ranked.facts, ranked.episodes
        fact_words = matched_words(query, [facts.documents[position] for position in fitted.facts])
        episode_words = matched_words(query, [episodes.documents[position] for position in fitted.episodes])
        return Selection(
            summaries=fitted.summaries,
            facts=tuple(
                ScoredFact(
                    fact=facts.facts[position],
                    position=position,
                    score=float(ranked.fact_ranking.scores[position]),
                    similarity=float(ranked.fact_ranking.similarity[position]),
                    matched=words,
                )
                for position, words in zip(fitted.facts, fact_words, strict=True)
            ),
            episodes=tuple(
                ScoredEpisode(
                    episode=episodes.episodes[position],
                    position=position,
                    score=float(ranked.episode_ranking.scores[position]),
                    similarity=float(ranked.episode_ranking.similarity[position]),
                    matched=words,
                )
                for position, words in zip(fitted.episodes, episode_words, strict=True)
            ),
            today=today.isoformat(),
        )

    def render(self, ranked: RankedMemory, fitted: FittedMemory, today: date) -> str:
        """Return the block that goes into a prompt."""
        return render(fitted.summaries, self._lines(ranked, fitted), today=today.isoformat())

    def _lines(self, ranked: RankedMemory, fitted: FittedMemory) -> list[Line]:
        """Return the lines that fit, in the order of the memory."""
        lines = (*ranked.facts.lines(sorted(fitted.facts)), *ranked.episodes.lines(sorted(fitted.episodes)))
        return [line for line in lines if line is not None]


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
    def episode_share(self) -> float: ...
    @property
    def timezone(self) -> str: ...
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
    embedding_seconds: float | None = None,
) -> RecallPipeline:
    """Return the pipeline that *settings* describe.

    Args:
        settings: The configuration.
        embeddings: Overrides `settings.embedding`. With a model and without a ranker the ranker is "hybrid"; if the
            model fails, facts are ranked by words alone.
        cache: Keeps indexes; default: a new one.
        max_tokens: Overrides `settings.max_injection_tokens`.
        embedding_seconds: See `RecallPipeline`.

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
        episode_share=settings.episode_share,
        timezone=settings.timezone,
        ranker=settings.ranker or ("hybrid" if embeddings is not None else None),
        embeddings=embeddings,
        embedding_seconds=embedding_seconds,
        cache=IndexCache() if cache is None else cache,
    )


def rank_facts(
    facts: Sequence[Fact],
    query: str | Query,
    *,
    episodes: Sequence[Episode] = (),
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
        episodes: What the user said, the oldest first. A fact is also found by the turn before its quotes.
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
    cache = IndexCache(1) if cache is None else cache
    # episodes are only read for the turns before, so no embedding is made of them
    index = cache.facts(facts, cache.episodes(episodes), IndexOptions(ranker, embeddings))
    ranking = index.rank(query, similarity_weight=similarity_weight, confidence_weight=confidence_weight)
    return [
        ScoredFact(
            fact=facts[position],
            position=position,
            score=float(ranking.scores[position]),
            similarity=float(ranking.similarity[position]),
        )
        for position in ranking.order
    ]


def recall(
    memory: Memory,
    messages: Sequence[MessageLike] = (),
    *,
    episodes: Sequence[Episode] = (),
    max_tokens: int = 2_000,
    max_context_turns: int = 3,
    similarity_weight: float = 0.9,
    confidence_weight: float = 0.1,
    guaranteed_share: float = 0.25,
    episode_share: float = 0.4,
    ranker: str | None = None,
    embeddings: Embeddings | None = None,
    timezone: str = "UTC",
    cache: IndexCache | None = None,
    now: datetime | None = None,
) -> str:
    """Return the memory text for a prompt: the summaries, then facts and episodes that match the conversation best.

    Args:
        memory: The memory of the user.
        messages: The conversation so far, the oldest first: messages, turns or texts. Without any, facts are ranked
            by confidence.
        episodes: What the user said, the oldest first: `storage.episodes(scope)`.
        max_tokens: Maximum size of the text, tags and framing included, in tokens of cl100k_base.
        max_context_turns: How many of the last exchanges facts and episodes are compared with.
        similarity_weight: Weight of the similarity of a fact to the conversation, in [0, 1].
        confidence_weight: Weight of the confidence of a fact, in [0, 1].
        guaranteed_share: Share of the tokens reserved for corrections and preferences, in [0, 1].
        episode_share: Share of the rest that episodes have if there are more facts than fit, in [0, 1].
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses. If it fails, memory is ranked by words alone and an error is logged.
        timezone: IANA name of the user's time zone, in which days are shown.
        cache: Keeps indexes between calls; without one each call builds its own.
        now: The current time; default: that of the system.

    Returns:
        One `<memory>` block in which user text is escaped; "" if the memory is empty, or nothing fits.

    Raises:
        ConfigError: If the ranker or the time zone is unknown.
    """
    pipeline = RecallPipeline(
        max_tokens=max_tokens,
        max_context_turns=max_context_turns,
        similarity_weight=similarity_weight,
        confidence_weight=confidence_weight,
        guaranteed_share=guaranteed_share,
        episode_share=episode_share,
        ranker=ranker,
        embeddings=embeddings,
        timezone=timezone,
        cache=IndexCache(1) if cache is None else cache,
    )
    return pipeline(memory, messages, episodes=episodes, now=now)
