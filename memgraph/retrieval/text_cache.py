"""Terms and token counts of texts, so that a changed memory is indexed again at the price of what is new."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from memgraph._cache import LRUCache
from memgraph.retrieval.terms import Terms, extract_all_terms
from memgraph.text.tokens import count_tokens

MAX_TEXT_BYTES = 32 * 2**20
"""Size of the terms, and of the token counts, that a `TextCache` keeps."""
_ENTRY_BYTES = 200
"""Overhead of an entry of a cache."""


class TextCache:
    """Terms and token counts of the texts used last.

    Args:
        max_bytes: Size of the terms, and of the token counts, that are kept.
    """

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self._terms: LRUCache[str, Terms] = LRUCache(max_bytes=max_bytes, size_of=_terms_size)
        self._token_counts: LRUCache[str, int] = LRUCache(max_bytes=max_bytes, size_of=_count_size)

    def __len__(self) -> int:
        return len(self._terms) + len(self._token_counts)

    def extract_terms(self, texts: Sequence[str]) -> list[Terms]:
        """Return the terms of each text."""
        return self._terms.get_many(texts, extract_all_terms)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return self._token_counts.get_many(texts, lambda missing: map(count_tokens, missing))

    def clear(self) -> None:
        """Remove everything."""
        self._terms.clear()
        self._token_counts.clear()


def _terms_size(text: str, terms: Terms) -> int:
    return _ENTRY_BYTES + sys.getsizeof(text) + sys.getsizeof(terms) + sum(map(sys.getsizeof, terms))


def _count_size(text: str, _: int) -> int:
    return _ENTRY_BYTES + sys.getsizeof(text)
