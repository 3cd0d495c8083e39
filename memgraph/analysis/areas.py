"""The areas of life that a text is about, such as food or travel, by its words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from memgraph._yaml import read_packaged
from memgraph.analysis.normalize import is_chinese
from memgraph.analysis.terms import extract_terms

AREAS = ("food", "health", "travel", "work", "people", "home", "money", "leisure")
"""Those of areas.yaml."""
Shares = tuple[float, ...]
"""The share of each of AREAS in a text, together 1; all 0 if it is about none."""


def areas_of(terms: Iterable[str]) -> Shares:
    """Return how much of a text with these terms is about each area: a term of several areas is of each in part."""
    areas = _areas_by_term()
    shares: dict[str, float] = dict.fromkeys(AREAS, 0.0)
    known = areas.keys() & frozenset(terms)
    for term in known.difference(*(term for term in known if len(term) > 1)):  # no character of a known pair
        for area in areas[term]:
            shares[area] += 1 / len(areas[term])
    total = sum(shares.values()) or 1
    return tuple(share / total for share in shares.values())


@cache
def _areas_by_term() -> Mapping[str, tuple[str, ...]]:
    by_term = defaultdict[str, dict[str, None]](dict)
    for area, listed in read_packaged("memgraph.analysis", "areas.yaml").items():
        for word in listed.split():
            if terms := extract_terms(word):
                by_term[terms[-1] if is_chinese(word) else terms[0]][area] = None
    return {term: tuple(areas) for term, areas in by_term.items()}
