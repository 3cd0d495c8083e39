"""Search in the items of one owner: vectors by inner product, and the core's terms and their idf."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from memgraph.retrieval.bm25 import idf
from memgraph.retrieval.terms import extract_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memgraph.attachments.embedding import Embedder
    from memgraph.attachments.items import ItemText
    from memgraph.retrieval.vector_store import Vector

COSINE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
CANDIDATES = 50
"""Minimum number of items, best by cosine or by the idf of shared terms, that are then compared by words; or three
times the requested ones."""

MAX_TERMS = 2_000
"""Terms of a query that are compared, the first ones: the longest common subsequence takes time by both lengths."""


class SearchHit(NamedTuple):
    """An item and how well it matches."""

    number: int
    cosine: float
    score: float
    vector: Vector | None


def search_items(
    text: str, items: Sequence[ItemText], embedder: Embedder | None, *, top_k: int, threshold: float
) -> list[SearchHit]:
    """Return the best items, best first; of equal ones the newest first.

        score = 0.7 * cosine + 0.3 * lexical similarity

    For an item without a vector, the lexical similarity replaces the cosine.

    Args:
        text: The query.
        items: The items of one owner, the newest last.
        embedder: Their embedding model; None compares words only.
        top_k: Maximum number of items.
        threshold: Minimum cosine.

    Raises:
        EmbeddingError: If the model fails.
    """
    query, count = extract_terms(text)[:MAX_TERMS], max(CANDIDATES, 3 * top_k)
    hits: list[SearchHit] = []
    others = items
    if embedder:
        question = embedder.embed_query(text)
        vectors, known = embedder.embed_texts([item.summary for item in items])
        others = [item for item, has_vector in zip(items, known, strict=True) if not has_vector]
        embedded = [index for index, has_vector in enumerate(known) if has_vector]
        for cosine, position in best_by_cosine(vectors[embedded], question, count):
            index = embedded[position]
            hits.append(_make_hit(items[index], query, cosine, vectors[index]))
    hits += (_make_hit(item, query) for item in _best_by_words(query, others)[:count])
    return sorted((hit for hit in hits if hit.cosine >= threshold), key=_sort_key)[:top_k]


def _best_by_words(query: Sequence[str], items: Sequence[ItemText]) -> list[ItemText]:
    """Return *items*, those first that share the rarest terms with *query*."""
    wanted = set(query)
    terms = [wanted.intersection(item.terms.split()) for item in items]
    counts = Counter(term for shared in terms for term in shared)
    weights = {term: idf(len(items), counts[term]) for term in sorted(counts)}
    scores = [sum(weight for term, weight in weights.items() if term in shared) for shared in terms]
    ranked = sorted(zip(scores, items, strict=True), key=lambda pair: (-pair[0], -pair[1].number))
    return [item for _, item in ranked]


def best_by_cosine(vectors: Vector, vector: Vector, k: int) -> list[tuple[float, int]]:
    """Return the cosines and the positions of the best *k* unit vectors, best first; of equal ones the newest first."""
    if not len(vectors):
        return []
    cosines: NDArray[np.float32] = np.einsum("ij,j->i", vectors, vector)  # `@` would use the threads of BLAS
    order = np.lexsort((-np.arange(len(cosines)), -cosines))[:k]
    return list(zip(cosines[order].tolist(), order.tolist(), strict=True))


def text_similarity(query: Sequence[str], text: Sequence[str]) -> float:
    """Return the similarity of two texts, given as terms, within [0, 1].

    (Jaccard + longest common subsequence) / 2
    Jaccard = terms in both / terms in either
    longest common subsequence = its length / terms of the shorter text
    """
    if not query or not text:
        return 0.0
    one, other = set(query), set(text)
    jaccard = len(one & other) / len(one | other)
    return (jaccard + LCSseq.similarity(query, text) / min(len(query), len(text))) / 2


def _make_hit(
    item: ItemText, query: Sequence[str], cosine: float | None = None, vector: Vector | None = None
) -> SearchHit:
    lexical = text_similarity(query, item.terms.split())
    cosine = lexical if cosine is None else cosine
    return SearchHit(item.number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * lexical, vector)


def _sort_key(hit: SearchHit) -> tuple[float, int]:
    return -hit.score, -hit.number
