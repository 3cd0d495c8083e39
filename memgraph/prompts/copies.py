"""Recognises answers that a small model copied from the prompt instead of taking them from the conversation."""

from __future__ import annotations

from functools import cached_property
from typing import get_args

from memgraph.models import Prompt
from memgraph.prompts.template import Language, load_template
from memgraph.text.normalize import words_of

MIN_COPIED_WORDS = 4
"""Words, or Chinese characters, of a text that occurs in the prompt by copying; fewer occur by chance."""


class PromptTexts:
    """What an item of an answer may be a copy of."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._example_words = leaked_example_words(prompt)

    def has_example_word(self, text: str) -> bool:
        """Return whether *text* contains a made-up name that only the examples contain."""
        folded = text.casefold()
        return any(word in folded for word in self._example_words)

    def contains(self, *texts: str) -> bool:
        """Return whether one of *texts* is in the rules or the examples, but not in the memory or the conversation."""
        spoken = _all_example_words() - self._example_words
        unspoken = [text for text in texts if not any(word in text.casefold() for word in spoken)]
        long = [f" {' '.join(words)} " for words in map(words_of, unspoken) if len(words) >= MIN_COPIED_WORDS]
        return any(words in self._static and words not in self._shown for words in long)

    @cached_property
    def _static(self) -> str:
        """The folded words of the rules and the examples, each between two spaces."""
        examples = (text for example in self._prompt.examples for text in (example.human, example.ai))
        return _spaced("\n".join([self._prompt.system, *examples]))

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
