"""What means much the same as a word, in English and Chinese: "怎么写测试" finds "Prefers pytest for testing"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memgraph.retrieval.terms import terms
from memgraph.text.normalize import HAN, fold

_IS_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True)
class SynonymMap:
    """Groups of words, ready to look up."""

    by_term: Mapping[str, frozenset[str]]
    """By an English stem, the terms of all words that mean the same."""
    by_word: Mapping[str, frozenset[str]]
    """By a Chinese word."""
    chinese: re.Pattern[str]
    """Finds the Chinese words, the longest first."""

    def expand(self, text: str) -> frozenset[str]:
        """Return the terms that mean what a word of *text* means, and are not in *text* themselves."""
        own = terms(text)
        found = [self.by_term[term] for term in own if term in self.by_term]
        found.extend(self.by_word[word] for word in self.chinese.findall(fold(text)))
        return frozenset[str]().union(*found).difference(own)


@cache
def packaged_bridge() -> SynonymMap:
    """Return the bridge that comes with the package: `meanings.txt`."""
    lines = files("memgraph.retrieval").joinpath("meanings.txt").read_text("utf-8").splitlines()
    return bridge_of(line.split() for line in lines if not line.startswith("#"))


def bridge_of(groups: Iterable[Iterable[str]]) -> SynonymMap:
    """Return the bridge over *groups* of words that mean much the same."""
    by_term, by_word = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for group in map(frozenset, groups):
        meaning = {word: _whole(word) for word in group}
        for word in group:
            others = {meaning[other] for other in group if other != word}
            (by_word[fold(word)] if _IS_HAN.search(word) else by_term[meaning[word]]).update(others)
    pattern = "|".join(sorted(by_word, key=len, reverse=True)) or r"(?!)"
    return SynonymMap(_frozen(by_term), _frozen(by_word), re.compile(pattern))


def _whole(word: str) -> str:
    """Return the one term that stands for *word* most surely: its stem, or its last pair of characters."""
    return terms(word)[-1]


def _frozen(table: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(others) for key, others in table.items()}
