"""Words that mean much the same, in English and Chinese: "怎么写测试" finds "Prefers pytest for testing"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memgraph.retrieval.terms import extract_terms
from memgraph.text.normalize import HAN, fold

_HAS_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True)
class SynonymMap:
    """Groups of synonyms, indexed for lookup."""

    by_term: Mapping[str, frozenset[str]]
    """By an English stem: the terms of its synonyms."""
    by_word: Mapping[str, frozenset[str]]
    """By a Chinese word: the terms of its synonyms."""
    chinese_words: re.Pattern[str]
    """Matches the Chinese words, the longest first."""

    def expand(self, text: str, terms: Sequence[str]) -> frozenset[str]:
        """Return the synonyms of the words of *text*, except those that are among its own *terms*."""
        found = [self.by_term[term] for term in terms if term in self.by_term]
        found.extend(self.by_word[word] for word in self.chinese_words.findall(fold(text)))
        return frozenset[str]().union(*found).difference(terms)


@cache
def load_synonyms() -> SynonymMap:
    """Return the synonyms that come with the package: `synonyms.txt`."""
    lines = files("memgraph.retrieval").joinpath("synonyms.txt").read_text("utf-8").splitlines()
    return build_synonym_map(line.split() for line in lines if not line.startswith("#"))


def build_synonym_map(groups: Iterable[Iterable[str]]) -> SynonymMap:
    """Index *groups* of words that mean much the same."""
    by_term, by_word = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for group in map(frozenset, groups):
        # the last term stands for a word most surely: its stem, or its last pair of characters
        term_by_word = {word: extract_terms(word)[-1] for word in group}
        for word, term in term_by_word.items():
            others = {term_by_word[other] for other in group if other != word}
            (by_word[fold(word)] if _HAS_HAN.search(word) else by_term[term]).update(others)
    pattern = "|".join(map(re.escape, sorted(by_word, key=len, reverse=True))) or r"(?!)"
    return SynonymMap(_freeze(by_term), _freeze(by_word), re.compile(pattern))


def _freeze(table: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(others) for key, others in table.items()}
