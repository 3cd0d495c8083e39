"""The words that the comparison of two sentences knows: synonyms, relatives, opposites and denials.

They are data: `patterns/similarity/en.yaml` explains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from memgraph.analysis.normalize import is_chinese, stem
from memgraph.analysis.words import lists_of, split_lines, split_phrases

LIKE, LIKE_HAN = "like", "喜欢"
"""What is read, denied, for a word of dislike."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of all languages. English words are found by their stem."""

    groups: Mapping[str, frozenset[str]]
    """By a word: the groups of synonyms that it is in."""
    members: Mapping[str, frozenset[str]]
    """By a group, a word or a person: the words and phrases that are read as it."""
    actions: frozenset[str]
    light: frozenset[str]
    people: Mapping[str, str]
    """By a word: the relative or other person that it names."""
    kinds: Mapping[str, Sequence[tuple[str, str]]]
    """By a word: the kinds of which a sentence has one, such as weekdays, each with what the word stands for in it."""
    roles: Mapping[str, str]
    """By a preposition, or a Chinese verb that is used as one: what it makes the word after it."""
    marks: Mapping[str, str]
    """By a word or phrase: "denials", "dislikes", "contrasts", "plans", "ends" or "pasts"."""
    replaced: Mapping[str, str]
    """By a phrase: the word that stands for it."""
    phrases: re.Pattern[str]
    """Matches English phrases of several words, and what is replaced."""
    chinese: re.Pattern[str]
    """Matches the Chinese words, the longest first."""


@cache
def load_lexicon() -> Lexicon:
    """Return the words of all languages that come with the package."""
    files = lists_of("similarity")
    groups = [[*map(stem, split_phrases([line]))] for file in files for line in split_lines(file["same"])]
    marks = {
        phrase: mark
        for file in files
        for mark in ("pasts", "plans", "ends", "denials", "dislikes", "contrasts")
        for phrase in split_phrases(file[mark].splitlines())
    }
    replaced = {
        one.strip(): other.strip()
        for file in files
        for line in split_lines(file["replace"])
        for one, _, other in [line.partition("|")]
    }
    disliked = {word: LIKE if word.isascii() else LIKE_HAN for word, mark in marks.items() if mark == "dislikes"}
    read_as = disliked | {phrase: disliked.get(word, word) for phrase, word in replaced.items()}
    people = {word: line.split()[0] for file in files for line in split_lines(file["people"]) for word in line.split()}
    roles = {
        word: line.split()[0] for file in files for line in split_lines(file["roles"]) for word in line.split()[1:]
    }
    kinds: dict[str, dict[str, str]] = {}
    for file in files:
        for line in split_lines(file["exclusive"]):
            for member in line.split("|"):
                for word in member.split():
                    kinds.setdefault(stem(word), {})[line] = member.split()[0]
    actions = frozenset(stem(word) for file in files for word in file["actions"].split())
    light = frozenset(stem(word) for file in files for word in file["light"].split())
    by_word: dict[str, frozenset[str]] = {}
    for group in groups:
        for word in group:
            by_word[word] = by_word.get(word, frozenset()) | {group[0]}
    words = {*by_word, *marks, *replaced, *people, *actions, *light, *kinds}
    return Lexicon(
        groups=by_word,
        members=_members(groups, by_word, people, read_as),
        actions=actions,
        light=light,
        people=people,
        kinds={word: tuple(members.items()) for word, members in kinds.items()},
        roles=roles,
        marks=marks,
        replaced=replaced,
        phrases=_alternation((phrase for phrase in {**marks, **replaced} if " " in phrase), r"(?<!\w)(?:{})(?!\w)"),
        chinese=_alternation((word for word in words if is_chinese(word[:1])), "{}"),
    )


def _members(
    groups: Iterable[Sequence[str]],
    by_word: Mapping[str, Iterable[str]],
    people: Mapping[str, str],
    read_as: Mapping[str, str],
) -> dict[str, frozenset[str]]:
    """Return the words and phrases that are read as a member of each group, as each word, and as each person."""
    members = {group[0]: set(group) for group in groups}
    for word, person in people.items():
        members.setdefault(person, set()).add(word)
    for phrase, words in read_as.items():
        for word in map(stem, words.split()):
            for form in by_word.get(word, (word,)):
                members.setdefault(form, set()).add(phrase)
    return {form: frozenset(words) for form, words in members.items()}


def _alternation(words: Iterable[str], around: str) -> re.Pattern[str]:
    return re.compile(around.format("|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))))
