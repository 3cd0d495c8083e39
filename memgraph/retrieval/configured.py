"""A recaller as the settings want it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from memgraph.retrieval.cache import IndexCache
from memgraph.retrieval.recaller import Recaller

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


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


def recaller_of(
    settings: RecallSettings,
    *,
    embeddings: Embeddings | None = None,
    cache: IndexCache | None = None,
    max_tokens: int | None = None,
) -> Recaller:
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
    return Recaller(
        max_tokens=max_tokens or settings.max_injection_tokens,
        max_context_turns=settings.max_context_turns,
        similarity_weight=settings.similarity_weight,
        confidence_weight=settings.confidence_weight,
        guaranteed_share=settings.guaranteed_share,
        ranker=settings.ranker or ("hybrid" if embeddings is not None else None),
        embeddings=embeddings,
        cache=IndexCache() if cache is None else cache,
    )
