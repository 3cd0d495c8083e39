"""Facts indexed for recall: the rankers by name, the index of one memory, and the cache of indexes.

A new ranker is a line in RANKERS.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from memgraph._cache import LRUCache
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import Fact, Memory
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.hybrid import HybridIndex
from memgraph.retrieval.lexical import LexicalIndex, Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.render import Summaries, fact_lines, fit_summaries, is_unbroken
from memgraph.retrieval.results import ScoredFact
from memgraph.retrieval.supersession import resolve_superseded
from memgraph.retrieval.terms import Terms, extract_all_terms
from memgraph.retrieval.tfidf import TfidfIndex
from memgraph.text.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

DEFAULT_RANKER = "lexical"
GUARANTEED_CATEGORIES = frozenset({"correction", "preference"})
"""Categories that have a guaranteed share of the budget."""
MAX_TEXT_BYTES = 32 * 2**20
"""Size of the terms, and of the token counts, that an `IndexCache` keeps."""
_ENTRY_BYTES = 200
"""Overhead of an entry of a cache."""
_MAX_EMBEDDINGS = 4


# -- rankers --------------------------------------------------------------------------------------


class Index(Protocol):
    """What a ranker builds from facts: built once, queried often."""

    def scores(self, query: Query) -> Scores:
        """Return one score for each fact, the higher the better, in the order of the facts."""
        ...


Ranker = Callable[[Sequence[Fact], TermExtractor, EmbeddingCache | None], Index]
"""Builds an index over facts. Each ranker uses what it needs: the terms of the texts, or their vectors."""


def _build_hybrid(facts: Sequence[Fact], extract: TermExtractor, vectors: EmbeddingCache | None) -> HybridIndex:
    if vectors is None:
        raise EmbeddingError('ranker "hybrid" needs an embedding model: pass embeddings=, any LangChain Embeddings')
    return HybridIndex(facts, vectors, extract=extract)


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {
        "lexical": lambda facts, extract, _: LexicalIndex(facts, extract=extract),
        "tfidf": lambda facts, _, __: TfidfIndex(facts),
        "hybrid": _build_hybrid,
    }
)
"""By name: BM25 with similar words and synonyms; scikit-learn's TF-IDF; BM25 and an embedding together."""


def get_ranker(name: str | None) -> Ranker:
    """Return the ranker called *name*; None is the default one.

    Raises:
        ConfigError: If the name is unknown.
    """
    ranker = RANKERS.get(name or DEFAULT_RANKER)
    if ranker is None:
        raise ConfigError(f"unknown ranker {name!r}; use one of {', '.join(RANKERS)}")
    return ranker


# -- the index of one memory ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order and the scores of N facts."""

    order: list[int]
    """Positions of the facts, the best first."""
    scores: Scores
    """Shape (N,), in the order of the memory."""
    similarity: Scores
    """Shape (N,), in [0, 1], in the order of the memory."""


class TextCache:
    """Terms and token counts of texts, so that a changed memory is indexed again at the price of its new facts.

    Args:
        max_bytes: Size of the terms, and of the token counts, that are kept.
    """

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self._terms: LRUCache[str, Terms] = LRUCache(max_bytes=max_bytes, size_of=_terms_size)
        self._token_counts: LRUCache[str, int] = LRUCache(max_bytes=max_bytes, size_of=_count_size)

    def __len__(self) -> int:
        return len(self._terms) + len(self._token_counts)

    def extract_terms(self, texts: Sequence[str]) -> list[Terms]:
        """Return the terms of each text."""
        return self._terms.get_many(texts, extract_all_terms)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return self._token_counts.get_many(texts, lambda missing: [count_tokens(text) for text in missing])

    def clear(self) -> None:
        """Remove everything."""
        self._terms.clear()
        self._token_counts.clear()


def _terms_size(text: str, terms: Terms) -> int:
    return _ENTRY_BYTES + sys.getsizeof(text) + sys.getsizeof(terms) + sum(map(sys.getsizeof, terms))


def _count_size(text: str, _: int) -> int:
    return _ENTRY_BYTES + sys.getsizeof(text)


