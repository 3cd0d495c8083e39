"""Clusters of words with a similar meaning, by which a classifier reads words that it was not trained on.

They are those of clusters.txt.gz, which benchmarks/clusters.py writes: a line of words for each, in both languages.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from gzip import decompress
from importlib.resources import files

from memgraph.analysis.words import Language, word_classes

MAX_CHARS = 4  # of a Chinese word
_SIGN = "~"


@cache
def clusters() -> Mapping[str, str]:
    """Return the name of the cluster of each word that has one; no word is spelled like a name."""
    lines = decompress(files("memgraph.analysis").joinpath("clusters.txt.gz").read_bytes()).decode().split("\n")
    return {word: f"{_SIGN}{number}" for number, line in enumerate(lines) for word in line.split()}


def is_cluster(name: str) -> bool:
    """Return whether *name* is that of a cluster."""
    return name[:1] == _SIGN


def split_words(tokens: Sequence[str], language: Language, known: Container[str]) -> Sequence[str]:
    """Return *tokens*, characters of Chinese words joined: at each place the longest word that is *known*."""
    return tokens if language == "en" else [*_joined(tokens, known)]


def _joined(tokens: Sequence[str], known: Container[str]) -> Iterator[str]:
    start = 0
    while start < len(tokens):
        sizes = (size for size in range(MAX_CHARS, 1, -1) if "".join(tokens[start : start + size]) in known)
        size = next(sizes, 1)
        yield "".join(tokens[start : start + size])
        start += size


@cache
def vocabulary() -> Container[str]:
    """Return the words with a cluster or a class."""
    return clusters().keys() | word_classes().keys()
