"""Corrections of one part of what is known: "It's Bath, not Bristol."."""

from __future__ import annotations

import re

from memgraph.text.normalize import find_whole, fold, lower
from memgraph.text.statement import read_words

_PHRASE = r"[^\s,;:.!?][^,;:.!?，。；：！？]{0,40}?"
_HEAD = r"(?:(?:it|that|this)(?: is|'s| was| should be)|i (?:meant?|said)|make (?:it|that))\s+"
_FORMS = (
    re.compile(rf"(?:{_HEAD})?(?P<right>{_PHRASE}),? (?:and )?not (?P<wrong>{_PHRASE})\W*"),
    re.compile(rf"(?:{_HEAD})?not (?P<wrong>{_PHRASE})(?:, but|,| but) (?:{_HEAD})?(?P<right>{_PHRASE})\W*"),
    re.compile(rf"(?:应该)?是(?P<right>{_PHRASE})[，,]?(?:而)?不是(?P<wrong>{_PHRASE})\W*"),
    re.compile(rf"不是(?P<wrong>{_PHRASE})[，,]?(?:而)?(?:应该)?是(?P<right>{_PHRASE})\W*"),
)
_OPENING = re.compile(r"([^,.:;!，。：；！—-]+)[,.:;!，。：；！—-]+\s*")
_OWN_FAULT = re.compile("我?(?:刚才|之前)?[说记写弄搞打]错了?")
_LIGHT = re.compile(r"(?:(?:the|an?|my|in|on|at) )+")
_OPENERS = frozenset({"openers", "denied", "light"})
_SUBJECTS = frozenset({"user", "others", "asks"})


def corrected(known: str, said: str) -> str:
    """Return the fact *known* with what the words *said* of the user correct in it; empty if they correct nothing.

    "Lives in Bristol." is "Lives in Bath." after "No, it's Bath, not Bristol.". The words name nothing but the two
    parts: "My sister is in Bath, not Bristol." is a statement of its own.
    """
    found = next((match for form in _FORMS if (match := form.fullmatch(_without_opening(fold(said))))), None)
    if found is None:
        return ""
    wrong, right = (_LIGHT.sub("", found[name], count=1) for name in ("wrong", "right"))
    names = any(not word.classes or "numbers" in word.classes for word in read_words(wrong))
    if not names or any(word.classes & _SUBJECTS or word.lemma == "be" for word in read_words(right)):
        return ""
    place, typed = find_whole(wrong, lower(known)), find_whole(right, lower(said))
    if place < 0 or typed < 0 or wrong == right:
        return ""
    return f"{known[:place]}{said[typed : typed + len(right)]}{known[place + len(wrong) :]}"


def _without_opening(said: str) -> str:
    """Return *said* without what only objects before a comma or a colon: "no", "sorry", "correction"."""
    while opening := _OPENING.match(said):
        if not (_OWN_FAULT.fullmatch(opening[1]) or all(word.classes & _OPENERS for word in read_words(opening[1]))):
            break
        said = said[opening.end() :]
    return said
