"""Split English and Chinese text into sentences, and truncate it at their ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from memgraph.analysis.normalize import HAN, WORD_END
from memgraph.analysis.words import words

_CLOSERS = "\"'”’」』）)\\]】》*_"
_END = re.compile(
    rf"[。！？｡…][。！？｡…!?]*+[{_CLOSERS}]*+\s*+"  # Chinese stops need no blank after them
    rf"|(?<![.!?])[.!?]++[{_CLOSERS}]*+(?:\s++|$|(?=[{HAN}]))"
    r"|\n\s*+"
)
_TITLES = words("never_last")
"""Abbreviations that never end a sentence."""
_TAILS = words("may_be_last")
"""Abbreviations that end a sentence only before one of _STARTERS."""
_STARTERS = words("starters")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘「『（/,;:、，。]{0,24}\Z")
_NEXT_WORD = re.compile(r"[^\W\d_]+|\d+")
_INITIALS = re.compile(r"[A-HJ-Z]|(?:[A-Za-z]\.)+[A-Za-z]")
_LIST_NUMBER = re.compile(r"(?:\A|\n)[ \t>*#-]*\d{1,3}\Z")
_FILE_NAME_REST = re.compile(rf"[{HAN}\w-]{{1,60}}\.[A-Za-z0-9]{{1,5}}(?![A-Za-z0-9])")
_NOT_BLANK = re.compile(r"\S")

NUMBERED = words("numbered")
"""Abbreviations only before a number."""

CONTEXT_CHARS = 40
"""Characters around a dot that decide whether it ends a sentence."""


def sentences(text: str) -> list[str]:
    """Split *text* after each sentence; the concatenated pieces are *text* again.

    A line break ends a sentence too. The dots of file names, versions, addresses, initials, abbreviations and
    list numbers do not.
    """
    ends = (match.end() for match in _END.finditer(text) if _ends_sentence(text, match))
    return [text[start:end] for start, end in pairwise(sorted({0, *ends, len(text)}))]


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    if not stop[0].startswith(".") or "\n" in stop[0] or stop.end() == len(text):
        return True
    if not stop[0][-1].isspace():
        return _FILE_NAME_REST.match(text, stop.end()) is None
    before = text[max(0, stop.start() - CONTEXT_CHARS) : stop.start()]
    after = text[stop.end() : stop.end() + CONTEXT_CHARS]
    return not _continues(before, after, is_ellipsis=stop[0].startswith(".."))


def _continues(before: str, after: str, *, is_ellipsis: bool) -> bool:
    """Return whether the sentence continues after the dot between *before* and *after*."""
    word, following = _search(_LAST_WORD, before), _search(_NEXT_WORD, after)
    if is_ellipsis:
        return following[:1].islower()
    if word.lower() in NUMBERED:
        return following.isdigit()
    if word.lower() in _TAILS or _INITIALS.fullmatch(word):
        return following.lower() not in _STARTERS
    return word.lower() in _TITLES or _LIST_NUMBER.search(before) is not None


def _search(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


def cut_at_sentence(text: str, limit: int, measure: Callable[[str], int]) -> str:
    """Return the longest prefix of *text* with a size of at most *limit* that ends with a sentence.

    If even the first sentence is too long, the prefix ends with a word or a Chinese character; if the first word
    is too long, with any character.

    Args:
        text: Any text.
        limit: The maximum size.
        measure: Returns the size of a text, which should not shrink as the text grows. Called O(log n) times.

    Returns:
        A prefix of *text* without trailing whitespace; "" if nothing fits.
    """
    text = text.rstrip()
    if limit >= 0 and measure(text) <= limit:
        return text
    for ends in (_sentence_ends, _word_ends, _character_ends):
        if cut := _longest(text, ends(text), limit, measure):
            return cut
    return ""


def split_text(text: str, max_length: int) -> list[str]:
    """Return *text* in pieces of at most *max_length* characters, cut at sentence ends if possible."""
    pieces, start = list[str](), 0
    while following := _NOT_BLANK.search(text, start):
        start = following.start()
        # only what may be in the piece is searched and copied, so that the time is linear in the length of the text
        piece = cut_at_sentence(text[start : start + max_length + 1], max_length, len)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces


def _longest(text: str, ends: Sequence[int], limit: int, measure: Callable[[str], int]) -> str:
    """Return *text* up to the last of *ends* at which it fits, found by bisection."""
    fitting = bisect_right(ends, limit, key=lambda end: measure(text[:end].rstrip()))
    return text[: ends[fitting - 1]].rstrip() if fitting else ""


def _sentence_ends(text: str) -> list[int]:
    ends, end = list[int](), 0
    for sentence in sentences(text):
        end += len(sentence)
        ends.append(end)
    return ends


def _word_ends(text: str) -> list[int]:
    return sorted({match.start() for match in WORD_END.finditer(text)} - {0})


def _character_ends(text: str) -> Sequence[int]:
    return range(1, len(text))
