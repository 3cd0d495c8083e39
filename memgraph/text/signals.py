"""What people show by the way they say it: that something was wrong, right, liked, aimed at or decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from memgraph.errors import ConfigError
from memgraph.models import Turn
from memgraph.text.fold import fold
from memgraph.text.signal_files import SignalFile, all_files, compiled, packaged_files

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

    def fires(self, text: str) -> bool:
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
    texts = [fold(_clipped(turn.text)) for turn in turns if turn.is_human]
    return tuple(signal.name for signal in signals.table if any(signal.fires(text) for text in texts))


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
