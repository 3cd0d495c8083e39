"""Likeness by words."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from memgraph.attachments.lexical import JaccardIndex, lcs_length, text_similarity
from memgraph.retrieval.terms import extract_terms

SENTENCES = st.lists(st.sampled_from("abcd"), max_size=12)
TEXTS = st.lists(st.sampled_from(["tea", "milk", "sugar", "lemon", "茶"]), max_size=6).map(" ".join)


def by_table(one: Sequence[str], other: Sequence[str]) -> int:
    """The longest common subsequence as the textbook has it."""
    row = [0] * (len(other) + 1)
    for left in one:
        above = row
        row = [0]
        for place, right in enumerate(other):
            row.append(above[place] + 1 if left == right else max(above[place + 1], row[place]))
    return row[-1]


@given(SENTENCES, SENTENCES)
def test_the_longest_common_subsequence_is_the_textbook_s(one: list[str], other: list[str]) -> None:
    """The fast way of counting counts the same."""
    assert lcs_length(one, other) == by_table(one, other)


@given(SENTENCES, SENTENCES)
def test_likeness_lies_between_0_and_1(one: list[str], other: list[str]) -> None:
    """It is weighed against a cosine."""
    assert 0 <= text_similarity(one, other) <= 1


def test_the_same_text_is_as_like_as_can_be() -> None:
    """1 is reached."""
    assert text_similarity(extract_terms("We chose PostgreSQL."), extract_terms("We chose PostgreSQL.")) == 1


def test_order_counts() -> None:
    """Who pays whom is told by nothing else."""
    asked = extract_terms("Ada pays Grace")

    same, turned = extract_terms("Ada pays Grace"), extract_terms("Grace pays Ada")

    assert text_similarity(asked, same) > text_similarity(asked, turned)


@given(st.lists(TEXTS, max_size=120), st.sets(st.integers(0, 119)), TEXTS, st.integers(1, 130))
def test_the_index_finds_what_a_walk_through_all_finds(texts: list[str], gone: set[int], asked: str, k: int) -> None:
    """Also after so much was removed that it tidied up."""
    index = JaccardIndex()
    for row, text in enumerate(texts):
        index.add(row, extract_terms(text))
    index.remove(gone)
    wanted = set(extract_terms(asked))

    def jaccard(row: int) -> float:
        said = set(extract_terms(texts[row]))
        return len(wanted & said) / max(1, len(wanted | said))

    there = [row for row in range(len(texts)) if row not in gone]
    assert index.search(extract_terms(asked), k) == sorted(there, key=lambda row: (-jaccard(row), -row))[:k]
