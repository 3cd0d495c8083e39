"""Signals: patterns that show corrections, praise, preferences, goals and decisions in the user's wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator

from memgraph.errors import ConfigError
from memgraph.models import Turn
from memgraph.text.literals import LiteralGate
from memgraph.text.normalize import fold, words_of
from memgraph.text.pattern_files import PATTERNS, read_pattern_files

OTHER = r"[^\W\x00-\xff]"
"""A letter of another script, Chinese. The range of all Chinese characters takes a millisecond to compile each time."""

START = (
    r"(?:(?<![^\n.!?,;:。、…()\[\]\"*>])|(?<=[\n.!?,;:。、…()\[\]\"*>-] )"
    rf"|(?<={OTHER} )|(?<=[a-z0-9] )(?={OTHER}))"
)
"""Replaces `<start>`: the start of a clause, or of a run of text in the other script."""

END = (
    r"(?:(?= ?(?:$|\n|\.(?!\w)|[^\w\s?'./-]|-[ -]|(?<= )- |(?:thanks?|thx|cheers)\b))"
    rf"|(?<=[a-z0-9])(?= ?{OTHER})|(?<={OTHER})(?= [a-z0-9]))"
)
"""Replaces `<end>`: the end of a clause that is not a question, or of a run of text in the other script."""

_COMMON_BEGINS = ("<start>", r"\b")
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|[()|]", re.DOTALL)
"""Escapes and character classes as wholes, parentheses and bars."""


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
        return (
            [line.strip() for line in patterns.splitlines() if line.strip()] if isinstance(patterns, str) else patterns
        )

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


class _OwnPart(SignalPart):
    """One signal in a user's file. The packaged patterns are checked by tests: it takes 30 ms to compile each alone."""

    @field_validator("patterns", "unless")
    @classmethod
    def _check(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            compile_pattern(pattern)
        return patterns


class _OwnFile(SignalFile):
    """A user's file."""

    signals: dict[str, _OwnPart] = {}  # pyright: ignore[reportIncompatibleVariableOverride] - it is frozen


@cache
def packaged_files() -> Mapping[str, SignalFile]:
    """Return the packaged files by language."""
    return read_pattern_files(PATTERNS, SignalFile)


def all_files(folder: Path) -> Mapping[str, SignalFile]:
    """Return the packaged files with those of *folder* on top, by language.

    Raises:
        ConfigError: If the folder does not exist, or a file in it is invalid.
    """
    if not folder.is_dir():
        raise ConfigError(f"signals folder {folder} does not exist")
    packaged = packaged_files()
    own = read_pattern_files(folder, _OwnFile)
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


@dataclass(frozen=True)
class SignalPattern:
    """A pattern, compiled at first use."""

    source: str
    """See `compile_pattern`."""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return compile_pattern(self.source)


def _join(patterns: Sequence[str]) -> tuple[SignalPattern, ...]:
    """Join *patterns* that begin alike to one, which tries that begin once at each position of a text."""
    by_begin: dict[str, list[str]] = {}
    alone: list[str] = []
    for pattern in patterns:
        begin = next((begin for begin in _COMMON_BEGINS if pattern.startswith(begin)), None)
        if begin is None or _has_group(pattern) or _has_top_level_bar(pattern):
            alone.append(pattern)
        else:
            by_begin.setdefault(begin, []).append(pattern.removeprefix(begin))
    joined = [f"{begin}(?:{'|'.join(rests)})" for begin, rests in by_begin.items()]
    return tuple(map(SignalPattern, [*joined, *alone]))


def _has_group(pattern: str) -> bool:
    """Return whether *pattern* has a group with a number, to which it may refer."""
    starts = (found.end() for found in _PARTS.finditer(pattern) if found[0] == "(")
    return any(pattern[at] != "?" or pattern.startswith("?P<", at) for at in starts)


def _has_top_level_bar(pattern: str) -> bool:
    """Return whether *pattern* is an alternation, of which a common begin would begin the first part only."""
    depth = 0
    for part in _PARTS.findall(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            return True
    return False


READ_CHARS = 2_000
"""Characters read at either end of a turn; the middle of a longer one is mostly pasted text."""


@dataclass(frozen=True)
class Signal:
    """Patterns to detect, and the hint for the model if they match."""

    name: str
    hints: tuple[tuple[str, str], ...]
    """Pairs of language and hint."""
    patterns: tuple[SignalPattern, ...]
    unless: tuple[re.Pattern[str], ...] = ()
    """Phrases that look like the signal but are not: they are removed before matching."""

    def matches(self, text: str, candidates: Iterable[int]) -> bool:
        """Return whether *text*, folded, shows this signal; *candidates* are those of its `gate` for *text*."""
        if not self._has_any(text, candidates):
            return False
        for phrase in self.unless:
            text = phrase.sub(" _ ", text)  # it joins no words, so the text has no more candidates than before
        return self._has_any(text, candidates)

    def _has_any(self, text: str, positions: Iterable[int]) -> bool:
        return any(self.patterns[position].compiled.search(text) for position in positions)

    @cached_property
    def gate(self) -> LiteralGate:
        """Finds which of the patterns a text may match."""
        return LiteralGate([pattern.source for pattern in self.patterns])


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
    candidates = [[signal.gate.candidates(text) for text in texts] for signal in signals.table]
    return tuple(
        signal.name
        for signal, found in zip(signals.table, candidates, strict=True)
        if any(positions and signal.matches(text, positions) for text, positions in zip(texts, found, strict=True))
    )


def load_signals(folder: Path | None = None) -> Signals:
    """Return the packaged signals, extended or replaced by the files of *folder*.

    A file is named after its language and formatted like the packaged ones (`memgraph/text/patterns/en.yaml`):
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
    patterns = _join([pattern for part in parts.values() for pattern in part.patterns])
    unless = tuple(compile_pattern(pattern) for part in parts.values() for pattern in part.unless)
    return Signal(name, hints, patterns, unless)


def _clip(text: str) -> str:
    return text if len(text) <= 2 * READ_CHARS else f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"
