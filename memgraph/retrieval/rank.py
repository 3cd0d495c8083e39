"""Facts in the order in which they fit a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memgraph.models import Fact
from memgraph.retrieval.cache import IndexCache
from memgraph.retrieval.query import Query
from memgraph.retrieval.scored import ScoredFact

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


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
