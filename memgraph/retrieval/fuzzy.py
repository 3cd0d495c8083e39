"""Words that look alike: "test" finds "pytest", "databse" finds "database", "Kubernetes" "kubernetes's"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 4)
MIN_SIMILARITY = 0.4
"""The least likeness that counts."""
SHORTEST = 4
"""Letters of a word that is compared by its parts."""
MAX_QUERY_TERMS = 40
"""Of a question; in a longer one each word matters less."""
MAX_MATCHES = 100


def grams(word: str) -> frozenset[str]:
    """Return the character 3- and 4-grams of *word*, its edges marked by a blank."""
    edged = f" {word} "
    return frozenset(edged[at : at + size] for size in SIZES for at in range(len(edged) - size + 1))


class Vocabulary:
    """Words by their numbers, and by what they are made of.

    Args:
        words: V different words; each is known by its place.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.ids = {word: place for place, word in enumerate(words)}
        holders: defaultdict[str, list[int]] = defaultdict(list)
        made_of = [_parts(word) for word in self.ids]
        for place, parts in enumerate(made_of):
            for part in parts:
                holders[part].append(place)
        self._sizes = np.array([len(parts) for parts in made_of], dtype=np.float64)
        self._holders = {part: np.array(places, dtype=np.int64) for part, places in holders.items()}

    def similar(self, words: Iterable[str]) -> Iterator[tuple[str, int, float]]:
        """Yield which words look like one of *words*: that one, the number of the other, and their likeness.

            likeness = 2 * shared n-grams / (n-grams of one + n-grams of the other)

        It is in [ALIKE, 1], the most alike come first, and no word is like itself. Only the first MOST_WORDS
        are looked at, and no more than MOST_ALIKE likenesses counted.

        Source:
            Dice, "Measures of the Amount of Ecologic Association Between Species", 1945.
        """
        asked = [(word, parts) for word in islice(words, MAX_QUERY_TERMS) if (parts := _parts(word))]
        held = [[self._holders[part] for part in parts if part in self._holders] for _, parts in asked]
        if not any(held):
            return
        shared = self._shared(held)
        likeness = 2 * shared / (self._sizes + np.array([len(parts) for _, parts in asked])[:, np.newaxis])
        rows, places = np.nonzero(likeness >= MIN_SIMILARITY)
        shares = likeness[rows, places]
        for at in np.argsort(-shares, kind="stable")[:MAX_MATCHES].tolist():
            word, place = asked[rows[at]][0], int(places[at])
            if self.ids.get(word) != place:
                yield word, place, float(shares[at])

    def _shared(self, held: Sequence[Sequence[NDArray[np.int64]]]) -> NDArray[np.int64]:
        """Count, for each word that is asked and each of the vocabulary, the n-grams they share: shape (W, V)."""
        size = len(self._sizes)
        hits = [places + row * size for row, holders in enumerate(held) for places in holders]
        return np.bincount(np.concatenate(hits), minlength=len(held) * size).reshape(len(held), size)


def _parts(word: str) -> frozenset[str]:
    return grams(word) if len(word) >= SHORTEST else frozenset()
