"""Words and meaning together."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from memgraph.retrieval.embedding_models import FunctionEmbeddings
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.lexical import LexicalIndex
from memgraph.retrieval.query import Document, build_query
from memgraph.retrieval.rankers import (
    COMMON_QUESTIONS,
    COMMON_WEIGHT,
    MAX_LEXICAL_WEIGHT,
    SATURATION,
    HybridIndex,
    lexical_weight,
    standardise,
)

DOCUMENTS = [
    Document("Has a cat named Dumpling"),
    Document("Prefers pytest"),
    Document("Drinks tea"),
]


def test_the_weights_are_those_that_were_measured() -> None:
    assert (MAX_LEXICAL_WEIGHT, SATURATION, COMMON_WEIGHT) == (0.5, 0.2, 0.5)


def test_words_weigh_less_if_they_cover_less_of_the_question() -> None:
    """A match of one word among many says little, but standardised it would weigh as much as a match of all."""
    assert (lexical_weight(0), lexical_weight(0.5), lexical_weight(1)) == pytest.approx((0, 0.3 / 0.7, 0.5))


def test_scores_are_standardised() -> None:
    assert standardise(np.array([1.0, 3.0, 5.0])).tolist() == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])


def test_equal_scores_say_nothing() -> None:
    assert standardise(np.array([7.0, 7.0])).tolist() == [0, 0]


def test_the_score_is_the_weighted_mean_of_both_if_that_is_above_0(letters: Embeddings) -> None:
    query, vectors = build_query("Which cat?"), EmbeddingCache(letters)
    words = LexicalIndex(DOCUMENTS)
    weight = lexical_weight(words.coverage(query))
    *texts, common = vectors.embed_texts([*(document.text for document in DOCUMENTS), COMMON_QUESTIONS])[0]
    cosine, to_all = np.array(texts) @ vectors.embed_query("Which cat?"), np.array(texts) @ common
    meaning = standardise((cosine - COMMON_WEIGHT * to_all).astype(np.float64))
    fused = weight * standardise(words.scores(query)) + (1 - weight) * meaning

    scores = HybridIndex(DOCUMENTS, vectors).scores(query)

    assert scores.tolist() == pytest.approx(np.maximum(fused, 0).tolist())
    assert scores.min() == 0
    assert scores.argmax() == 0


def test_a_document_that_is_near_every_question_is_not_found_for_that_alone() -> None:
    """The embedding has a dimension of what all questions share, of which the hub has most."""
    directions = {"hub": [1.0, 0, 0.2], "Has a cat": [0.6, 0.8, 0], COMMON_QUESTIONS: [1.0, 0, 0]}
    model = FunctionEmbeddings(lambda texts: [directions.get(text, [0.8, 0.4, 0]) for text in texts])
    documents = [Document("hub"), Document("Has a cat")]
    vectors = EmbeddingCache(model)
    hub, answer = vectors.embed_texts(["hub", "Has a cat"])[0] @ vectors.embed_query("喵？")

    scores = HybridIndex(documents, vectors).scores(build_query("喵？"))

    assert hub - answer > -0.05
    assert scores.argmax() == 1


@pytest.mark.parametrize(("question", "score"), [("Which cat?", 1), ("Qqq?", 0)])
def test_a_single_document_is_found_if_it_answers(letters: Embeddings, question: str, score: float) -> None:
    """It has no others to be compared with: standardised, its score is 0 whatever is asked."""
    index = HybridIndex(DOCUMENTS[:1], EmbeddingCache(letters))

    assert index.scores(build_query(question)).tolist() == [score]


def test_without_documents_the_model_is_not_called(down: Embeddings) -> None:
    assert HybridIndex([], EmbeddingCache(down)).scores(build_query("cat")).tolist() == []


def test_appended_documents_leave_the_scores_as_if_all_were_indexed_together(letters: Embeddings) -> None:
    vectors = EmbeddingCache(letters)

    appended = HybridIndex(DOCUMENTS, vectors, base=HybridIndex(DOCUMENTS[:2], vectors))

    query = build_query("Which cat?")
    assert appended.scores(query).tolist() == pytest.approx(HybridIndex(DOCUMENTS, vectors).scores(query).tolist())
