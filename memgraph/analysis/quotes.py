"""Finds the user's words that a fact rests on, although models change marks, case, spacing or a word of a quote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz

from memgraph.analysis.normalize import IS_HAN, words_of
from memgraph.analysis.secrets import mask
from memgraph.analysis.sentences import sentences
from memgraph.analysis.words import words
from memgraph.models import MAX_QUOTE_CHARS, Turn

MIN_ALIGNMENT = 85.0
"""The least similarity, in percent, of a quote and the words that it repeats."""
MIN_ALIGNED_CHARS = 8
"""A shorter quote must be exact: one letter makes another word of it. A Chinese character counts as two."""
MAX_ALIGNED_CHARS = 20_000
"""Characters of each piece of a turn that are searched for a quote that is not exact."""
MAX_INSIDE_WORDS = 100
"""Occurrences of a quote inside longer words after which it is no longer searched for as a word."""
MAX_AROUND = 1_000
"""Characters before and after a quote in which the sentences that it touches are looked for."""

_MARKS = str.maketrans(dict.fromkeys('’‘“”„`´"「」『』«»', "'"))
_ELLIPSIS = re.compile(r"\[\.\.\.\]|\.{2,}")
_EDGES = " '.,:;!?()-[]*_、。，！？；：（）"
_SPACED = re.compile(r"[a-z0-9\u00c0-\u024f\u0370-\u052f]")
_WORD = re.compile(r"\w+")
_QUOTATION = re.compile(r"[ ,:：，]{0,3}[\"“„「『]\w")
_TITLE = re.compile(
    r"[ ,:：，]{0,3}(?:\"\w[^\"\n]{0,79}\"|[“„]\w[^“”\n]{0,79}[“”]|「\w[^「」\n]{0,79}」|『\w[^『』\n]{0,79}』)"
)
_MIN_CHARS = 2  # of which a Chinese character is two


class QuotedSentences(NamedTuple):
    """The sentences that a quote touches."""

    before: str
    """The sentence before them; empty if there is none."""
    touched: tuple[str, ...]


def sentences_of(quote: str, text: str) -> QuotedSentences:
    """Return the sentences of *text* that *quote*, a part of it, touches; none if it is not a part of it.

    A sentence that goes further than MAX_AROUND characters from the quote is cut.
    """
    at = text.find(quote)
    position, start, before = 0, min(at, MAX_AROUND), ""
    touched: list[str] = []
    nearby = text[at - start : at + len(quote) + MAX_AROUND]
    for sentence in sentences(nearby) if at >= 0 else ():
        end = position + len(sentence)
        if position < start + len(quote) and start < end:
            touched.append(sentence)
        elif not touched:
            before = sentence
        position = end
    return QuotedSentences(before, tuple(touched))


class FoundQuote(NamedTuple):
    """The user's words, and the turn that contains them."""

    turn: Turn
    words: str
    """As the user wrote them, at most MAX_QUOTE_CHARS characters."""

    def is_cut_with(self, content: str) -> bool:
        """Return whether the words and *content* both end where a quotation of the user's turn begins.

        A model that is held to a JSON schema ends its text with the mark that begins the quotation.
        """
        last = next(reversed(_WORD.findall(content)), "")
        words, text = self.words.rstrip(_EDGES), self.turn.text
        end = text.find(words) + len(words)
        return bool(last) and last == last.lower() and words.endswith(last) and _QUOTATION.match(text, end) is not None

    def completed(self, content: str) -> CompletedFact | None:
        """Return *content* and the words with the title that follows these; None if the user wrote none there.

        A title is a quotation of one line with at most 80 characters and no secret.
        """
        words, text = self.words.rstrip(_EDGES), self.turn.own_words
        title = _TITLE.match(text, text.find(words) + len(words)) if words in text else None
        extended = words + title[0] if title else ""
        if title is None or len(extended) > MAX_QUOTE_CHARS or mask(extended) != extended:
            return None
        return CompletedFact(content.rstrip(_EDGES) + title[0], FoundQuote(self.turn, extended))


