"""Words and meaning together."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from memgraph.models import Fact
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.hybrid import SEMANTIC_WEIGHT, HybridIndex, standardise
from memgraph.retrieval.lexical import LexicalIndex
from memgraph.retrieval.query import Query

FACTS = [
    Fact(content="Has a cat named Dumpling"),
    Fact(content="Prefers pytest", source_error="unittest"),
    Fact(content="Drinks tea"),
]


def test_words_and_meaning_weigh_the_same() -> None:
    assert SEMANTIC_WEIGHT == 0.5


def test_scores_are_standardised() -> None:
    assert standardise(np.array([1.0, 3.0, 5.0])).tolist() == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])


def test_equal_scores_say_nothing() -> None:
    assert standardise(np.array([7.0, 7.0])).tolist() == [0, 0]


def test_the_score_is_the_mean_of_both_less_the_lowest(letters: Embeddings) -> None:
    query, vectors = Query.from_text("Which cat?"), EmbeddingCache(letters)
    lexical = standardise(LexicalIndex(FACTS).scores(query))
    cosine = vectors.embed_texts([FACTS[0].content, "Prefers pytest\nunittest", FACTS[2].content])
    fused = 0.5 * lexical + 0.5 * standardise((cosine @ vectors.embed_query("Which cat?")).astype(np.float64))

    scores = HybridIndex(FACTS, vectors).scores(query)

    assert scores.tolist() == pytest.approx((fused - fused.min()).tolist())
    assert scores.min() == 0
    assert scores.argmax() == 0


def test_without_facts_the_model_is_not_called(down: Embeddings) -> None:
    assert HybridIndex([], EmbeddingCache(down)).scores(Query.from_text("cat")).tolist() == []


def test_terms_come_from_the_given_extractor(letters: Embeddings) -> None:
    """So that a cache is used."""
    asked = list[str]()

    HybridIndex(FACTS, EmbeddingCache(letters), extract=lambda texts: [asked.append(text) or ("x",) for text in texts])

    assert asked == [FACTS[0].content, "Prefers pytest\nunittest", FACTS[2].content]
