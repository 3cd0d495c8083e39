"""Similarity of two sentences about one person: whether they mean the same.

Words count by their stems and synonyms. Sentences that differ in a number, a name, the person, the time or the denial
of what they share are not alike, however many words they share.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import accumulate
from typing import NamedTuple

from memgraph.analysis.clusters import split_words, vocabulary
from memgraph.analysis.lexicon import LIKE, LIKE_HAN, Lexicon, load_lexicon
from memgraph.analysis.names import names_of, numbers_of
from memgraph.analysis.normalize import (
    HAN,
    IS_HAN,
    MIN_SHARED_CHARS,
    MIN_SHARED_SHARE,
    fact_key,
    fold,
    is_same_form,
    stem,
)

ACTION_WEIGHT = 0.6
"""Of a verb of the lexicon; other words weigh 1."""
CHARACTER_WEIGHT = 0.4
"""Of a Chinese character that is in no known word."""
CONFLICT_COST = 2.0
"""Weight of the words that one sentence has in place of words of the other."""
DETAIL_COST = 0.25
"""Weight of the words that one sentence has in addition to those of the other."""
SAME_WORDS = 0.9
"""Of the words of two sentences that oppose each other, so many are the same: the rest may make the difference."""
MAX_CHARS = 2_000
"""Characters of a text that are compared, the first ones: no new fact has more."""
MAX_UNITS = 200
"""Words of a sentence that are compared, the first ones."""
MAX_CANDIDATES = 48
"""Texts that are compared in full with a new one: those that share most with it."""

_TOKEN = re.compile(rf"~\w+|[{HAN}]+|(?:(?![{HAN}])[^\W_])+(?:['-](?:(?![{HAN}])[^\W_])+)*|[,.;:!?。！？]")
_DIGITS = re.compile(r"\d++")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SCOPE_ENDS = frozenset(",.;:!?。") | {"but", "但", "但是", "更"}
_FREE_ROLES = frozenset({"of", "named", "by", "with"})
"""What a paraphrase may leave out: "a dog called Max" and "Max, a dog"; "deploys with" and "uses for deployments"."""
_DIRECTIONS = frozenset({"from", "to", "than"})
_WEAK_LEADS = frozenset({"like", "use", "work", "live", "喜欢", "用", "工作", "住", "做"})
"""Groups of verbs that mean little before a noun: "likes to bake" is "bakes"."""
_NUMERALS = frozenset("零〇一二两三四五六七八九十百千万")
_ARTICLES = frozenset({"a", "an", "the"})
_POSSESSIVE = re.compile(r"'s?$")


class Unit(NamedTuple):
    """A word, with its synonyms, as it counts in a comparison."""

    forms: frozenset[str]
    weight: float
    is_denied: bool
    word: str
    role: str = ""
    """What a preposition before it makes it, such as "from"."""

    is_subject: bool = False
    """Whether the sentence begins with it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Its forms, and its beginning: one of them is that of every word that is the same."""
        return (*self.forms, f"{self.word[:MIN_SHARED_CHARS]}*")

    @property
    def is_relation(self) -> bool:
        """Whether it may stand between who does something and to whom."""
        return self.weight in {ACTION_WEIGHT, CHARACTER_WEIGHT}


@dataclass(slots=True)
class _Reader:
    """Reads the words of one text in their order."""

    lexicon: Lexicon
    units: list[Unit] = field(default_factory=list[Unit])
    people: set[str] = field(default_factory=set[str])
    kinds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    times: set[str] = field(default_factory=set[str])
    marks: list[str] = field(default_factory=list[str])
    is_denied: bool = False
    role: str = ""
    has_begun: bool = False

    def read(self, text: str) -> None:
        tokens = _TOKEN.findall(self.lexicon.phrases.sub(self._replace_phrase, fold(text)))
        for token in tokens:
            if token in _SCOPE_ENDS:
                self.is_denied = False
            elif token.startswith("~"):
                self._mark(token[1:])
            elif IS_HAN.match(token):
                self._read_chinese(token)
            else:
                self._read_word(token)

    def _replace_phrase(self, match: re.Match[str]) -> str:
        lexicon = self.lexicon
        return lexicon.replaced.get(match[0]) or f" ~{lexicon.marks[match[0]]} "

    def _mark(self, mark: str) -> None:
        self.marks.append(mark)
        if mark in {"denials", "dislikes", "contrasts"}:
            self.is_denied = True
        else:
            self.times.add(mark)

    def _read_word(self, word: str) -> None:
        if word in _ARTICLES:
            return
        mark = self.lexicon.marks.get(word)
        if mark:
            self._mark(mark)
        if mark == "dislikes":
            word = LIKE
        self._follow(word)
        word = _POSSESSIVE.sub("", word)
        if mark not in {"denials", "contrasts"}:
            self._add(word, stem(word))

    def _follow(self, word: str) -> None:
        """Note the role of the next word, if *word* gives one."""
        if role := self.lexicon.roles.get(word):
            self.role = role
        elif word == "be":
            self.role = ""

    def _read_chinese(self, run: str) -> None:
        start = 0
        for match in self.lexicon.chinese.finditer(run):
            word = self.lexicon.replaced.get(match[0], match[0])
            self._add_unknown(run[start : match.start()], "of" if word == "的" else "")
            start = match.end()
            self._follow(word)
            if word in _SCOPE_ENDS:
                self.is_denied = False
            if mark := self.lexicon.marks.get(word):
                self._mark(mark)
                if mark == "dislikes":
                    word = LIKE_HAN
            if mark not in {"denials", "contrasts", "plans"}:
                self._add(word, word)
        self._add_unknown(run[start:])

    def _add(self, word: str, key: str) -> None:
        lexicon = self.lexicon
        begins, self.has_begun = not self.has_begun, True
        if (person := lexicon.people.get(word)) and not self.is_denied:
            self.people.add(person)
        if not self.is_denied:
            for kind, member in lexicon.kinds.get(key, ()):
                self.kinds.setdefault(kind, set()).add(member)
        if key in lexicon.light or word in lexicon.light or word.isdigit():
            return
        forms = lexicon.groups.get(key) or frozenset({person or key})
        is_action = key in lexicon.actions or not forms.isdisjoint(lexicon.actions)
        weight = ACTION_WEIGHT if is_action else 1.0
        role = self._take_role(key)
        if is_action and role == "to":  # an infinitive
            role = ""
        self.units.append(Unit(forms, weight, self.is_denied, key, role, begins))

    def _take_role(self, key: str) -> str:
        """Return the role that a preposition gave to this word; the next one has none."""
        gives_one = key in self.lexicon.roles
        role, self.role = self.role, self.role if gives_one else ""
        return "" if gives_one else role

    def _add_unknown(self, run: str, role: str = "") -> None:
        """Add Chinese words that the lexicon lacks; *role* is what the character after them makes them."""
        for word in split_words(run, "zh", vocabulary()):
            if word not in self.lexicon.light and word not in _NUMERALS:
                weight, own = 1.0 if len(word) > 1 else CHARACTER_WEIGHT, self._take_role(word) or role
                self.units.append(Unit(frozenset({word}), weight, self.is_denied, word, own, not self.has_begun))
            self.has_begun = True


class Profile:
    """What of a text is compared. Its words are read when they are first needed: most texts differ in a number.

    Args:
        text: A sentence about the user.
    """

    def __init__(self, text: str) -> None:
        self._text = text[:MAX_CHARS]

    @cached_property
    def _read(self) -> _Reader:
        reader = _Reader(load_lexicon())
        reader.read(self._text)
        return reader

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        unique: dict[tuple[str, bool], Unit] = {}
        for unit in self._read.units[:MAX_UNITS]:
            unique.setdefault((unit.word, unit.is_denied), unit)
        return tuple(unique.values())

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(key for unit in self.units for key in unit.keys)

    @property
    def marks(self) -> Sequence[str]:
        """The words that deny, contrast, or place it in the past or the future, by their kinds in their order."""
        return self._read.marks

    @cached_property
    def weight(self) -> float:
        return sum(unit.weight for unit in self.units)

    @cached_property
    def numbers(self) -> frozenset[str]:
        numbers = numbers_of(self._text, in_words=True)
        return numbers if "1" not in numbers else numbers - {"1"} | (numbers_of(self._text) & {"1"})

    @cached_property
    def digits(self) -> tuple[str, ...]:
        """The runs of digits in their order."""
        return tuple(_DIGITS.findall(_THOUSANDS.sub("", fold(self._text))))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(names_of(self._text))

    def is_comparable(self, other: Profile) -> bool:
        """Return whether both may mean the same: about one person and time, with no number or name of their own."""
        if self._has_other_digits(other) or _differ(self.numbers, other.numbers):
            return False
        ours, theirs = self._read, other._read
        if ours.people != theirs.people or ours.times != theirs.times:
            return False
        if any(theirs.kinds.get(kind) and _differ(members, theirs.kinds[kind]) for kind, members in ours.kinds.items()):
            return False
        return not _differ(self.own_names(other), other.own_names(self))

    def _has_other_digits(self, other: Profile) -> bool:
        """Return whether both have several numbers, and not in the same order; single ones are compared by value."""
        fewer, more = sorted((self.digits, other.digits), key=len)
        rest = iter(more)
        return len(fewer) > 1 and not all(digits in rest for digits in fewer)

    def own_names(self, other: Profile) -> frozenset[str]:
        """Return the names of this text that *other* has in no form, also not as an ordinary word."""
        words = {unit.word for unit in other.units}
        return frozenset(
            name for name in self.names if not any(is_same_form(name, word) for word in words | other.names)
        )

    def score(self, other: Profile) -> float:
        """Return the similarity to *other*, in [0, 1]."""
        match = self._matched(other)
        if match is None or match.is_replaced or match.is_reversed:
            return 0.0
        return _similarity(match.same, self.weight, other.weight)

    def possible_score(self, other: Profile) -> float:
        """Return the similarity to *other* if all words that may be the same are: no measure of both is higher."""
        return _similarity(min(self._shared(other), self.weight, other.weight), self.weight, other.weight)

    def _shared(self, other: Profile) -> float:
        """Return the weight of the words that may be the same as some of *other*."""
        return sum(unit.weight for unit in self.units if not other.keys.isdisjoint(unit.keys))

    def highest_score(self, shared: float) -> float:
        """Return the similarity to a text that shares words of the weight *shared* and adds none: others have less."""
        shared = min(shared, self.weight)
        return _similarity(shared, self.weight, shared)

    def overlap(self, other: Profile) -> float:
        """Return the share of the words of both that they have in common, in [0, 1]: a model may know what that means.

        Sentences about other people, times, numbers or names have 0, and those of which one denies the other.
        Other verbs, roles and values count as any other word.
        """
        if match := self._matched(other):
            return min(1.0, match.same / (self.weight + other.weight - match.same))  # sums of weights are rounded
        return 0.0

    def _matched(self, other: Profile) -> _Match | None:
        """Return which words both share; None if they cannot mean the same, or one denies what the other states."""
        if not self.is_comparable(other) or not self.units or not other.units:
            return None
        first, second = (self, other) if self._text <= other._text else (other, self)
        match = _match(first.units, second.units)
        return match if match.opposed < match.same else None

    def opposes(self, other: Profile) -> bool:
        """Return whether both have the same words, of which one denies most, or has them in other places."""
        least = SAME_WORDS * max(self.weight, other.weight)
        if not self.units or self._shared(other) < least or not self.is_comparable(other):
            return False
        match = _match(self.units, other.units)
        return match.opposed > match.same and match.same + match.opposed >= least


def _similarity(same: float, one: float, other: float) -> float:
    """Return the similarity, in [0, 1], of texts of the weights *one* and *other* that share the weight *same*."""
    fewer, more = sorted((one - same, other - same))
    cost = CONFLICT_COST * fewer + DETAIL_COST * (more - fewer)
    return max(0.0, min(1.0, same / (same + cost))) if same else 0.0


def _differ(one: frozenset[str] | set[str], other: frozenset[str] | set[str]) -> bool:
    """Return whether each has something that the other has not."""
    return bool(one - other and other - one)


class _Match(NamedTuple):
    """Which words of two sentences are the same.

    Attributes:
        same: Weight of the words that both have.
        opposed: Weight of the words that one of them denies, or has in another role.
        shared: Positions in both sentences of each word that both have.
        is_replaced: Whether each has words with a meaning of their own that the other lacks.
    """

    ours: Sequence[Unit]
    theirs: Sequence[Unit]
    same: float
    opposed: float
    shared: Sequence[tuple[int, int]]
    is_replaced: bool

    @property
    def is_reversed(self) -> bool:
        """Whether words that both have stand in another relation: "Ada manages Bob" and "Bob manages Ada"."""
        return any(map(self._has_other_role, self.shared)) or any(map(self._is_turned_around, self.shared))

    def _has_other_role(self, at: tuple[int, int]) -> bool:
        """Return whether a word has another preposition: "called Ada", "manager of Ada"; "to Rome", "from Rome"."""
        one, other = self.ours[at[0]].role, self.theirs[at[1]].role
        return bool(one and other) and one != other and {one, other} != {"for", "to"}

    def _is_turned_around(self, at: tuple[int, int]) -> bool:
        """Return whether what is before and after a verb has changed sides, or an aim has become the subject."""
        one, other = self.ours[at[0]], self.theirs[at[1]]
        before = any(our < at[0] and their > at[1] for our, their in self.shared)
        after = any(our > at[0] and their < at[1] for our, their in self.shared)
        if before and after:
            return one.is_relation
        return (before or after) and one.is_subject != other.is_subject and _moved_role(one, other) in _DIRECTIONS


def _match(ours: Sequence[Unit], theirs: Sequence[Unit]) -> _Match:
    """Return which words two sentences share, and which oppose each other."""
    by_form: defaultdict[str, list[int]] = defaultdict(list)
    for index, unit in enumerate(theirs):
        for key in unit.keys:
            by_form[key].append(index)
    left = list(enumerate(ours))
    shared: dict[int, int] = {}
    same = opposed = 0.0
    moved = 0
    for is_exact in (True, False):
        unmatched: list[tuple[int, Unit]] = []
        for position, unit in left:
            keys = unit.keys[:-1] if is_exact else unit.keys[-1:]
            near = (index for key in keys for index in by_form.get(key, ()) if index not in shared)
            found = [index for index in near if is_exact or is_same_form(unit.word, theirs[index].word)]
            if not found:
                unmatched.append((position, unit))
                continue
            index = min(found, key=lambda index: (theirs[index].is_denied != unit.is_denied, index))
            shared[index] = position
            weight = min(unit.weight, theirs[index].weight)
            has_other_role = unit.role and theirs[index].role and unit.role != theirs[index].role
            moved += bool(_moved_role(unit, theirs[index]))
            if theirs[index].is_denied == unit.is_denied and not has_other_role:
                same += weight
            else:
                opposed += weight
        left = unmatched
    if moved > 1:
        # two words have changed places: "left Google for a start-up" and "left a start-up for Google"
        same, opposed = 0.0, same + opposed
    rest = [unit for index, unit in enumerate(theirs) if index not in shared]
    is_replaced = _has_own([unit for _, unit in left], theirs) and _has_own(rest, ours)
    return _Match(ours, theirs, same, opposed, [(our, their) for their, our in shared.items()], is_replaced)


def _moved_role(one: Unit, other: Unit) -> str:
    """Return the role that a word has in one sentence only, empty if there is none or it may be left out."""
    role = one.role or other.role
    return role if bool(one.role) != bool(other.role) and role not in _FREE_ROLES else ""


def _has_own(units: Sequence[Unit], others: Sequence[Unit]) -> bool:
    """Return whether *units* have a word with a meaning of its own that *others* lack in every form."""
    return any(
        unit.forms.isdisjoint(_WEAK_LEADS)
        and not any(not unit.forms.isdisjoint(other.forms) or is_same_form(unit.word, other.word) for other in others)
        for unit in units
    )


def sentence_similarity(a: str, b: str) -> float:
    """Return the similarity of two sentences about one person, in [0, 1]; 1 if they differ in case and spacing only."""
    if fact_key(a) == fact_key(b):
        return 1.0
    return Profile(a).score(Profile(b))


def is_richer(text: str, other: str) -> bool:
    """Return whether *text* has more content than *other*, and lacks none of its numbers and names."""
    ours, theirs = Profile(text), Profile(other)
    if ours.weight <= theirs.weight or not theirs.numbers <= ours.numbers:
        return False
    return not theirs.own_names(ours)


class SimilarText(NamedTuple):
    """A text with a similar meaning."""

    position: int
    similarity: float


class SimilarityIndex:
    """Compares texts with many others.

    Args:
        texts: N sentences about one person. A text is read when it is first compared in full.
        folded: The same texts folded, if they are known.
    """

    def __init__(self, texts: Sequence[str], folded: Sequence[str] | None = None) -> None:
        self._texts = texts
        self._folded = folded
        self._profiles: dict[int, Profile] = {}

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        """All texts, folded, in one, and where each begins: a search in them is one search."""
        folded = list(map(fold, self._texts)) if self._folded is None else self._folded
        return "\n".join(folded), list(accumulate((len(text) + 1 for text in folded), initial=0))

    def _profile(self, index: int) -> Profile:
        if index not in self._profiles:
            self._profiles[index] = Profile(self._texts[index])
        return self._profiles[index]

    def find(self, text: str, threshold: float) -> list[SimilarText]:
        """Return the texts whose similarity to *text* is at least *threshold*, the most similar first.

        Only those of the MAX_CANDIDATES texts that share most words with it are read that share enough for *threshold*.
        """
        profile, key = Profile(text), fact_key(text)
        found = [
            SimilarText(index, 1.0 if fact_key(self._texts[index]) == key else profile.score(self._profile(index)))
            for index, shared in self._candidates(profile)
            if profile.highest_score(shared) >= threshold
        ]
        return sorted(
            (alike for alike in found if alike.similarity >= threshold),
            key=lambda alike: (-alike.similarity, alike.position),
        )

    def _candidates(self, profile: Profile) -> list[tuple[int, float]]:
        """Return the texts that contain most words of *profile*, or their synonyms, with the weight of these words."""
        shared = defaultdict[int, float](float)
        for words, weight in _needles(profile):
            for index in {index for word in words for index in self._containing(word)}:
                shared[index] += weight
        return sorted(nlargest(MAX_CANDIDATES, shared.items(), lambda found: (found[1], -found[0])))

    def _containing(self, word: str) -> Iterator[int]:
        """Yield the texts that contain *word*."""
        joined, starts = self._joined
        at = joined.find(word)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            yield index
            at = joined.find(word, starts[index + 1])

    def pairs(
        self, threshold: float, measure: Callable[[Profile, Profile], float] = Profile.score
    ) -> Iterator[tuple[int, int, float]]:
        """Yield the pairs of texts whose similarity is at least *threshold*: two positions and their similarity."""
        for index, other in self._related():
            one, two = self._profile(index), self._profile(other)
            if one.possible_score(two) >= threshold and (score := measure(one, two)) >= threshold:
                yield index, other, score

    def opposed(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of texts of which one denies what the other states, or turns it around."""
        return ((one, two) for one, two in self._related() if self._profile(one).opposes(self._profile(two)))

    def _related(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of texts that share a word: each with those that share its rarest, at most MAX_CANDIDATES."""
        profiles = map(self._profile, range(len(self._texts)))
        forms = [frozenset[str]().union(*(unit.forms for unit in profile.units)) for profile in profiles]
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for index, form in ((index, form) for index, own in enumerate(forms) for form in own):
            postings[form].append(index)
        for index, own in enumerate(forms):
            rare = sorted(own, key=lambda form: (len(postings[form]), form))
            others = dict.fromkeys(other for form in rare for other in postings[form][:MAX_CANDIDATES] if other > index)
            yield from ((index, other) for other in list(others)[:MAX_CANDIDATES])


def _needles(profile: Profile) -> list[tuple[tuple[str, ...], float]]:
    """Return for each word of *profile* the beginnings of its synonyms, and its weight."""
    lexicon = load_lexicon()
    return [
        (
            tuple({_beginning(word) for form in unit.forms for word in (*lexicon.members.get(form, ()), unit.word)}),
            unit.weight,
        )
        for unit in profile.units
    ]


def _beginning(word: str) -> str:
    """Return what the forms of *word*, a stem, begin with: "sav" of "save" and "saving"."""
    if not word.isascii():
        return word
    return word[: max(MIN_SHARED_CHARS, int(len(word) * MIN_SHARED_SHARE))].rstrip("eiy") or word
