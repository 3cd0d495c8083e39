"""Words that are spelled alike: "test" finds "pytest", "databse" finds "database", "Kubernetes" "kubernetes's"."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memgraph.retrieval.terms import MIN_NGRAMS, character_ngrams

MIN_SIMILARITY = 0.4
"""The lowest similarity that counts."""
MIN_SHARED = math.ceil(MIN_SIMILARITY * MIN_NGRAMS)
"""Words that share fewer n-grams are less similar than that, however short they are."""
MAX_MATCHES = 100


class Lists:
    """Lists of numbers, one after the other in one array.

    Args:
        lengths: The length of each list.
    """

    def __init__(self, lengths: Sequence[int] | NDArray[np.int64]) -> None:
        self._starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))

    def positions(self, numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of all entries of the lists with these *numbers*, and how many entries each has."""
        chosen = np.array(numbers, dtype=np.int64)
        lengths = self._starts[chosen + 1] - self._starts[chosen]
        ends = lengths.cumsum()
        first = (self._starts[chosen] - ends + lengths).repeat(lengths)
        return first + np.arange(len(first)), lengths


class Vocabulary:
    """Words by number, and an inverted index of their n-grams.

    Args:
        words: V different words. The number of a word is its position.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.ids = {word: number for number, word in enumerate(words)}
        self._words = tuple(self.ids)
        postings: defaultdict[str, list[int]] = defaultdict(list)
        ngrams_of_words = [character_ngrams(word) for word in self.ids]
        for number, ngrams in enumerate(ngrams_of_words):
            for ngram in ngrams:
                postings[ngram].append(number)
        self._ngram_counts = np.array([len(ngrams) for ngrams in ngrams_of_words], dtype=np.float64)
        self._ngram_ids = {ngram: number for number, ngram in enumerate(postings)}
        self._lists = Lists([len(numbers) for numbers in postings.values()])
        self._numbers = np.fromiter(chain.from_iterable(postings.values()), dtype=np.int64)

    def similar(
        self, words: Sequence[tuple[str, frozenset[str]]], limit: int | None = MAX_MATCHES
    ) -> list[tuple[str, str, float]]:
        """Return the words of the vocabulary that are spelled like one of *words*, which come with their n-grams.

            similarity = 2 * shared n-grams / (n-grams of one + n-grams of the other)

        Returns:
            At most *limit* matches, the most similar first: one of *words*, a different word of the vocabulary,
            and their similarity in [MIN_SIMILARITY, 1].

        Source:
            Dice, "Measures of the Amount of Ecologic Association Between Species", 1945.
        """
        shared = self._count_shared([ngrams for _, ngrams in words])
        candidates = np.flatnonzero(shared >= MIN_SHARED)
        rows, numbers = np.divmod(candidates, max(1, len(self._words)))
        query_counts = np.array([len(ngrams) for _, ngrams in words], dtype=np.int64)
        similarity = 2 * shared[candidates] / (self._ngram_counts[numbers] + query_counts[rows])
        alike = np.flatnonzero(similarity >= MIN_SIMILARITY)
        best = alike[np.argsort(-similarity[alike], kind="stable")][:limit]
        columns = (rows[best].tolist(), numbers[best].tolist(), similarity[best].tolist())
        found = cast("Iterable[tuple[int, int, float]]", zip(*columns, strict=True))
        return [
            (word, known, value)
            for row, number, value in found
            if (word := words[row][0]) != (known := self._words[number])
        ]

    def _count_shared(self, ngrams_of_words: Sequence[frozenset[str]]) -> NDArray[np.int64]:
        """Count the n-grams that each of Q query words shares with each of V words of the vocabulary: shape (Q * V,).

        The count of query word q and word v is at q * V + v.
        """
        ids, size = self._ngram_ids, len(self._words)
        known = [[ids[ngram] for ngram in ngrams if ngram in ids] for ngrams in ngrams_of_words]
        positions, lengths = self._lists.positions(list(chain.from_iterable(known)))
        rows = (np.arange(len(known)) * size).repeat([len(of_word) for of_word in known])
        return np.bincount(rows.repeat(lengths) + self._numbers[positions], minlength=len(known) * size)
