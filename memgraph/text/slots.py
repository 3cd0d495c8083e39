"""Slots: what a person has one of at a time, such as a home, and the value that a fact gives it.

The table is data: `patterns/slots/en.yaml` explains it. A slot is read only from a clause whose subject is the user, so
that facts about other people fill none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from memgraph.text.names import numbers_of
from memgraph.text.normalize import HAN, fold, nfkc
from memgraph.text.slot_files import SlotFile, slot_files

READ_CHARS = 300
"""Characters of a fact that are read."""
MAX_CLAUSES = 6
"""Clauses of a fact that are read."""

_QUOTES = str.maketrans("’‘“”", "''\"\"")
_CONTRACTIONS = (
    (re.compile(r"\bI'm\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(I|we|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(do|does|is|are|has)n't\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(name|job|birthday|phone|car)'s (?=\S)", re.IGNORECASE), r"\1 is "),
    (re.compile(r"^(?!(?:the )?user:)((?:[a-z]+ ){0,3}[a-z]+): (?=\S)", re.IGNORECASE), r"\1 is "),
)
_HAN = re.compile(f"[{HAN}]")
_BESIDE_HAN = re.compile(rf"(?<=[{HAN},;:。(]) | (?=[{HAN},;:。)])")
_SENTENCE_END = re.compile(r"(?<!\bdr)(?<!\bst)(?<!\bmr)(?<!\bmrs)[.!] (?=[A-Z])|。", re.IGNORECASE)
_NEXT_CLAUSE = re.compile(r"[;,] ?(?:and |but )?| and | but ")
_ARTICLE = re.compile(r"^(?:an?|the|my|their|his|her|our) ")
_WORD = re.compile(rf"[{HAN}]|(?:(?![{HAN}])\w)+")


class SlotValue(NamedTuple):
    """What a fact states about one slot."""

    slot: str
    value: str
    """In the form in which values are compared: folded, without an article."""
    of: str = ""
    """What it is the value of, in a slot that has several of them: `colour` in `favourite`."""
    is_ended: bool = False
    """Whether the fact states that the value no longer holds."""
    is_claimed: bool = False
    """Whether the model claims that the fact fills the slot, and no pattern finds it there."""


class Slots:
    """A table of slots. Patterns are compiled at first use."""

    def __init__(self, files: Mapping[str, SlotFile]) -> None:
        self._languages = {language: _Language(file) for language, file in files.items()}
        parts = [(name, part) for file in files.values() for name, part in file.slots.items()]
        self.single_valued = frozenset(name for name, part in parts if not part.several)
        """Names of the slots with one value at a time."""
        self.prompted = tuple(dict.fromkeys(name for name, part in parts if part.in_prompt))
        """Names of those that the prompt offers to the model, in the order of the files."""
        self._aliases = {
            alias.strip().replace(" ", "_"): name for name, part in parts for alias in part.aliases.split(",")
        }
        self._ranks = {name: frozenset[str]() for name, _ in parts}
        for name, part in parts:
            self._ranks[name] |= frozenset(part.ranks.split())

    def normalize(self, slot: str | None) -> str | None:
        """Return the name in the table of what a model calls *slot*; None if it has no such slot."""
        name = re.sub(r"[\s-]+", "_", (slot or "").strip().casefold())
        name = self._aliases.get(name, name)
        return name if name in self.single_valued else None

    def find(self, content: str, slot: str | None = None) -> SlotValue | None:
        """Return the slot that the fact *content* fills, and its value; None if it fills none, or is not of the user.

        Args:
            content: A fact in the first or third person, or without a subject ("Lives in Lisbon.").
            slot: The slot that a model gives, by any of its names: the value is the whole content if no pattern of
                any slot matches. An unknown name counts as none.
        """
        found = self.values(content, slot)
        return next((value for value in found if value.slot in self.single_valued and not value.is_ended), None)

    def values(self, content: str, slot: str | None = None) -> tuple[SlotValue, ...]:
        """Return what *content* states about slots, each once: first about *slot*, then in the order of its clauses.

        It may state that values ended, and values of slots that have several.
        """
        found = list({(value.slot, value.is_ended): value for value in reversed([*self._read(content)])}.values())[::-1]
        name = self.normalize(slot)
        if name and not found and (whole := self._whole(content, name)):
            return (whole,)
        return tuple(sorted(found, key=lambda value: value.slot != name))

    def states(self, content: str, slots: Collection[str]) -> bool:
        """Return whether *content* states something about one of *slots*, names of the table; faster than `values`."""
        return any(next(self._read(content, slot), None) for slot in slots)

    def are_same(self, one: SlotValue, other: SlotValue) -> bool:
        """Return whether two values of one slot are the same: one contains the words of the other, but for ranks."""
        first, second = _WORD.findall(one.value), _WORD.findall(other.value)
        ranks = self._ranks.get(one.slot, frozenset())
        if ranks & (set(first) ^ set(second)):
            return False
        return _contains(first, second) or _contains(second, first) or _is_same_time(first, second)

    def differ(self, ours: Iterable[SlotValue], theirs: Collection[SlotValue]) -> bool:
        """Return whether both give a slot with one value at a time other values: two doctors, however alike."""
        return any(
            one.slot in self.single_valued
            and (one.slot, one.of) == (other.slot, other.of)
            and not self.are_same(one, other)
            for one in ours
            for other in theirs
        )

    def _read(self, content: str, slot: str | None = None) -> Iterator[SlotValue]:
        language, text = self._prepare(content)
        if language is not None:
            for clause in language.clauses(text):
                yield from language.read(clause, slot)

    def _whole(self, content: str, slot: str) -> SlotValue | None:
        language, text = self._prepare(content)
        if language is None or language.is_of_others(text) or language.unless.search(text):
            return None
        return SlotValue(slot, _plain(text), is_claimed=True)

    def _prepare(self, content: str) -> tuple[_Language | None, str]:
        read = content[:READ_CHARS]
        normal = read if read.isascii() else nfkc(read)
        text = " ".join(normal.translate(_QUOTES).split()).rstrip(".。!")
        if _HAN.search(text):
            return self._languages.get("zh"), _BESIDE_HAN.sub("", text.lower())
        for contraction, full in _CONTRACTIONS:
            text = contraction.sub(full, text)
        return self._languages.get("en"), text


class _Language:
    """The slots of one language."""

    def __init__(self, file: SlotFile) -> None:
        self._file = file
        self._compiled: dict[str, re.Pattern[str] | None] = {}
        self._refused = {name: frozenset(part.refused.split()) for name, part in file.slots.items()}

    @cached_property
    def unless(self) -> re.Pattern[str]:
        """Matches clauses about the past, plans and second ones of a kind."""
        return self._file.compile("|".join(line for line in map(str.strip, self._file.unless.splitlines()) if line))

    @cached_property
    def _subject(self) -> re.Pattern[str]:
        return self._file.compile(rf"(?:{self._file.opening})?(?P<subject>{self._file.subjects})?")

    @cached_property
    def _adverbs(self) -> re.Pattern[str]:
        return self._file.compile(self._file.adverbs)

    @cached_property
    def _ended(self) -> re.Pattern[str]:
        return self._file.compile(self._file.ended)

    @cached_property
    def _others(self) -> re.Pattern[str]:
        return self._file.compile(self._file.others)

    def is_of_others(self, text: str) -> bool:
        """Return whether the subject of *text* is another person."""
        return self._others.match(text) is not None

    def clauses(self, text: str) -> Iterator[str]:
        """Yield the clauses of which the user is the subject, without the subject."""
        for sentence in _SENTENCE_END.split(text):
            if self.unless.search(sentence):
                continue
            found = self._subject.match(sentence)
            start = found.end() if found else 0
            yield self._without_adverbs(sentence[start:])
            if self.is_of_others(sentence[start:]) or self.is_of_others(sentence):
                continue
            for number, gap in enumerate(_NEXT_CLAUSE.finditer(sentence, start)):
                if number < MAX_CLAUSES:
                    clause = sentence[gap.end() :]
                    found = self._subject.match(clause)
                    yield self._without_adverbs(clause[found.end() if found else 0 :])

    def read(self, clause: str, slot: str | None) -> Iterator[SlotValue]:
        """Yield what *clause* states about *slot*, or about any."""
        ended = self._ended.match(clause)
        rest = clause[ended.end() :] if ended else clause
        for name in (slot,) if slot else self._file.slots:
            pattern = self._pattern(name)
            if pattern is None or (found := pattern.fullmatch(rest)) is None:
                continue
            groups = {group[0]: text for group, text in found.groupdict().items() if text is not None}
            value = _plain(groups["x"])
            # folding sets a blank between Chinese and Latin letters, after which no new word need begin
            first = value.split()[:1] if not _HAN.search(value) else []
            if value and not self._refused[name] & {value, *first}:
                yield SlotValue(name, value, _plain(groups.get("k", "")), ended is not None)

    def _pattern(self, name: str) -> re.Pattern[str] | None:
        if name not in self._compiled:
            self._compiled[name] = self._file.compile_slot(name) if name in self._file.slots else None
        return self._compiled[name]

    def _without_adverbs(self, clause: str) -> str:
        return " ".join(self._adverbs.sub("", clause).split()).strip(" ,")


def _plain(text: str) -> str:
    return _ARTICLE.sub("", fold(text).strip(" .,;:!。'\""), count=1)


def _is_same_time(one: list[str], other: list[str]) -> bool:
    """Return whether two values have the same words, and the same numbers in one order.

    "12 May" and "May 12" are the same, so are "six" and "6"; "5 月 12 日" and "12 月 5 日" are not.
    """
    numbers, words = zip(*(_split_numbers(value) for value in (one, other)), strict=True)
    return bool(numbers[0]) and numbers[0] == numbers[1] and words[0] == words[1]


def _split_numbers(value: list[str]) -> tuple[list[str], list[str]]:
    """Return the numbers of *value* in their order, and its other words sorted."""
    found = {word: number for word in value if (number := next(iter(numbers_of(word, in_words=True)), None))}
    return [found[word] for word in value if word in found], sorted(word for word in value if word not in found)


def _contains(words: list[str], part: list[str]) -> bool:
    """Return whether *part* stands in *words*, side by side."""
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))


@cache
def packaged_slots() -> Slots:
    """Return the table of the package."""
    return Slots(slot_files())


def load_slots(folder: Path | None = None) -> Slots:
    """Return the packaged table, extended or replaced by the files of *folder*, which are named after their language.

    Raises:
        ConfigError: If the folder or a file cannot be read, is not of the shape that
            `memgraph/text/patterns/slots/en.yaml` has, or holds a pattern that does not compile.
    """
    return packaged_slots() if folder is None else Slots(slot_files(folder))


def find_slot(content: str, slot: str | None = None) -> SlotValue | None:
    """Return the slot of the packaged table that the fact *content* fills, and its value: see `Slots.find`."""
    return packaged_slots().find(content, slot)
