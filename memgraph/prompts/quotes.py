"""Where the words of an answer are from: quoted from the conversation, or copied from the prompt.

Models change marks, case and spacing when they quote, and small ones copy the rules or the examples.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, get_args

from memgraph.models import MAX_QUOTE_CHARS, Prompt, Turn
from memgraph.prompts.template import Language, load_template
from memgraph.text.normalize import words_of
from memgraph.text.secrets import mask
from memgraph.text.spans import own_words

MIN_COPIED_WORDS = 4
"""Words, or Chinese characters, of a text that occurs in the prompt by copying; fewer occur by chance."""

_MARKS = str.maketrans(dict.fromkeys('’‘“”„`´"「」『』«»', "'"))
_ELLIPSIS = re.compile(r"\[\.\.\.\]|\.{2,}")
_EDGES = " '.,:;!?()-[]*_、。，！？；：（）"
_SPACED = re.compile(r"[a-z0-9\u00c0-\u024f\u0370-\u052f]")
_MIN_CHARS = 2


# -- quoted from the conversation ------------------------------------------------------------------


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


# -- copied from the prompt ---------------------------------------------------------------------------


class PromptTexts:
    """What an item of an answer may be a copy of."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._example_words = leaked_example_words(prompt)

    def is_copied(self, *texts: str, is_quoted: bool = False) -> bool:
        """Return whether one of *texts* was copied from the examples or the rules.

        It was if it contains a made-up name that only the examples contain, or if it is in the rules or the examples,
        but not in the memory or the conversation. That does not count if *is_quoted*: the user said it.
        """
        if any(word in text.casefold() for text in texts for word in self._example_words):
            return True
        return not is_quoted and self._is_static(texts)

    def _is_static(self, texts: Sequence[str]) -> bool:
        spoken = _all_example_words() - self._example_words
        unspoken = [text for text in texts if not any(word in text.casefold() for word in spoken)]
        long = [f" {' '.join(words)} " for words in map(words_of, unspoken) if len(words) >= MIN_COPIED_WORDS]
        return any(words in self._static and words not in self._shown for words in long)

    @cached_property
    def _static(self) -> str:
        """The folded words of the rules and the examples, each between two spaces."""
        examples = (text for example in self._prompt.examples for text in (example.human, example.ai))
        return _spaced_static("\n".join([self._prompt.system, *examples]))

    @cached_property
    def _shown(self) -> str:
        """The folded words of the memory and the conversation."""
        return _spaced(self._prompt.human)


def leaked_example_words(prompt: Prompt) -> frozenset[str]:
    """Return the examples' made-up names, case-folded, that neither the conversation nor the memory contains.

    An answer with one of them was copied from an example.
    """
    shown = prompt.human.casefold()
    return frozenset(word for word in _all_example_words() if word not in shown)


def _all_example_words() -> frozenset[str]:
    return frozenset(
        word.casefold() for language in get_args(Language) for word in load_template(language).example_words
    )


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


@lru_cache(maxsize=8)
def _spaced_static(text: str) -> str:
    """Return the same as `_spaced`. The rules and examples are the same in all prompts, and no text of a user."""
    return _spaced(text)
