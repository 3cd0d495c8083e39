"""What two facts must share before they can say the same: numbers, and whether something is so."""

from __future__ import annotations

import re

from memgraph.retrieval.terms import terms
from memgraph.text.fold import fold

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|dislikes?|disliked|hates?|hated|avoids?|avoided|stopped|quit|refuses?)\b"
    r"|n't\b|n’t\b|不|没|無|无|讨厌|讨嫌|避免|拒绝|别|反对"
)
_PAST = re.compile(
    r"\b(?:used to|formerly|previously|former|once|until|no longer|in the past|as a child|back then|ex)\b"
    r"|以前|曾|过去|之前|原来|不再"
)
_POLAR = frozenset(
    terms("never none without cannot dislikes disliked hates hated avoids avoided like likes liked love loves")
)
_POLAR_HAN = frozenset("不没無无讨厌喜欢爱")


def numbers(text: str) -> frozenset[str]:
    """The numbers in *text*."""
    return frozenset(_NUMBER.findall(text))


def is_denied(text: str) -> bool:
    """Whether *text* says that something is not so."""
    return _NOT.search(fold(text)) is not None


def is_past(text: str) -> bool:
    """Whether *text* says how something was."""
    return _PAST.search(fold(text)) is not None


def content_terms(text: str) -> frozenset[str]:
    """The terms of *text*, less those that only say whether something is so."""
    return frozenset(term for term in terms(text) if term not in _POLAR and not _POLAR_HAN.intersection(term))
