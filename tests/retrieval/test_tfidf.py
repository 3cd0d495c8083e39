"""The reference ranker."""

from __future__ import annotations

import pytest

from memgraph.retrieval.documents import Document
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import TfidfIndex

DOCUMENTS = [Document("green tea"), Document("black cat"), Document("Use Polars", (("I hate pandas", 0.5),))]


def test_scores_are_cosines_in_the_order_of_the_documents() -> None:
    assert TfidfIndex(DOCUMENTS).scores(Query.from_text("black cat")).tolist() == pytest.approx([0, 1, 0])
    assert TfidfIndex(DOCUMENTS).scores(Query.from_text("tea")).tolist() == pytest.approx([0.5**0.5, 0, 0])


def test_the_context_is_searched_too() -> None:
    assert TfidfIndex(DOCUMENTS).scores(Query.from_text("pandas")).argmax() == 2


@pytest.mark.parametrize(
    ("documents", "query"), [(DOCUMENTS, ""), (DOCUMENTS, " "), ([Document("!"), Document("")], "tea"), ([], "x")]
)
def test_without_words_all_scores_are_zero(documents: list[Document], query: str) -> None:
    assert TfidfIndex(documents).scores(Query.from_text(query)).tolist() == [0] * len(documents)
