"""The data files of signals: one a language, packaged ones and a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from memgraph.errors import ConfigError
from memgraph.text.fold import HAN, words_of

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

    def over(self, packaged: SignalPart | None) -> Self:
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

    def over(self, packaged: SignalFile | None) -> SignalFile:
        """Return this on top of *packaged*."""
        if packaged is None or self.replace:
            return self
        mine = {name: part.over(packaged.signals.get(name)) for name, part in self.signals.items()}
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
    mine = {language: file.over(packaged.get(language)) for language, file in _read_folder(folder).items()}
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
        raise ConfigError(f"{path}: {_described(error)}") from error


def _described(error: ValidationError) -> str:
    """Name every key that is wrong, and how."""
    details = error.errors(include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the file'}: {one['msg']}" for one in details)
