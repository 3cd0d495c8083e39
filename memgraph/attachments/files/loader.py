"""What a file says, or why it cannot be read."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from memgraph.text.normalize import HAN
from memgraph.text.sentences import sentences

MAX_BYTES = 20_000_000
"""Of a file; a larger one is skipped, since it is a data set rather than a document."""

_LOOKED_AT = 8_192


class UnreadableFileError(Exception):
    """What a file holds is no text; the message says why."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """The text of a file."""

    text: str
    digest: str
    """sha256 of its bytes."""


def read_document(path: Path, encoding: str) -> SourceDocument:
    """Read a text file.

    Raises:
        UnreadableFileError: If it is too large, is no text, or not in that encoding.
        OSError: If it cannot be read at the moment.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it has more than {MAX_BYTES:,} bytes")
    return SourceDocument(_decoded(data, encoding), hashlib.sha256(data).hexdigest())


def _decoded(data: bytes, encoding: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data[:_LOOKED_AT] and "16" not in encoding and "32" not in encoding:
        raise UnreadableFileError("it is no text: there are zero bytes in it")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"it is not in {encoding}: byte {error.start:,} ({error.reason})") from error
    return text.removeprefix("\ufeff")


_WORD_END = re.compile(rf"\s+|(?<=[{HAN}，、；：])|(?=[{HAN}])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text, and where it begins."""

    start: int
    text: str


def chunks(text: str, size: int, overlap: int) -> list[Chunk]:
    """Cut *text* into pieces.

    A piece ends with a sentence where that leaves it at least half as long as it may be, else with a word, or
    a Chinese character; a single word that is too long is cut anywhere.

    Args:
        text: Any text.
        size: The most characters of a piece, at least 1.
        overlap: How many of them the next piece may repeat, from a sentence or a word on; less than half of *size*.

    Returns:
        The pieces in order, none of them blank; what is in none of them is blank.
    """
    sentence_ends = list(accumulate(len(sentence) for sentence in sentences(text)))
    word_ends = [match.end() for match in _WORD_END.finditer(text)]
    found, start = list[Chunk](), 0
    while start < len(text):
        end = _end(start, size, sentence_ends, word_ends)
        piece = text[start:end]
        if piece.strip():
            found.append(Chunk(start + len(piece) - len(piece.lstrip()), piece.strip()))
        start = _next_start(end, overlap, sentence_ends, word_ends) if end < len(text) else end
    return found


def _end(start: int, size: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Where the piece that begins at *start* ends."""
    limit = start + size
    if limit >= sentence_ends[-1]:
        return sentence_ends[-1]
    for ends in (sentence_ends, word_ends):
        place = bisect_right(ends, limit)
        if place and ends[place - 1] - start > size // 2:
            return ends[place - 1]
    return limit


def _next_start(end: int, overlap: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Where the next piece begins: with the earliest sentence, or word, within *overlap* of *end*."""
    for starts in (sentence_ends, word_ends):
        place = bisect_right(starts, end - overlap - 1)
        if place < len(starts) and starts[place] < end:
            return starts[place]
    return end
