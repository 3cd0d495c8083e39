"""How probable it is that words of the user end what is known: logistic regression over hashed features of both.

Two classifiers share the features. One knows pairs about the same, one of which may end the other, from pairs that have
nothing to do with each other; one knows them from pairs that only share a word. Their weights are trained by
benchmarks/train_offline.py on what people said of themselves and weeks later, benchmarks/sets/endings_told.tsv, on
facts and sentences that have nothing to do with each other, and on ordinary talk, benchmarks/sets/endings_talk.tsv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

from memgraph.analysis.answers import content_words
from memgraph.analysis.clusters import split_words
from memgraph.analysis.lasting import form_of, hashed_runs, load_linear, stems, tokens_of
from memgraph.analysis.normalize import stem
from memgraph.analysis.words import language_of, word_classes

BUCKETS = 1 << 14  # into which features are hashed
WEIGHTS = "endings.npz"
_SHARED = "="
"""Stands for a word that the known fact has, too."""
_MOST_SHARED = 3
_SHARES = 4
"""Levels of the share of the words of the fact that are shared."""


def end_probability(known: str, said: str) -> float:
    """Return the probability, in [0, 1], that the user's words *said* end or change the fact *known*.

    It is that of the pairs that it is trained on: compare it, do not believe it.
    """
    features = end_features(known, said)
    ends, related = load_linear(WEIGHTS, "ends", "related")
    return ends.probability(features) * related.probability(features)


def end_features(known: str, said: str) -> list[int]:
    """Return the buckets of the features of both texts, each once, in order; the same on every machine."""
    language = language_of(said)
    parts, of_fact = split_words(tokens_of(said), language, word_classes()), _content_stems(known)
    of_part = {part: of_fact & _content_stems(part) for part in parts}
    words = [_SHARED if of_part[part] else part for part in parts]
    count = len(frozenset[str]().union(*of_part.values()))
    others = [
        language,
        f"shared {min(count, _MOST_SHARED)}",
        f"share {_SHARES * count // (len(of_fact) or 1)}",
        f"length {len(parts) // 8}",
        *_classes(split_words(tokens_of(known), language, word_classes()), parts),
        *(stems(words) if language == "en" else ()),
    ]
    hashes = [
        *hashed_runs("words", words, 3),
        *hashed_runs("form", [*form_of(words)], 4),
        *map(crc32, map(str.encode, others)),
    ]
    return sorted({value % BUCKETS for value in hashes})


def _content_stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, content_words(text)))


def _classes(known: Sequence[str], said: Sequence[str]) -> Iterator[str]:
    """Yield each pair of a class of words of the fact and one of what was said."""
    classes = word_classes()
    of_known, of_said = ({classes[word] for word in words if word in classes} for words in (known, said))
    yield from (f"{one} then {other}" for one in of_known for other in of_said)
