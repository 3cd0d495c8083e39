"""Whether a sentence only states what others state: a sentence of a summary, and the facts that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from memgraph.text.lexicon import load_lexicon
from memgraph.text.names import names_of
from memgraph.text.statement import COMPARED, classes_of, content_of, has_past, read_words
from memgraph.text.words import word_classes

MIN_SHARE = 0.5
"""Share of the words of a source that a sentence has that rests on it."""

_MARKS = COMPARED | {"denied", "fiction"}
_OTHERS = frozenset({"FAMILY", "FRIEND", "OTHERS"})
_USER = frozenset({"user", "users"})
_CHINESE_USER = "用户"


class Sources:
    """Sentences that another one may rest on.

    Args:
        texts: Each states something about the user.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def _read(self) -> list[_Read]:
        return [_Read(text) for text in self._texts]

    def hold(self, sentence: str) -> bool:
        """Return whether *sentence* has no word, denial, doubt, time or person that those it rests on have not."""
        read = _Read(sentence)
        below = [one for one in self._read if one.terms and read.has_most(one)]
        known = frozenset[str]().union(*(one.forms for one in below))
        return (
            bool(below)
            and all(not own.isdisjoint(known) for own in read.synonyms)
            and read.marks == frozenset[str]().union(*(one.marks for one in below))
            and read.people == frozenset[str]().union(*(one.people for one in below))
            and read.is_past == any(one.is_past for one in below)
        )


class _Read:
    """What is compared of a sentence."""

    def __init__(self, text: str) -> None:
        read = read_words(text.replace(_CHINESE_USER, ""), frozenset(names_of(text)))
        words = [word for word in read if word.text not in _USER]
        lexicon = load_lexicon()
        self.terms = frozenset(word.lemma for word in content_of(words)) - lexicon.light
        self.synonyms = [frozenset({term, *lexicon.groups.get(term, ())}) for term in self.terms]
        self.forms = frozenset[str]().union(*self.synonyms)
        self.marks = classes_of(words) & _MARKS
        self.people = frozenset(word.lemma for word in words if word_classes().get(word.text) in _OTHERS)
        self.is_past = has_past(words)

    def has_most(self, other: _Read) -> bool:
        """Return whether this has MIN_SHARE of the words of *other*, or synonyms."""
        return sum(not own.isdisjoint(self.forms) for own in other.synonyms) >= MIN_SHARE * len(other.synonyms)
