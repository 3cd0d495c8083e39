"""recall: the memory text for a prompt, in one call; the ranking of facts; and the pipeline that settings describe."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memgraph._validation import check_arguments
from memgraph.models import Episode, Fact, MemoryDocument
from memgraph.retrieval.embedding_config import chosen_embeddings
from memgraph.retrieval.index_cache import IndexCache, IndexOptions
from memgraph.retrieval.memory_index import scale_to_best
from memgraph.retrieval.pipeline import MIN_SIMILARITY, RecallPipeline, WaitsFor
from memgraph.retrieval.query import Query, build_query
from memgraph.retrieval.results import ScoredFact

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.vector_store import VectorStore
    from memgraph.settings import Settings


@check_arguments
def make_recall_pipeline(
    settings: Settings,
    *,
    embeddings: Embeddings | None = None,
    cache: IndexCache | None = None,
    max_tokens: int | None = None,
    waits_for: WaitsFor = "model",
) -> RecallPipeline:
    """Return the pipeline that *settings* describe.

    Args:
        settings: The configuration.
        embeddings: Overrides `settings.embedding`. With a model and without a ranker the ranker is "hybrid"; if the
            model fails, facts are ranked by words alone.
        cache: Keeps indexes; default: a new one.
        max_tokens: Overrides `settings.max_injection_tokens`.
        waits_for: See `RecallPipeline`.

    Raises:
        ConfigError: If the ranker is unknown, or the embedding configuration is invalid.
    """
    if embeddings is None:
        embeddings = chosen_embeddings(settings.embedding)
    return RecallPipeline(
        max_tokens=max_tokens or settings.max_injection_tokens,
        max_context_turns=settings.max_context_turns,
        similarity_weight=settings.similarity_weight,
        confidence_weight=settings.confidence_weight,
        guaranteed_share=settings.guaranteed_share,
        timezone=settings.timezone,
        ranker=settings.ranker or ("hybrid" if embeddings is not None else None),
        embeddings=embeddings,
        waits_for=waits_for,
        cache=IndexCache() if cache is None else cache,
    )


@check_arguments
def rank_facts(
    facts: Sequence[Fact],
    query: str | Query,
    *,
    ranker: str | None = None,
    embeddings: Embeddings | None = None,
    similarity_weight: float = 1.0,
    confidence_weight: float = 0.0,
    matching: bool = False,
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
        matching: Whether to return only facts that answer *query*, as `RecallPipeline.search` does. A blank query
            matches all.
        cache: Keeps the index for the next call over the same facts.

    Returns:
        The facts. A superseded fact ranks below the one that replaced it; of equals the newest is first.

    Raises:
        ConfigError: If the ranker is unknown.
        EmbeddingError: If "hybrid" has no embedding model, or it fails.
    """
    if isinstance(query, str):
        query = build_query(query)
    query = query.model_copy(update={"alone": matching})
    cache = IndexCache(1) if cache is None else cache
    index = cache.facts(facts, IndexOptions(ranker, embeddings))
    (similarity,) = scale_to_best(index.relevance(query))
    ranking = index.rank(similarity, similarity_weight=similarity_weight, confidence_weight=confidence_weight)
    cutoff = (MIN_SIMILARITY if index.index.answered(query) else 1.0) if matching and query else -1.0
    return [
        ScoredFact(
            fact=facts[position],
            position=position,
            score=float(ranking.scores[position]),
            similarity=float(ranking.similarity[position]),
        )
        for position in ranking.order
        if ranking.similarity[position] > cutoff
    ]


@check_arguments
def recall(
    memory: MemoryDocument,
    messages: str | Sequence[MessageLike] = (),
    *,
    episodes: Sequence[Episode] = (),
    max_tokens: int = 2_000,
    max_context_turns: int = 3,
    similarity_weight: float = 0.9,
    confidence_weight: float = 0.1,
    guaranteed_share: float = 0.25,
    ranker: str | None = None,
    embeddings: Embeddings | None = None,
    timezone: str = "UTC",
    vectors: VectorStore | None = None,
    cache: IndexCache | None = None,
    now: datetime | None = None,
) -> str:
    """Return the memory text for a prompt: the summaries, then facts and episodes that match the conversation best.

    Args:
        memory: The memory of the user.
        messages: The question, or the conversation so far, the oldest first: messages, turns or texts. Without any,
            facts are ranked by confidence.
        episodes: What the user said, the oldest first: `storage.episodes(scope)`.
        max_tokens: Maximum size of the text, tags and framing included, in tokens of cl100k_base.
        max_context_turns: How many of the last exchanges facts and episodes are compared with.
        similarity_weight: Weight of the similarity of a fact to the conversation, in [0, 1].
        confidence_weight: Weight of the confidence of a fact, in [0, 1].
        guaranteed_share: Share of the tokens reserved for corrections and preferences, in [0, 1].
        ranker: "lexical" (the default), "tfidf" or "hybrid".
        embeddings: The model that "hybrid" uses. If it fails, memory is ranked by words alone and an error is logged.
        timezone: IANA name of the user's time zone, in which days are shown.
        vectors: Keeps the vectors of *embeddings* beyond this process: `storage.vectors(scope)`.
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
        ranker=ranker,
        embeddings=embeddings,
        timezone=timezone,
        cache=IndexCache(1) if cache is None else cache,
    )
    return pipeline(memory, messages, episodes=episodes, vectors=vectors, now=now)
