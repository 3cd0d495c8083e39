"""Sentences that state nothing about the life of the user: passing remarks, and what is about the assistant alone."""

from __future__ import annotations

from functools import cache

from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.normalize import KANA, WORD
from memgraph.analysis.words import language_of, word_classes, words

MAX_PROBABILITY = 0.06
"""Probability of being worth remembering up to which a sentence about the moment is a passing remark."""
MAX_PROBABILITY_OF_OTHERS = 0.005
"""The same of a sentence without a word for the moment."""
MAX_PROBABILITY_OF_ADDRESSED = 0.6
"""The same of a sentence that is addressed to the assistant."""
MIN_ENGLISH_WORDS = 2
"""Different English words that distinguish an English sentence from one of another language in the same script."""
LASTING_CLASSES = frozenset(
    {"FAMILY", "PET", "FRIEND", "OTHERS", "CONDITION", "JOB", "LANGUAGE", "HOME", "REGULAR", "PLAN", "NUMBER", "DATE"}
    | {"LIKE", "DISLIKE"}
)
"""Classes of words that a remark has none of."""

_ASSISTANT = frozenset({"you", "you're", "you've", "you'd", "you'll", "yourself", "你", "您"})
_ADDRESSING = frozenset({"you", "your", "you're", "do", "any", "so"})
"""English words of a sentence that is addressed to the assistant, in addition to those of every sentence."""
_BULLETS = ("-", "*", "•", "·")
"""What an item of a list begins with, which the text before it completes."""


def is_passing_remark(text: str) -> bool:
    """Return whether the sentence *text* of a user is about neither the user nor anything that may last.

    Any doubt makes it False: a word for the user, their people, animals, health, work, plans or an event that changes a
    life, a number, or a language other than English and Chinese. The rest is for the classifier to decide, see
    `lasting.py`; benchmarks/fifty_days.py measures it.
    """
    lower, tokens = _tokens(text)
    is_doubtful = _is_doubtful(text, lower, tokens, words("english"))
    limit = MAX_PROBABILITY if _mentions(lower, tokens, _moment_words()) else MAX_PROBABILITY_OF_OTHERS
    return not is_doubtful and confidence_of(text, language_of(text)) <= limit


def is_about_assistant(text: str) -> bool:
    """Return whether the sentence *text* of a user is about the assistant alone: "What about you?", "You're so kind!".

    The same doubts make it False as of a passing remark.
    """
    lower, tokens = _tokens(text)
    english = words("english") | _ADDRESSING
    if not _mentions(lower, tokens, _ASSISTANT) or _is_doubtful(text, lower, tokens, english):
        return False
    return confidence_of(text, language_of(text)) <= MAX_PROBABILITY_OF_ADDRESSED


def _is_doubtful(text: str, lower: str, tokens: frozenset[str], english: frozenset[str]) -> bool:
    """Return whether *text* has a word or a form for which it may be about the user, or something that lasts."""
    is_foreign = KANA.search(text) or (language_of(text) == "en" and len(tokens & english) < MIN_ENGLISH_WORDS)
    is_item_or_has_number = text.lstrip().startswith(_BULLETS) or any(map(str.isdecimal, text))
    return bool(is_foreign) or is_item_or_has_number or _mentions(lower, tokens, _lasting_words())


def names_life_event(text: str) -> bool:
    """Return whether *text* has a word for an event that changes a life, such as a birth."""
    return _mentions(*_tokens(text), words("life_events"))


def mentions_user(text: str) -> bool:
    """Return whether *text* has a word for the user, such as I and my."""
    return _mentions(*_tokens(text), words("about_user"))


def is_about_period(text: str) -> bool:
    """Return whether *text* is about the user in these days, as in "I've been learning to draw lately".

    What is addressed to the assistant is not.
    """
    lower, tokens = _tokens(text)
    if _mentions(lower, tokens, _ASSISTANT) or not _mentions(lower, tokens, words("about_user")):
        return False
    return _mentions(lower, tokens, words("period"))


def _tokens(text: str) -> tuple[str, frozenset[str]]:
    lower = text.casefold().replace("’", "'")
    return lower, frozenset(WORD.findall(lower))


def _mentions(text: str, tokens: frozenset[str], listed: frozenset[str]) -> bool:
    """Return whether one of the words *listed* occurs: an English one as a whole, others and phrases anywhere."""
    if not tokens.isdisjoint(listed):
        return True
    return any(word.replace("_", " ") in text for word in listed if "_" in word or not word.isascii())


@cache
def _lasting_words() -> frozenset[str]:
    return words("about_user") | words("life_events") | _of_classes(LASTING_CLASSES)


@cache
def _moment_words() -> frozenset[str]:
    return words("moment") | _of_classes(frozenset({"MOMENT"}))


def _of_classes(names: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word, name in word_classes().items() if name in names)
