"""Lexical similarity."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from memgraph.attachments.lexical import JaccardIndex, lcs_length, text_similarity
from memgraph.retrieval.terms import extract_terms

SENTENCES = st.lists(st.sampled_from("abcd"), max_size=12)
TEXTS = st.lists(st.sampled_from(["tea", "milk", "sugar", "lemon", "茶"]), max_size=6).map(" ".join)


def lcs_by_table(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, by the textbook algorithm."""
    row = [0] * (len(other) + 1)
    for left in one:
        above = row
        row = [0]
        for index, right in enumerate(other):
            row.append(above[index] + 1 if left == right else max(above[index + 1], row[index]))
    return row[-1]


@given(SENTENCES, SENTENCES)
def test_the_fast_algorithm_equals_the_textbook_one(one: list[str], other: list[str]) -> None:
    """The bit-parallel algorithm returns the same length."""
    assert lcs_length(one, other) == lcs_by_table(one, other)


@given(SENTENCES, SENTENCES)
def test_similarity_is_between_0_and_1(one: list[str], other: list[str]) -> None:
    """It is combined with a cosine."""
    assert 0 <= text_similarity(one, other) <= 1


def test_equal_texts_have_similarity_1() -> None:
    """The maximum is reached."""
    assert text_similarity(extract_terms("We chose PostgreSQL."), extract_terms("We chose PostgreSQL.")) == 1


def test_order_counts() -> None:
    """Only the order distinguishes payer and payee."""
    query = extract_terms("Ada pays Grace")

    same, turned = extract_terms("Ada pays Grace"), extract_terms("Grace pays Ada")

    assert text_similarity(query, same) > text_similarity(query, turned)


@given(st.lists(TEXTS, max_size=120), st.sets(st.integers(0, 119)), TEXTS, st.integers(1, 130))
def test_the_index_finds_the_same_as_a_full_scan(texts: list[str], removed: set[int], query: str, k: int) -> None:
    """Even after a compaction."""
    index = JaccardIndex()
    for row, text in enumerate(texts):
        index.add(row, extract_terms(text))
    index.remove(removed)
    query_terms = set(extract_terms(query))

    def jaccard(row: int) -> float:
        terms = set(extract_terms(texts[row]))
        return len(query_terms & terms) / max(1, len(query_terms | terms))

    present = [row for row in range(len(texts)) if row not in removed]
    assert index.search(extract_terms(query), k) == sorted(present, key=lambda row: (-jaccard(row), -row))[:k]
