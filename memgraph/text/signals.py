"""What people show by the way they say it: that something was wrong, right, liked, aimed at or decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from memgraph._validation import field_errors
from memgraph.errors import ConfigError
from memgraph.models import Turn
from memgraph.text.normalize import HAN, fold, words_of

PACKAGED = Path(__file__).parent / "patterns"
SUFFIXES = frozenset({".yaml", ".yml"})

START = rf"(?:(?<![^\n.!?,;:。、…()\[\]\"*>])|(?<=[\n.!?,;:。、…()\[\]\"*>{HAN}-] )|(?<=[a-z0-9] )(?=[{HAN}]))"
"""What `<start>` stands for: the start of a clause, or of a stretch in the other script."""

END = (
    r"(?:(?= ?(?:$|\n|\.(?!\w)|[^\w\s?'./-]|-[ -]|(?<= )- |(?:thanks?|thx|cheers)\b))"
    rf"|(?<=[a-z0-9])(?= ?[{HAN}])|(?<=[{HAN}])(?= [a-z0-9]))"
)
"""What `<end>` stands for: the end of a clause that is no question, or of a stretch in the other script."""


class SignalPart(BaseModel):
    """What one file says of one signal."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    replace: bool = False
    hint: str = ""
    patterns: list[str] = []
    unless: list[str] = []

    @field_validator("patterns", "unless", mode="before")
    @classmethod
    def _read_lines(cls, patterns: object) -> object:
        """A pattern a line needs none of YAML's quoting; a list does as well."""
        return (
            [line.strip() for line in patterns.splitlines() if line.strip()] if isinstance(patterns, str) else patterns
        )

    @field_validator("patterns", "unless")
    @classmethod
    def _check(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            compiled(pattern)
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
    """What one file says."""

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


@cache
def packaged_files() -> Mapping[str, SignalFile]:
    """Return the packaged files by language."""
    return _read_folder(PACKAGED)


def all_files(folder: Path) -> Mapping[str, SignalFile]:
    """Return the packaged files with those of *folder* on top, by language.

    Raises:
        ConfigError: If the folder or a file of it cannot be used.
    """
    if not folder.is_dir():
        raise ConfigError(f"signals folder {folder} does not exist")
    packaged = packaged_files()
    mine = {language: file.merge(packaged.get(language)) for language, file in _read_folder(folder).items()}
    return {**packaged, **mine}


def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* compiled, `<start>` and `<end>` filled in.

    Raises:
        ValueError: If it does not compile.
    """
    try:
        return re.compile(pattern.replace("<start>", START).replace("<end>", END))
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error


def _read_folder(folder: Path) -> dict[str, SignalFile]:
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return {path.stem: _read(path) for path in paths}


def _read(path: Path) -> SignalFile:
    try:
        return SignalFile.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        details = "; ".join(map(str, field_errors(error, empty_path="the file")))
        raise ConfigError(f"{path}: {details}") from error


READ_CHARS = 2_000
"""At either end of a turn; the middle of a longer one is pasted text more often than talk."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What to look for, and what to tell the model when it is there."""

    name: str
    hints: tuple[tuple[str, str], ...]
    """Language and hint."""
    patterns: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()
    """Turns of phrase that look like the signal and are not: they are taken out before looking."""

    def matches(self, text: str) -> bool:
        """Tell whether *text*, folded, shows this signal."""
        if not any(pattern.search(text) for pattern in self.patterns):
            return False
        for pattern in self.unless:
            text = pattern.sub(" _ ", text)
        return any(pattern.search(text) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals in the order of their table, and the phrases that only acknowledge."""

    table: tuple[Signal, ...]
    acknowledgements: frozenset[str] = field(default_factory=frozenset[str])
    """Folded, words joined by a blank."""

    def hint(self, name: str, language: Literal["en", "zh"]) -> str:
        """Return what to tell the model when *name* fired; in another language where *language* has no hint.

        Raises:
            KeyError: If there is no signal of that name.
        """
        for signal in self.table:
            if signal.name == name:
                return dict(signal.hints).get(language, signal.hints[0][1])
        raise KeyError(name)


def detect(turns: Sequence[Turn], signals: Signals) -> tuple[str, ...]:
    """Return the names of the signals that fire on any human turn of *turns*, in the table's order."""
    texts = [fold(_clipped(turn.text)) for turn in turns if turn.role == "human"]
    return tuple(signal.name for signal in signals.table if any(signal.matches(text) for text in texts))


def load_signals(folder: Path | None = None) -> Signals:
    """Return the packaged signals, extended or replaced by the files of *folder*.

    A file is named after its language and has the shape of the packaged ones (`memgraph/text/patterns/en.yaml`):
    its patterns and acknowledgements are added to those of the language, its hints take the place of
    theirs. With `replace: true` at the top it stands for the whole language; under a signal, for that
    signal in that language.

    Raises:
        ConfigError: If the folder or a file cannot be read, is not of this shape, or holds a pattern
            that does not compile.
    """
    return _packaged() if folder is None else _assembled(all_files(folder))


@cache
def _packaged() -> Signals:
    return _assembled(packaged_files())


def _assembled(files: Mapping[str, SignalFile]) -> Signals:
    names = dict.fromkeys(name for file in files.values() for name in file.signals)
    phrases = frozenset(phrase for file in files.values() for phrase in file.phrases)
    return Signals(tuple(_signal(name, files) for name in names), phrases)


def _signal(name: str, files: Mapping[str, SignalFile]) -> Signal:
    parts = {language: file.signals[name] for language, file in files.items() if name in file.signals}
    hints = tuple((language, part.hint.strip()) for language, part in parts.items() if part.hint.strip())
    if not hints:
        raise ConfigError(f"signals.{name}.hint is missing: no language tells the model what to do when {name} fires")
    patterns = tuple(compiled(pattern) for part in parts.values() for pattern in part.patterns)
    unless = tuple(compiled(pattern) for part in parts.values() for pattern in part.unless)
    return Signal(name, hints, patterns, unless)


def _clipped(text: str) -> str:
    return text if len(text) <= 2 * READ_CHARS else f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"
