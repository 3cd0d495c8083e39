"""The reference ranker."""

from __future__ import annotations

import pytest

from memgraph.retrieval.query import Document, build_query
from memgraph.retrieval.rankers import TfidfIndex

DOCUMENTS = [Document("green tea"), Document("black cats"), Document("对花生过敏"), Document("在杭州当老师")]


def test_scores_are_cosines_in_the_order_of_the_documents() -> None:
    assert TfidfIndex(DOCUMENTS).scores(build_query("black cats")).tolist() == pytest.approx([0, 1, 0, 0])
    assert TfidfIndex(DOCUMENTS).scores(build_query("tea")).tolist() == pytest.approx([0.5**0.5, 0, 0, 0])


@pytest.mark.parametrize(("asked", "best"), [("Which cat?", 1), ("能吃花生吗？", 2), ("杭州的老师", 3)])
def test_it_compares_the_same_terms_as_the_other_rankers(asked: str, best: int) -> None:
    """Stems, and characters and pairs of them in Chinese."""
    assert TfidfIndex(DOCUMENTS).scores(build_query(asked)).argmax() == best


@pytest.mark.parametrize(
    ("documents", "query"), [(DOCUMENTS, ""), (DOCUMENTS, " "), ([Document("!"), Document("")], "tea"), ([], "x")]
)
def test_without_words_all_scores_are_zero(documents: list[Document], query: str) -> None:
    assert TfidfIndex(documents).scores(build_query(query)).tolist() == [0] * len(documents)
