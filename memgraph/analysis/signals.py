"""Signals: patterns that show corrections, praise, preferences, goals and decisions in the user's wording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, field_validator

from memgraph.analysis.normalize import fold, words_of
from memgraph.analysis.words import PATTERNS, lists_of, read_pattern_files, split_lines
from memgraph.errors import ConfigError
from memgraph.models import Turn

OTHER = r"[^\W\x00-\xff]"
"""A letter of another script, Chinese. The range of all Chinese characters takes a millisecond to compile each time."""

START = (
    r"(?<![^ \n.!?,;:。、…()\[\]\"*>])(?:(?<! )|(?<=[\n.!?,;:。、…()\[\]\"*>-] )"
    rf"|(?<={OTHER} )|(?<=[a-z0-9] )(?={OTHER}))"
)
"""Replaces `<start>`: the start of a clause, or of a run of text in the other script.

Most places are after a letter, which the first group excludes at once."""

END = (
    r"(?:(?= ?(?:$|\n|\.(?!\w)|[^\w\s?'./-]|-[ -]|(?<= )- |(?:thanks?|thx|cheers)\b))"
    rf"|(?<=[a-z0-9])(?= ?{OTHER})|(?<={OTHER})(?= [a-z0-9]))"
)
"""Replaces `<end>`: the end of a clause that is not a question, or of a run of text in the other script."""


class SignalPart(BaseModel):
    """One signal in one file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    replace: bool = False
    hint: str = ""
    patterns: list[str] = []
    unless: list[str] = []

    @field_validator("patterns", "unless", mode="before")
    @classmethod
    def _read_lines(cls, patterns: object) -> object:
        """Accept one pattern per line, which needs no YAML quoting, as well as a list."""
        return split_lines(patterns) if isinstance(patterns, str) else patterns

    @field_validator("patterns", "unless")
    @classmethod
    def _check(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            compile_pattern(pattern)
        return patterns

    def merge(self, packaged: SignalPart | None) -> Self:
        """Return this on top of *packaged*."""
        if packaged is None:
            return self
        hint = self.hint or packaged.hint
        if self.replace:
            return self.model_copy(update={"hint": hint})
        patterns, unless = [*packaged.patterns, *self.patterns], [*packaged.unless, *self.unless]
        return self.model_copy(update={"hint": hint, "patterns": patterns, "unless": unless})


class SignalFile(BaseModel):
    """One file: the signals and acknowledgements of one language."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    replace: bool = False
    acknowledgements: list[str] = []
    signals: dict[str, SignalPart] = {}

    @property
    def phrases(self) -> frozenset[str]:
        """The acknowledgements, folded."""
        return frozenset(" ".join(words_of(phrase)) for phrase in self.acknowledgements)

    def merge(self, packaged: SignalFile | None) -> SignalFile:
        """Return this on top of *packaged*."""
        if packaged is None or self.replace:
            return self
        mine = {name: part.merge(packaged.signals.get(name)) for name, part in self.signals.items()}
        return SignalFile(
            acknowledgements=[*packaged.acknowledgements, *self.acknowledgements], signals=packaged.signals | mine
        )


_FILE = TypeAdapter(SignalFile)


@cache
def packaged_files() -> Mapping[str, SignalFile]:
    """Return the packaged files by language."""
    return read_pattern_files(PATTERNS, _FILE)


def all_files(folder: Path) -> Mapping[str, SignalFile]:
    """Return the packaged files with those of *folder* on top, by language.

    Raises:
        ConfigError: If the folder does not exist, or a file in it is invalid.
    """
    if not folder.is_dir():
        raise ConfigError(f"signals folder {folder} does not exist")
    packaged = packaged_files()
    own = read_pattern_files(folder, _FILE)
    mine = {language: file.merge(packaged.get(language)) for language, file in own.items()}
    return {**packaged, **mine}


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile *pattern* with `<start>` and `<end>` replaced.

    Raises:
        ValueError: If it does not compile.
    """
    try:
        return re.compile(pattern.replace("<start>", START).replace("<end>", END))
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


READ_CHARS = 2_000
"""Characters read at either end of a turn; the middle of a longer one is mostly pasted text."""


@dataclass(frozen=True)
class Signal:
    """Patterns to detect, and the hint for the model if they match."""

    name: str
    hints: tuple[tuple[str, str], ...]
    """Pairs of language and hint."""
    patterns: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()
    """Phrases that look like the signal but are not: they are removed before matching."""

    def matches(self, text: str) -> bool:
        """Return whether *text*, folded, shows this signal."""
        if not self._has_any(text):
            return False
        for phrase in self.unless:
            text = phrase.sub(" _ ", text)
        return self._has_any(text)

    def _has_any(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals in order, and the phrases that only acknowledge."""

    table: tuple[Signal, ...]
    acknowledgements: frozenset[str] = field(default_factory=frozenset[str])
    """Folded, words joined by a space."""

    def hint(self, name: str, language: Literal["en", "zh"]) -> str:
        """Return the hint of the signal *name*; in another language if *language* has none.

        Raises:
            KeyError: If there is no such signal.
        """
        for signal in self.table:
            if signal.name == name:
                return dict(signal.hints).get(language, signal.hints[0][1])
        raise KeyError(name)


def detect(turns: Sequence[Turn], signals: Signals) -> tuple[str, ...]:
    """Return the names of the signals that match the user's own words in *turns*, in the order of the signals."""
    users = [turn.own_words for turn in turns if turn.is_users]
    texts = [fold(text) for text in map(_clip, users)]
    return tuple(signal.name for signal in signals.table if any(map(signal.matches, texts)))


def load_signals(folder: Path | None = None) -> Signals:
    """Return the packaged signals, extended or replaced by the files of *folder*.

    A file is named after its language and formatted like the packaged ones (`memgraph/analysis/patterns/en.yaml`):
    its patterns and acknowledgements are added to those of the language, and its hints replace them. With
    `replace: true` at the top it replaces the language; under a signal, that signal in that language.

    Raises:
        ConfigError: If the folder or a file cannot be read, is not of this shape, or holds a pattern
            that does not compile.
    """
    return _load_packaged() if folder is None else _assemble(all_files(folder))


@cache
def _load_packaged() -> Signals:
    return _assemble(packaged_files())


def _assemble(files: Mapping[str, SignalFile]) -> Signals:
    names = dict.fromkeys(name for file in files.values() for name in file.signals)
    phrases = frozenset(phrase for file in files.values() for phrase in file.phrases)
    return Signals(tuple(_signal(name, files) for name in names), phrases)


def _signal(name: str, files: Mapping[str, SignalFile]) -> Signal:
    parts = {language: file.signals[name] for language, file in files.items() if name in file.signals}
    hints = tuple((language, part.hint.strip()) for language, part in parts.items() if part.hint.strip())
    if not hints:
        raise ConfigError(f"signals.{name}.hint is missing: the model needs a hint in at least one language")
    patterns = tuple(compile_pattern(pattern) for part in parts.values() for pattern in part.patterns)
    unless = tuple(compile_pattern(pattern) for part in parts.values() for pattern in part.unless)
    return Signal(name, hints, patterns, unless)


def _clip(text: str) -> str:
    return text if len(text) <= 2 * READ_CHARS else f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"


# -- changes in the life of the user ----------------------------------------------------------------

ChangeKind = Literal["ends", "begins"]
"""The meaning of a change word: something has ended, or something holds since lately."""


def find_change(text: str) -> ChangeKind | None:
    """Return the kind of the change words in *text*; None without one. `ends` is the stronger kind."""
    folded = fold(text[:READ_CHARS])
    kinds: tuple[ChangeKind, ...] = ("ends", "begins")
    return next((kind for kind in kinds if _pattern(kind).search(folded)), None)


@cache
def _pattern(kind: ChangeKind) -> re.Pattern[str]:
    """Return the words of one kind in all languages as one pattern."""
    return re.compile("|".join(f"(?:{line})" for file in lists_of("changes") for line in split_lines(file[kind])))
