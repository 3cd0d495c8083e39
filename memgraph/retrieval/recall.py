"""recall: what an agent is told about its user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memgraph.models import Memory
from memgraph.retrieval.cache import IndexCache
from memgraph.retrieval.recaller import Recaller

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.query import Said


def recall(
    memory: Memory,
    messages: Sequence[Said] = (),
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
    recaller = Recaller(
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
