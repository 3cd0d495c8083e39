"""Corrections of one part of what is known: "It's Bath, not Bristol."."""

from __future__ import annotations

import re
from typing import NamedTuple

from memgraph.analysis.normalize import find_whole, fold, lower
from memgraph.analysis.statement import classes_of, read_words

MAX_CHARS = 200  # of a correction; a longer text, of which each word may be an opening, is none
_PHRASE = r"[^\s,;:.!?][^,;:.!?，。；：！？]{0,40}?"
_HEAD = r"(?:no )?(?:(?:it|that|this)(?: is|'s| was| should be)|i (?:meant?|said)|make (?:it|that))\s+"
_END = r"[^\w?？]*"
_FORMS = (
    re.compile(rf"(?:{_HEAD})?(?P<right>{_PHRASE}),? (?:and )?not (?P<wrong>{_PHRASE}){_END}"),
    re.compile(rf"(?:{_HEAD})?not (?P<wrong>{_PHRASE})(?:, but|,| but) (?:{_HEAD})?(?P<right>{_PHRASE}){_END}"),
    re.compile(rf"(?:应该)?是(?P<right>{_PHRASE})[，,]?(?:而)?不是(?P<wrong>{_PHRASE}){_END}"),
    re.compile(rf"不是(?P<wrong>{_PHRASE})[，,]?(?:而)?(?:应该)?是(?P<right>{_PHRASE}){_END}"),
)
_OPENING = re.compile(r"([^,.:;!，。：；！—-]+)[,.:;!，。：；！—-]+\s*")
_OWN_FAULT = re.compile("我?(?:刚才|之前)?[说记写弄搞打]错了?")
_WORD = re.compile(r"(?<!\w)\w++\s+")
_OPENERS = frozenset({"openers", "denied", "light"})
_LEADS = frozenset({"openers", "light", "articles", "own", "prepositions"})
"""Classes of words before what a part names: "actually", "in the"."""
_SUBJECTS = frozenset({"user", "others", "asks"})


class Correction(NamedTuple):
    """What a part of a fact is in truth; both parts in the form of `fold`."""

    wrong: str
    right: str
    as_typed: str
    """The right part as the user wrote it."""

    def of(self, known: str) -> str:
        """Return the fact *known* with its wrong part replaced; empty if it has no such part.

        "Lives in Bristol." is "Lives in Bath." after "No, it's Bath, not Bristol.".
        """
        place = find_whole(self.wrong, lower(known))
        return f"{known[:place]}{self.as_typed}{known[place + len(self.wrong) :]}" if place >= 0 else ""


def read_correction(said: str) -> Correction | None:
    """Return what the words *said* of the user correct; None if they correct nothing.

    They name nothing but the two parts: "My sister is in Bath, not Bristol." is a statement of its own.
    """
    if len(said) > MAX_CHARS:
        return None
    plain = _without_opening(fold(said))
    found = next((match for form in _FORMS if (match := form.fullmatch(plain))), None)
    if found is None:
        return None
    wrong, right = (_without_leads(found[name], _LEADS) for name in ("wrong", "right"))
    names = any(not word.classes or "numbers" in word.classes for word in read_words(wrong))
    place = find_whole(right, lower(said))
    if not names or wrong == right or place < 0:
        return None
    states = any(word.classes & _SUBJECTS or word.lemma == "be" for word in read_words(right))
    return None if states else Correction(wrong, right, said[place : place + len(right)])


def _without_opening(said: str) -> str:
    """Return *said* without what only objects: "actually", and "no" or "correction" before a comma or a colon."""
    while opening := _OPENING.match(said):
        if not (_OWN_FAULT.fullmatch(opening[1]) or all(word.classes & _OPENERS for word in read_words(opening[1]))):
            break
        said = said[opening.end() :]
    return _without_leads(said, frozenset({"openers"}))


def _without_leads(text: str, classes: frozenset[str]) -> str:
    """Return *text* without the words of *classes* that it begins with; its last word stays."""
    while (word := _WORD.match(text)) and classes_of(read_words(word[0])) & classes:
        text = text[word.end() :]
    return text
