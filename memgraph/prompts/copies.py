"""Recognises answers that a small model copied from the prompt instead of taking them from the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from memgraph.models import Prompt
from memgraph.prompts.template import load_template
from memgraph.text.normalize import words_of
from memgraph.text.words import LANGUAGES

MIN_COPIED_WORDS = 4
"""Words, or Chinese characters, of a text that occurs in the prompt by copying; fewer occur by chance."""


class PromptTexts:
    """What an item of an answer may be a copy of."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        words = {word.casefold() for language in LANGUAGES for word in load_template(language).example_words}
        self._spoken_words = {word for word in words if word in prompt.human.casefold()}
        self._example_words = words - self._spoken_words

    def is_copied(self, *texts: str, is_quoted: bool = False) -> bool:
        """Return whether one of *texts* was copied from the examples or the rules.

        It was if it contains a made-up name that only the examples contain, or if it is in the rules or the examples,
        but not in the memory or the conversation. That does not count if *is_quoted*: the user said it.
        """
        if any(word in text.casefold() for text in texts for word in self._example_words):
            return True
        return not is_quoted and self._is_static(texts)

    def _is_static(self, texts: Sequence[str]) -> bool:
        unspoken = [text for text in texts if not any(word in text.casefold() for word in self._spoken_words)]
        long = [_spaced(text) for text in unspoken if len(words_of(text)) >= MIN_COPIED_WORDS]
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


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "
