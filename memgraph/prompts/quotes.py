"""Finds the user's words that a fact rests on, although models change marks, case and spacing when they quote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from memgraph.models import MAX_QUOTE_CHARS, Turn
from memgraph.text.secrets import mask
from memgraph.text.spans import own_words

_MARKS = str.maketrans(dict.fromkeys('’‘“”„`´"「」『』«»', "'"))
_ELLIPSIS = re.compile(r"\[\.\.\.\]|\.{2,}")
_EDGES = " '.,:;!?()-[]*_、。，！？；：（）"
_SPACED = re.compile(r"[a-z0-9\u00c0-\u024f\u0370-\u052f]")
_MIN_CHARS = 2


class FoundQuote(NamedTuple):
    """The user's words, and the turn that contains them."""

    turn: Turn
    words: str
    """As the user wrote them, at most MAX_QUOTE_CHARS characters."""


def locate_quote(quote: str, number: int | None, shown: Mapping[int, Turn]) -> FoundQuote | None:
    """Find *quote* in the user's own words.

    Args:
        quote: The words as the model wrote them.
        number: The turn that the model named; it is searched first, then the others, the latest first.
        shown: The turns that the prompt showed, by number.

    Returns:
        None also for a quote with a secret: it is kept as long as its fact, and masked elsewhere.
    """
    turns = list(reversed(list(shown.values())))
    if number is not None and number in shown:
        turns.insert(0, shown[number])
    for turn in turns:
        own = own_words(turn)
        words = find_quote(quote, own) if turn.is_users else None
        if words and words in mask(own):
            return FoundQuote(turn, words)
    return None


def find_quote(quote: str, text: str) -> str | None:
    """Return the part of *text* that *quote* repeats.

    Quotation marks, case, width, white space, and punctuation at the ends do not matter. An ellipsis in *quote*
    stands for words left out.
    """
    wanted = _normalize(quote)[0]
    segments = [stripped for segment in _ELLIPSIS.split(wanted) if (stripped := segment.strip(_EDGES))]
    if sum(map(len, segments)) < _MIN_CHARS:
        return None
    normal, positions = _normalize(text)
    start, end = None, 0
    for segment in segments:
        at = _find_words(segment, normal, positions, text, end)
        if at < 0:
            return None
        start, end = at if start is None else start, at + len(segment)
    return text[positions[start or 0] : positions[end - 1] + 1][:MAX_QUOTE_CHARS].strip()


def _normalize(text: str) -> tuple[str, list[int]]:
    """Return *text* as it is compared, without white space, and the position in *text* of each character."""
    normal = list[str]()
    positions = list[int]()
    for position, character in enumerate(text):
        for folded in unicodedata.normalize("NFKC", character).casefold().translate(_MARKS):
            if not folded.isspace():
                normal.append(folded)
                positions.append(position)
    return "".join(normal), positions


def _find_words(segment: str, normal: str, positions: list[int], text: str, start: int) -> int:
    """Return where *segment* begins in *normal*, not inside a word; -1 if it is not there."""
    while (at := normal.find(segment, start)) >= 0:
        first, last = positions[at], positions[at + len(segment) - 1]
        if not (_joins(text[first - 1 : first + 1]) or _joins(text[last : last + 2])):
            return at
        start = at + 1
    return -1


def _joins(pair: str) -> bool:
    """Return whether the two characters belong to one word of a script with spaces."""
    return len(pair) == 2 and all(_SPACED.match(character.casefold()) for character in pair)  # noqa: PLR2004
