"""Whether a clause of the user states the opposite of a fact: "I love tea" does not support "Hates tea".

Only plain statements are compared: each word is part of the frame, a denial, or what is denied. "I don't only like
tea", "who doesn't like tea?" and "I love the smell of tea" leave open whether the user likes tea.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from memgraph.text.lexicon import load_lexicon
from memgraph.text.normalize import HAN, fold
from memgraph.text.similarity import PAIR_WEIGHT, Profile, Unit
from memgraph.text.stems import stem

_CLAUSE = re.compile(
    r"(?:(?!\b(?:but|so|and (?:i|he|she|it|we|they))\b)[^.,;:!?\n。，、；：！？…()（）])++[?？]?", re.IGNORECASE
)
_ASKS = re.compile(r"[?？吗呢么]\s*$")
_TOKEN = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])[^\W_])+(?:'(?:(?![{HAN}])[^\W_])+)*")
_FRAME_WORDS = """
    i i'm he she they it user am is are has have do does a an the can really absolutely truly in at on to 用户
    我 他 她 的 了 是 有 很 真 也 会
"""
_DENIAL_WORDS = """
    not no never don't doesn't isn't aren't cannot can't hasn't haven't dislike dislikes hate hates detest detests
    loathe loathes stand 不 没有 没 不是 从不 讨厌 厌恶 反感
"""
_FRAME = frozenset(_FRAME_WORDS.split())
_DENIALS = frozenset(_DENIAL_WORDS.split())
_DENIAL_MARKS = frozenset({"denials", "dislikes"})
_MOMENTARY = frozenset({"want", "wish", "hope", "希望", "想让", "想被"})


class _Statement:
    """A clause with what it affirms or denies.

    Args:
        clause: Without a comma.
    """

    def __init__(self, clause: str) -> None:
        self.profile = Profile(clause)
        self.units = [unit for unit in self.profile.units if unit.weight > PAIR_WEIGHT and unit.word not in _FRAME]
        self.is_denial = not _DENIAL_MARKS.isdisjoint(self.profile.marks)
        self._clause = clause
        self._is_question = _ASKS.search(clause) is not None

    @cached_property
    def _tokens(self) -> Sequence[str]:
        return _TOKEN.findall(fold(self._clause))

    @property
    def is_certain(self) -> bool:
        """Whether it affirms all of its words, or denies them all once."""
        marks = self.profile.marks
        if self._is_question or not self.units or len(marks) > 1 or not _DENIAL_MARKS.issuperset(marks):
            return False
        # "no I love tea" and "don't I love tea" begin with a denial that denies nothing of what follows
        if self.is_denial and self._tokens[0] in _DENIALS and load_lexicon().marks[self._tokens[0]] == "denials":
            return False
        if any(unit.is_denied != self.is_denial or unit.word in _MOMENTARY for unit in self.units):
            return False
        return all(map(self._is_plain, self._tokens))

    def _is_plain(self, token: str) -> bool:
        """Return whether *token* is part of what is affirmed or denied, or of the frame around it."""
        words = {unit.word for unit in self.units}
        if re.match(f"[{HAN}]", token):
            known = sorted(words | _DENIALS | _FRAME, key=len, reverse=True)
            return not re.sub("|".join(map(re.escape, known)), "", token)
        return token in _FRAME or token in _DENIALS or token in words or stem(token) in words

    def contradicts(self, other: _Statement) -> bool:
        """Return whether it denies exactly what *other* affirms, or affirms what it denies; both are certain."""
        if self.is_denial == other.is_denial or self.profile.numbers != other.profile.numbers:
            return False
        return _covers(self.units, other.units) and _covers(other.units, self.units)

    def may_support(self, other: _Statement) -> bool:
        """Return whether it may mean the same as *other*, also of something named before: "I hate it", "not"."""
        if self.is_denial != other.is_denial or not (self.units or self.is_denial):
            return False
        return _covers(other.units, self.units) or _covers(self.units, other.units)


def _covers(units: Sequence[Unit], others: Iterable[Unit]) -> bool:
    """Return whether each of *others* is, denied or not, among *units*."""
    return all(any(not unit.forms.isdisjoint(other.forms) for unit in units) for other in others)


def states_opposite(content: str, quote: str, said: str) -> bool:
    """Return whether a clause of a quote certainly states the opposite of a fact, and no other clause may support it.

    Args:
        content: The fact.
        quote: The user's words that it rests on, as they stand in *said*.
        said: The user's own words in that turn.
    """
    claims = [claim for clause in _CLAUSE.findall(content) if (claim := _Statement(clause)).is_certain]
    if not claims:
        return False
    clauses = [clause for clause in _CLAUSE.findall(said) if clause.strip()]
    quoted = [clause for clause in clauses if clause.strip() in quote or quote in clause]
    statements = [statement for clause in quoted if (statement := _Statement(clause)).is_certain]
    opposed = [claim for claim in claims if any(map(claim.contradicts, statements))]
    return bool(opposed) and not any(_Statement(clause).may_support(claim) for claim in opposed for clause in clauses)
