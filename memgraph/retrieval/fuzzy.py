"""Words that are spelled alike: "test" finds "pytest", "databse" finds "database", "Kubernetes" "kubernetes's"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

NGRAM_SIZES = (3, 4)
MIN_WORD_CHARS = 4
"""Shorter words are similar to nothing."""
MIN_SIMILARITY = 0.4
"""The lowest similarity that counts."""
MAX_MATCHES = 100


def character_ngrams(word: str) -> frozenset[str]:
    """Return the character 3- and 4-grams of *word* with a space at either end; none of a short word."""
    if len(word) < MIN_WORD_CHARS:
        return frozenset()
    padded = f" {word} "
    return frozenset(padded[start : start + size] for size in NGRAM_SIZES for start in range(len(padded) - size + 1))


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
        self._postings = {ngram: np.array(numbers, dtype=np.int64) for ngram, numbers in postings.items()}

    def similar(self, words: Sequence[tuple[str, frozenset[str]]]) -> list[tuple[str, str, float]]:
        """Return the words of the vocabulary that are spelled like one of *words*, which come with their n-grams.

            similarity = 2 * shared n-grams / (n-grams of one + n-grams of the other)

        Returns:
            At most MAX_MATCHES matches, the most similar first: one of *words*, a different word of the vocabulary,
            and their similarity in [MIN_SIMILARITY, 1].

        Source:
            Dice, "Measures of the Amount of Ecologic Association Between Species", 1945.
        """
        postings = [[self._postings[ngram] for ngram in ngrams if ngram in self._postings] for _, ngrams in words]
        if not any(postings):
            return []
        query_counts = np.array([len(ngrams) for _, ngrams in words])
        similarity = 2 * self._count_shared(postings) / (self._ngram_counts + query_counts[:, np.newaxis])
        rows, numbers = np.nonzero(similarity >= MIN_SIMILARITY)
        values = similarity[rows, numbers]
        best = np.argsort(-values, kind="stable")[:MAX_MATCHES].tolist()
        matches = ((words[int(rows[match])][0], self._words[numbers[match]], float(values[match])) for match in best)
        return [(word, known, value) for word, known, value in matches if word != known]

    def _count_shared(self, postings: Sequence[Sequence[NDArray[np.int64]]]) -> NDArray[np.int64]:
        """Count the n-grams that each of Q query words shares with each of V words of the vocabulary: shape (Q, V)."""
        size = len(self._ngram_counts)
        hits = [numbers + row * size for row, of_word in enumerate(postings) for numbers in of_word]
        return np.bincount(np.concatenate(hits), minlength=len(postings) * size).reshape(len(postings), size)
