"""Terms and token counts of texts."""

from __future__ import annotations

import pytest

from memgraph.retrieval.text_cache import MAX_TEXT_BYTES, TextCache
from memgraph.text.tokens import count_tokens


def test_terms_and_tokens_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, counted = TextCache(), list[str]()
    monkeypatch.setattr(
        "memgraph.retrieval.text_cache.count_tokens", lambda text: (counted.append(text), count_tokens(text))[1]
    )

    assert texts.extract_terms(["Green teas", "cats"]) == [("green", "tea"), ("cat",)]
    assert texts.count_tokens(["Green teas", "cats", "dogs", "cats"]) == [
        *(count_tokens("Green teas"), count_tokens("cats"), count_tokens("dogs"), count_tokens("cats"))
    ]
    assert counted == ["Green teas", "cats", "dogs"]
    assert len(texts) == 5


def test_text_is_bounded_in_bytes() -> None:
    """A text counts with its terms, which take more room than itself."""
    texts = TextCache(max_bytes=100_000)

    for number in range(1_000):
        texts.extract_terms([f"A fact of number {number} about {number} things"])
        texts.count_tokens([f"A fact of number {number} about {number} things"])

    assert 100 < len(texts._terms) < 200
    assert 200 < len(texts._token_counts) < 400
    assert texts._terms.total_bytes <= 100_000
    assert texts._token_counts.total_bytes <= 100_000


def test_text_of_ten_thousand_facts_is_kept() -> None:
    """Or every change of a large memory would analyse all of it again."""
    texts = TextCache()
    many = [f"Fact number {number} about a topic of about the usual length" for number in range(10_000)]

    texts.extract_terms(many)
    texts.count_tokens(many)

    assert len(texts) == 20_000
    assert MAX_TEXT_BYTES == 32 * 1024 * 1024
