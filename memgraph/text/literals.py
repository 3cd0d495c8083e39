"""Literals that every match of a regular expression contains, found without compiling it.

Compiling a pattern takes a thousand times as long as a search for a few words. A process that reads a few texts need
not compile the patterns whose literals none of them contains.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from memgraph.text.normalize import HAN

MIN_LETTERS = 2
"""Letters of a literal that are not Chinese: one letter is in most texts."""

_TOKEN = re.compile(
    r"\\."
    r"|\[\^?\]?(?:\\.|[^\]\\])*+\]?"
    r"|\(\?(?:P<\w++>|P=\w++\)|[a-zA-Z-]++[:)]|<?[=!]|\(\w++\)|#[^)]*+\)?|[:>])?"
    r"|<\w++>"
    r"|[?*+][?+]?|\{\d*+,?\d*+\}[?+]?"
    rf"|[A-Za-z0-9 '{HAN}-]+(?![?*+{{])"
    r"|.",
    re.DOTALL,
)
"""Escapes, sets, beginnings of groups, names of fragments, quantifiers, and runs of literals that none follows."""
_READ_GROUPS = re.compile(r"\(\?(?:P<\w+>|-?i:|[:>])|\(\Z")
"""Groups whose content is a part of the match, with its usual meaning."""
_OPTIONAL = re.compile(r"[?*]|\{0?,|\{0\}")
_LITERAL = re.compile(rf"[{HAN}]|[a-z0-9 '-]{{{MIN_LETTERS}}}")
_CASE_VARIANTS = str.maketrans({"İ": "i", "ı": "i", "ſ": "s", "\u212a": "k"})
"""Letters that a pattern takes for ASCII ones if it ignores case."""


def fold_case(text: str) -> str:
    """Return *text* in the form of the literals."""
    return text.lower() if text.isascii() else text.translate(_CASE_VARIANTS).lower()


class LiteralGate:
    """Finds which of some patterns a text may match: a search for a few words saves most searches for a pattern.

    Args:
        patterns: Regular expressions, as for `required_literals`.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        by_literal: defaultdict[str, set[int]] = defaultdict(set)
        self._always: set[int] = set()
        for position, pattern in enumerate(patterns):
            literals = required_literals(pattern)
            for literal in literals:
                by_literal[literal].add(position)
            if not literals:
                self._always.add(position)
        self._by_literal = tuple(by_literal.items())

    def candidates(self, text: str) -> list[int]:
        """Return the positions of the patterns that *text* may match, in their order; it matches no other."""
        folded = fold_case(text)
        return sorted(self._always.union(*[found for literal, found in self._by_literal if literal in folded]))


def required_literals(pattern: str) -> frozenset[str]:
    """Return literals, folded by `fold_case`, of which each match of *pattern* contains at least one.

    Empty if unknown: for a pattern that begins with flags, or in which all literals are optional. A name in
    angle brackets stands for any pattern.
    """
    tokens = _TOKEN.findall(pattern)[::-1]
    return frozenset() if re.match(r"\(\?[a-zA-Z]+\)", pattern) else _read_alternatives(tokens)


def _read_alternatives(rest: list[str]) -> frozenset[str]:
    """Return those of the alternatives at the end of *rest*, up to the end of their group, and remove them."""
    branches: list[list[frozenset[str]]] = [[]]
    while rest and (part := rest.pop()) != ")":
        if part == "|":
            branches.append([])
            continue
        found = _read_item(part, rest)
        if found and not (rest and _OPTIONAL.match(rest[-1])):
            branches[-1].append(found)
    chosen = [max(found, key=_selectivity, default=frozenset[str]()) for found in branches]
    return frozenset[str]().union(*chosen) if all(chosen) else frozenset()


def _read_item(part: str, rest: list[str]) -> frozenset[str]:
    if part[0] == "(" and part[-1] != ")":
        inner = _read_alternatives(rest)
        return inner if _READ_GROUPS.match(part) else frozenset()
    if part[:2] == "(?" and part[2:3] == "(":  # a conditional, whose condition is in the part
        _read_alternatives(rest)
        return frozenset()
    literal = part.lower().strip()
    return frozenset({literal}) if _LITERAL.match(literal) else frozenset()


def _selectivity(literals: frozenset[str]) -> tuple[int, int]:
    """Return how selective *literals* are: by the shortest of them, then by how few they are."""
    return min(len(literal) * (1 if literal.isascii() else 2) for literal in literals), -len(literals)
