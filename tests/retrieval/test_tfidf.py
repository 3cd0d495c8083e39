"""The reference ranker."""

from __future__ import annotations

import pytest

from memgraph.models import Fact
from memgraph.retrieval.query import Query
from memgraph.retrieval.tfidf import TfidfIndex

FACTS = [Fact(content="green tea"), Fact(content="black cat"), Fact(content="Use Polars", source_error="pandas")]


def test_scores_are_cosines_in_the_order_of_the_facts() -> None:
    assert TfidfIndex(FACTS).scores(Query.from_text("black cat")).tolist() == pytest.approx([0, 1, 0])
    assert TfidfIndex(FACTS).scores(Query.from_text("tea")).tolist() == pytest.approx([0.5**0.5, 0, 0])


def test_the_error_to_avoid_is_searched_too() -> None:
    assert TfidfIndex(FACTS).scores(Query.from_text("pandas")).argmax() == 2


@pytest.mark.parametrize(
    ("facts", "query"), [(FACTS, ""), (FACTS, " "), ([Fact(content="!"), Fact()], "tea"), ([], "x")]
)
def test_without_words_all_scores_are_zero(facts: list[Fact], query: str) -> None:
    assert TfidfIndex(facts).scores(Query.from_text(query)).tolist() == [0] * len(facts)
