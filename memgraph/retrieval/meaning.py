"""Similarity in meaning of pairs of sentences, by an embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.text.normalize import language_of

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.vector_store import VectorStore

UNRELATED: Mapping[Literal["en", "zh"], tuple[str, ...]] = MappingProxyType(
    {
        "en": (
            "Works as a beekeeper.",
            "Is allergic to penicillin.",
            "The flight leaves on Monday.",
            "Prefers short answers.",
            "Has two children.",
            "The laptop runs Linux.",
        ),
        "zh": (
            "职业是养蜂人。",
            "对青霉素过敏。",
            "航班周一起飞。",
            "喜欢简短的回答。",
            "有两个孩子。",
            "电脑装的是 Linux。",
        ),
    }
)
"""Sentences of which no two mean the same. Their cosines are what a model gives to sentences of one language that have
nothing in common: 0.9 or 0.1."""
MAX_UNRELATED = 0.99
"""A model for which all sentences are alike compares nothing."""


class MeaningComparison:
    """Compares sentences in pairs. It keeps no vectors in RAM: those of facts are in the store of their memory.

    Args:
        embeddings: The embedding model, called when it is first needed.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._cache = EmbeddingCache(embeddings, keep=0)
        self._unrelated: tuple[int, Mapping[str, float]] | None = None
        """Generation of the model, and the mean cosines of unrelated sentences by language."""

    def similarities(self, pairs: Sequence[tuple[str, str]], store: VectorStore | None = None) -> list[float]:
        """Return the similarity of each pair, in [0, 1]: its cosine, scaled so that unrelated sentences of
        its language have 0.

        Args:
            pairs: N pairs of sentences about one person.
            store: Has the vectors of a memory, and keeps those that are made.

        Raises:
            EmbeddingError: If the model fails, or failed a moment ago.
        """
        if not pairs:
            return []
        vectors = self._cache.of_memory(store).embed_texts([text for pair in pairs for text in pair])
        cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
        known = self._cosines_of_unrelated()
        unrelated = np.array([known[language_of(pair)] for pair in pairs])
        return np.clip((cosines - unrelated) / (1 - unrelated), 0, 1).tolist()

    def _cosines_of_unrelated(self) -> Mapping[str, float]:
        """Return the mean cosine of unrelated sentences, by language."""
        generation = self._cache.generation
        if self._unrelated is None or self._unrelated[0] != generation:
            means = {language: self._mean_cosine(texts) for language, texts in UNRELATED.items()}
            self._unrelated = generation, means
        return self._unrelated[1]

    def _mean_cosine(self, texts: Sequence[str]) -> float:
        vectors, count = self._cache.embed_texts(texts), len(texts)
        mean = (float((vectors @ vectors.T).sum()) - count) / (count * (count - 1))
        return min(mean, MAX_UNRELATED)