class FactIndex:
    """N facts, indexed by a ranker, with the line and the cost of each.

    Args:
        facts: In the order of the memory.
        ranker: Builds the index.
        vectors: The embedding, for a ranker that uses one.
        texts: Terms and token counts of earlier indexes; default: none.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        ranker: Ranker,
        *,
        vectors: EmbeddingCache | None = None,
        texts: TextCache | None = None,
    ) -> None:
        self.facts = tuple(facts)
        self._texts = TextCache() if texts is None else texts
        self._index = ranker(self.facts, self._texts.extract_terms, vectors)
        self._confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        self._superseded = resolve_superseded(facts)
        newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
        self._age = np.empty(len(facts), dtype=np.int64)
        self._age[newest_first] = np.arange(len(facts))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The line of each fact."""
        return tuple(fact_lines(self.facts))

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """The tokens of each line; infinite for facts that have no content, or are superseded."""
        return tuple(
            count if line and position not in self._superseded else math.inf
            for position, (line, count) in enumerate(zip(self.lines, self._texts.count_tokens(self.lines), strict=True))
        )

    @cached_property
    def min_cost(self) -> float:
        """The tokens of the shortest line; infinite without facts."""
        return min(self.costs, default=math.inf)

    @cached_property
    def may_miscount(self) -> frozenset[int]:
        """Positions of the facts whose line may take another number of tokens next to other lines."""
        return frozenset(position for position, line in enumerate(self.lines) if is_unbroken(line))

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

    def scored_fact(self, ranking: Ranking, position: int) -> ScoredFact:
        """Return the fact at *position* with its scores."""
        return ScoredFact(
            fact=self.facts[position],
            score=float(ranking.scores[position]),
            similarity=float(ranking.similarity[position]),
        )

    def _similarity(self, query: Query) -> Scores:
        scores = self._index.scores(query)
        for old, current in self._superseded.items():
            scores[current] = max(scores[current], scores[old])
        best = scores.max() if len(scores) else 0
        return np.clip(scores / best, 0, 1) if best > 0 else np.zeros(len(scores))


# -- the cache ------------------------------------------------------------------------------------

_indexed_fields = attrgetter(
    "id", "content", "category", "confidence", "created_at", "source", "source_error", "replaces"
)
"""Everything that ranking and rendering read."""


class IndexCache:
    """Indexes of memories, by the content of their facts, so that two users at the same revision never mix.

    Pass the same one to every `recall`: the index of a memory is then built once, until its facts change. All user
    text that it keeps is freed with it, or by `clear()`.

    Args:
        keep: Maximum number of indexes, the most recently used ones; one of 1,000 facts takes about 3 MB.
    """

    def __init__(self, keep: int = 32) -> None:
        self._indexes: LRUCache[Hashable, FactIndex] = LRUCache(keep)
        self._by_identity: LRUCache[Hashable, tuple[Sequence[Fact], FactIndex]] = LRUCache(keep)
        self._vectors: LRUCache[int, EmbeddingCache] = LRUCache(_MAX_EMBEDDINGS)
        self._summaries: LRUCache[Hashable, Summaries] = LRUCache(keep)
        self._texts = TextCache()

    def __len__(self) -> int:
        return len(self._indexes)

    def clear(self) -> None:
        """Remove everything: indexes, summaries, vectors, terms and token counts."""
        for cache in (self._indexes, self._by_identity, self._vectors, self._summaries, self._texts):
            cache.clear()

    def index(
        self, facts: Sequence[Fact], *, ranker: str | None = None, embeddings: Embeddings | None = None
    ) -> FactIndex:
        """Return the index of *facts*; it is built if it is not cached.

        Raises:
            ConfigError: If the ranker is unknown.
            EmbeddingError: If the ranker needs an embedding model and there is none, or it fails.
        """
        build = get_ranker(ranker)
        # the EmbeddingCache keeps the model alive, so that no other object gets its id meanwhile
        vectors = None if embeddings is None else self._vectors.get(id(embeddings), lambda: EmbeddingCache(embeddings))
        name = ranker or DEFAULT_RANKER

        def find_by_content() -> tuple[Sequence[Fact], FactIndex]:
            key = (name, vectors, tuple(map(_indexed_fields, facts)))
            return facts, self._indexes.get(key, lambda: FactIndex(facts, build, vectors=vectors, texts=self._texts))

        if not isinstance(facts, tuple):
            return find_by_content()[1]
        # the tuple is kept with its index, so that no other object gets its id meanwhile
        return self._by_identity.get((name, vectors, id(facts)), find_by_content)[1]

    def summaries(self, memory: Memory, max_tokens: int) -> Summaries:
        """Return the summaries of *memory* that fit *max_tokens*: see `fit_summaries`."""
        key = (max_tokens, tuple(section.summary for _, section in memory.sections()))
        return self._summaries.get(key, lambda: fit_summaries(memory, max_tokens))
