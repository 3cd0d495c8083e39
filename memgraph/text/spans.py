"""Spans: which parts of a turn are its author's own words, and how parts of a turn keep them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memgraph.models import Span, SpanOrigin, Turn

PLACEHOLDER = "\ufffc"
"""Stands for words of another origin if the words around them are read: Unicode's object replacement character."""


class TurnPiece(NamedTuple):
    """Consecutive words of one origin."""

    text: str
    origin: SpanOrigin


def pieces_of(turn: Turn) -> list[TurnPiece]:
    """Return the text of *turn* in pieces of one origin; joined, they are the whole text."""
    pieces: list[TurnPiece] = []
    end = 0
    for span in turn.spans:
        pieces += [
            TurnPiece(turn.text[end : span.start], "user"),
            TurnPiece(turn.text[span.start : span.end], span.origin),
        ]
        end = span.end
    return [piece for piece in [*pieces, TurnPiece(turn.text[end:], "user")] if piece.text]


def own_pieces(turn: Turn) -> list[str]:
    """Return the author's own words in *turn*, one text for each place between the words of others."""
    return [piece.text for piece in pieces_of(turn) if piece.origin == "user"]


def own_words(turn: Turn) -> str:
    """Return the author's own words in *turn*, each piece a paragraph; a turn without spans is returned as it is.

    The words around a quotation are not joined: they would be a sentence that was never said.
    """
    if not turn.spans:
        return turn.text
    stripped = (piece.strip() for piece in own_pieces(turn))
    return "\n\n".join(piece for piece in stripped if any(map(str.isalnum, piece)))


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return *spans* sorted and apart. Of two that overlap the one that begins first, or else is longer, counts."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start = max(span.start, merged[-1].end) if merged else span.start
        if start < span.end:
            merged.append(span.model_copy(update={"start": start}))
    return tuple(merged)


def slice_turn(turn: Turn, start: int, end: int, *, prefix: str = "") -> Turn:
    """Return *turn* with the text `prefix + text[start:end]` and the spans of that part."""
    return turn.model_copy(
        update={"text": prefix + turn.text[start:end], "spans": _slice_spans(turn.spans, start, end, len(prefix))}
    )


def _slice_spans(spans: Sequence[Span], start: int, end: int, offset: int) -> tuple[Span, ...]:
    first = bisect_right(spans, start, key=lambda span: span.end)  # in order, and a long turn is sliced many times
    last = bisect_left(spans, end, first, key=lambda span: span.start)
    return tuple(
        Span(start=max(span.start, start) - start + offset, end=min(span.end, end) - start + offset, origin=span.origin)
        for span in spans[first:last]
    )
