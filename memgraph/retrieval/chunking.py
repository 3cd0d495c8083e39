"""Splits long texts at sentence ends, into passages that overlap."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from memgraph.analysis.normalize import WORD_END
from memgraph.analysis.sentences import sentences


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text and the position it starts at."""

    start: int
    text: str


def split_overlapping(text: str, size: int, overlap: int) -> list[Chunk]:
    """Split *text* into chunks that may overlap.

    A chunk ends at a sentence end if that makes it more than half of *size* long, else at the end of a word or
    a Chinese character. A single word longer than *size* is cut anywhere.

    Args:
        text: Any text.
        size: Maximum characters of a chunk, at least 1.
        overlap: Maximum characters that the next chunk repeats, from the start of a sentence or word; less than half of
            *size*.

    Returns:
        The chunks in order, none of them blank. Text outside of all chunks is blank.
    """
    sentence_ends = list(accumulate(len(sentence) for sentence in sentences(text)))
    word_ends = [match.end() for match in WORD_END.finditer(text)]
    found, start = list[Chunk](), 0
    while start < len(text):
        end = _chunk_end(start, size, sentence_ends, word_ends)
        chunk = text[start:end]
        if chunk.strip():
            found.append(Chunk(start + len(chunk) - len(chunk.lstrip()), chunk.strip()))
        start = _next_start(end, overlap, sentence_ends, word_ends) if end < len(text) else end
    return found


def _chunk_end(start: int, size: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Return the end of the chunk that begins at *start*."""
    limit = start + size
    if limit >= sentence_ends[-1]:
        return sentence_ends[-1]
    for ends in (sentence_ends, word_ends):
        index = bisect_right(ends, limit)
        if index and ends[index - 1] - start > size // 2:
            return ends[index - 1]
    return limit


def _next_start(end: int, overlap: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Return the start of the next chunk: of the first sentence or word within *overlap* of *end*."""
    for starts in (sentence_ends, word_ends):
        index = bisect_right(starts, end - overlap - 1)
        if index < len(starts) and starts[index] < end:
            return starts[index]
    return end
