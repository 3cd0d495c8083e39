"""Recognises answers that a small model copied from the prompt instead of taking them from the conversation."""

from __future__ import annotations

from typing import NamedTuple, get_args

from memgraph.models import Prompt
from memgraph.prompts.template import Language, load_template
from memgraph.text.normalize import words_of

MIN_COPIED_WORDS = 4
"""Words, or Chinese characters, of a text that occurs in the prompt by copying; fewer occur by chance."""


class PromptTexts(NamedTuple):
    """What an item of an answer may be a copy of."""

    example_words: frozenset[str] = frozenset()
    """Made-up names, case-folded, that only the examples contain."""
    spoken_words: frozenset[str] = frozenset()
    """Those of the examples' names that the conversation or the memory contains, too."""
    static: str = ""
    """The folded words of the rules and the examples, each between two spaces."""
    shown: str = ""
    """The folded words of the memory and the conversation."""

    def has_example_word(self, text: str) -> bool:
        """Return whether *text* contains a name that only the examples contain."""
        folded = text.casefold()
        return any(word in folded for word in self.example_words)

    def contains(self, text: str) -> bool:
        """Return whether *text* stands in the rules or the examples, but not in the memory or the conversation."""
        words, folded = _spaced(text), text.casefold()
        if words.count(" ") <= MIN_COPIED_WORDS or any(word in folded for word in self.spoken_words):
            return False
        return words in self.static and words not in self.shown


def prompt_texts(prompt: Prompt) -> PromptTexts:
    """Return the texts of *prompt* that answers are compared with."""
    leaked = leaked_example_words(prompt)
    static = [prompt.system, *(text for example in prompt.examples for text in (example.human, example.ai))]
    return PromptTexts(leaked, _all_example_words() - leaked, _spaced("\n".join(static)), _spaced(prompt.human))


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