class CompletedFact(NamedTuple):
    """A fact that ended before a title, with the title."""

    content: str
    quoted: FoundQuote


class QuoteFinder:
    """Finds quotes in the turns that a prompt showed.

    Args:
        turns: The turns, in their order.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = [_SearchedTurn(turn) for turn in reversed(list(turns))]

    def find(self, quote: str, *, first: Turn | None = None) -> FoundQuote | None:
        """Return the user's own words that *quote* repeats, exactly or nearly.

        Nearly counts only if no words of others are as similar.

        Args:
            quote: The words as the model wrote them.
            first: The turn that the model named; it is searched first, then the others, the latest first.

        Returns:
            None also for a quote with a secret: it is kept as long as its fact, and masked elsewhere.
        """
        wanted = _Quote(quote)
        turns = sorted(self._turns, key=lambda searched: searched.turn is not first)
        for searched in turns:
            words = searched.own.find(wanted) if searched.is_users else None
            if words and words in searched.masked:
                return FoundQuote(searched.turn, words)
        return self._align(wanted, turns) if wanted.can_be_aligned else None

    def find_assistants(self, quote: str) -> Turn | None:
        """Return the latest turn in which the assistant wrote *quote* in its own words."""
        wanted = _Quote(quote)
        for searched in self._turns:
            if searched.turn.role == "ai" and searched.own.find(wanted):
                return searched.turn
        return None

    def title_after(self, content: str) -> str:
        """Return the title that the user wrote after the last word of *content*, with what separates them.

        Empty if *content* has an end mark or ends with a name, or if no title, or more than one, follows that word.
        """
        word = next(reversed(_WORD.findall(content)), "")
        if not word or word != word.lower() or not content.rstrip().endswith(word):
            return ""
        titles = {
            title[0]
            for searched in self._turns
            if searched.is_users
            for title in _TITLE.finditer(searched.own.text)
            if _ends_with_word(searched.own.text, title.start(), word) and title[0] in searched.masked
        }
        return titles.pop() if len(titles) == 1 else ""

    def _align(self, quote: _Quote, turns: Iterable[_SearchedTurn]) -> FoundQuote | None:
        best, found = MIN_ALIGNMENT, None
        for searched in turns:
            score, words = searched.own.align(quote, best) if searched.is_users else (0.0, "")
            if words and words in searched.masked and (found is None or score > best):
                best, found = score, FoundQuote(searched.turn, words)
        others = (piece for searched in self._turns for piece in searched.others)
        return found if found and not any(piece.align(quote, best)[1] for piece in others) else None


def find_quote(quote: str, text: str) -> str | None:
    """Return the part of *text* that *quote* repeats.

    Quotation marks, case, width, white space, and punctuation at the ends do not matter. An ellipsis in *quote*
    stands for words left out.
    """
    return _Piece(text).find(_Quote(quote))


class _Quote:
    """A quote as the model wrote it."""

    def __init__(self, text: str) -> None:
        self.text = text[: 2 * MAX_QUOTE_CHARS]
        segments = [segment.strip(_EDGES) for segment in _ELLIPSIS.split(_normalize(self.text))]
        self.joined = "".join(segments)
        size = len(self.joined) + len(IS_HAN.findall(self.joined))
        self.segments = list(filter(None, segments)) if size >= _MIN_CHARS else []
        self.can_be_aligned = size >= MIN_ALIGNED_CHARS


class _SearchedTurn:
    """A turn with its pieces, which are cut when they are first searched."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.is_users = turn.is_users

    @cached_property
    def own(self) -> _Piece:
        """The author's own words, be that the user, the assistant or another speaker."""
        return _Piece(self.turn.own_words)

    @cached_property
    def others(self) -> list[_Piece]:
        """The words that are not the user's."""
        quoted = [_Piece(text) for text, origin in self.turn.pieces if origin != "user"]
        return quoted if self.is_users else [self.own, *quoted]

    @cached_property
    def masked(self) -> str:
        return mask(self.own.text)


class _Piece:
    """Words of one author, normalised when they are first searched."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _normal(self) -> str:
        return _normalize(self.text)

    @cached_property
    def _positions(self) -> list[int]:
        return _positions_of(self.text)

    def find(self, quote: _Quote) -> str | None:
        """Return the words that *quote* repeats exactly."""
        normal = self._normal
        if not quote.segments or not all(segment in normal for segment in quote.segments):
            return None
        positions = self._positions
        start, end = None, 0
        for segment in quote.segments:
            at = _find_words(segment, normal, positions, self.text, end)
            if at < 0:
                return None
            start, end = at if start is None else start, at + len(segment)
        return self.text[positions[start or 0] : positions[end - 1] + 1][:MAX_QUOTE_CHARS].strip()

    def align(self, quote: _Quote, least: float) -> tuple[float, str]:
        """Return how similar the most similar words are, in percent, and these; 0 and "" below *least*.

        Words that mean the opposite are not similar.
        """
        normal, wanted = self._normal[:MAX_ALIGNED_CHARS], quote.joined
        if len(normal) < len(wanted):  # else the text would be searched in the quote
            score, start, end = fuzz.ratio(wanted, normal), 0, len(normal)
        else:
            found = fuzz.partial_ratio_alignment(wanted, normal, score_cutoff=least)
            score, start, end = (found.score, found.dest_start, found.dest_end) if found else (0.0, 0, 0)
        if score < least or start >= end:
            return 0.0, ""
        words = self._whole_words(self._positions[start], self._positions[end - 1] + 1)
        return (0.0, "") if _negations(words) != _negations(quote.text) else (score, words)

    def _whole_words(self, start: int, end: int) -> str:
        """Return the words that the characters from *start* to *end* are in; none is longer than a quote may be."""
        while end - start < MAX_QUOTE_CHARS and _joins(self.text[start - 1 : start + 1]):
            start -= 1
        while end - start < MAX_QUOTE_CHARS and _joins(self.text[end - 1 : end + 1]):
            end += 1
        return self.text[start:end][:MAX_QUOTE_CHARS].strip()


def _negations(text: str) -> int:
    """Return how many words of *text* negate."""
    return sum(word in words("denials") or word.endswith("n't") for word in words_of(text))


def _normalize(text: str) -> str:
    """Return *text* as it is compared, without white space."""
    if text.isascii():  # as most texts are: each character stays one, so that they are folded at once
        return "".join(text.lower().translate(_MARKS).split())
    return "".join(map(_fold, text))


def _positions_of(text: str) -> list[int]:
    """Return the position in *text* of each character of its normal form."""
    if text.isascii():
        return [position for position, character in enumerate(text) if not character.isspace()]
    return [position for position, character in enumerate(text) for _ in _fold(character)]


@lru_cache(maxsize=4_096)  # only single characters are kept, never a user's text
def _fold(character: str) -> str:
    return "".join(unicodedata.normalize("NFKC", character).casefold().translate(_MARKS).split())


def _find_words(segment: str, normal: str, positions: list[int], text: str, start: int) -> int:
    """Return where *segment* begins in *normal*, not inside a word; -1 if it is not there, or often inside words."""
    for _ in range(MAX_INSIDE_WORDS):
        at = normal.find(segment, start)
        if at < 0:
            break
        first, last = positions[at], positions[at + len(segment) - 1]
        if not (_joins(text[first - 1 : first + 1]) or _joins(text[last : last + 2])):
            return at
        start = at + 1
    return -1


def _ends_with_word(text: str, end: int, word: str) -> bool:
    """Return whether *word* is the last one of *text* before *end*; marks are between them, if anything."""
    return _WORD.findall(text[max(0, end - MAX_AROUND) : end])[-1:] == [word]


def _joins(pair: str) -> bool:
    """Return whether the two characters belong to one word of a script with spaces."""
    return len(pair) == 2 and all(_SPACED.match(character.casefold()) for character in pair)  # noqa: PLR2004
