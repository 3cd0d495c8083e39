"""Words and patterns as data: the lists of words.yaml, and pattern files for each language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from memgraph._validation import field_errors
from memgraph._yaml import load_yaml, read_packaged
from memgraph.analysis.normalize import KANA, WORD, is_chinese, lower
from memgraph.errors import ConfigError

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

LANGUAGE_CHARS = 2_000
"""Characters of each text from which its language is detected; more is mostly pasted material."""
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD_LISTS = TypeAdapter(dict[str, str])
"""Lists of words, phrases or patterns by their names."""
_GROUPS = TypeAdapter(dict[str, dict[str, str]])
"""Groups of such lists."""


def language_of(text: str) -> Language:
    """Return Chinese if *text* has a Chinese character, else English."""
    return "zh" if is_chinese(text) else "en"


def language_of_texts(texts: Iterable[str]) -> Language:
    """Return "zh" if the sentences of *texts* are Chinese, else "en".

    A Chinese character counts 1, an English term that may occur in a Chinese sentence 0.5, and a word that only an
    English sentence needs 2: "使用 FastAPI 和 SQLAlchemy" is zh, "What does 你好 mean?" is en.
    """
    text = "\n".join(_CODE.sub(" ", text[:LANGUAGE_CHARS]) for text in texts)
    read = [word for word in WORD.findall(text.lower()) if word.isalpha()]
    chinese = sum(map(is_chinese, read)) - 2 * len(KANA.findall(text))
    english = sum(2.0 if word in words("function_words") else 0.5 for word in read if not is_chinese(word))
    return "zh" if chinese > 0 and chinese >= english else "en"


@cache
def words(name: str) -> frozenset[str]:
    """Return the word list called *name* in words.yaml."""
    return frozenset(in_order(name))


def in_order(name: str) -> tuple[str, ...]:
    """Return the word list called *name* in words.yaml in its order."""
    return tuple(_word_lists()[name].split())


@cache
def word_classes() -> Mapping[str, str]:
    """Return the class of each word that has one: the lists of words.yaml with names in capitals."""
    return {word: name for name in _word_lists() if name.isupper() for word in words(name)}


def states_standing_need(text: str) -> bool:
    """Return whether *text* names what always matters: a condition, a diet, an allergy."""
    return _standing_needs().search(lower(text)) is not None


@cache
def _standing_needs() -> re.Pattern[str]:
    """Return the pattern of such words in a text in the form of `lower`: one without case takes three times as long."""
    names = "|".join(words("CONDITION") | words("standing_needs"))
    return re.compile(rf"(?<![a-z])(?:{names})(?![a-z])")


@cache
def _word_lists() -> dict[str, str]:
    return _WORD_LISTS.validate_python(read_packaged("memgraph.analysis", "words.yaml"))


# -- pattern files ----------------------------------------------------------------------------------

PATTERNS = Path(__file__).parent / "patterns"
"""The files that come with the package; those of one kind are in a folder of their own."""
SUFFIXES = frozenset({".yaml", ".yml"})

File = TypeVar("File")


@cache
def lists_of(kind: str) -> tuple[Mapping[str, str], ...]:
    """Return the packaged lists of one kind, such as "answers", for each language."""
    return tuple(read_pattern_files(PATTERNS / kind, _WORD_LISTS).values())


@cache
def groups_of(kind: str) -> tuple[Mapping[str, Mapping[str, str]], ...]:
    """Return the packaged groups of lists of one kind, such as "statement", for each language."""
    return tuple(read_pattern_files(PATTERNS / kind, _GROUPS).values())


def split_phrases(texts: Iterable[str]) -> list[str]:
    """Return the phrases in *texts*, which bars separate."""
    return [phrase.strip() for text in texts for phrase in text.split("|") if phrase.strip()]


def split_lines(text: str) -> list[str]:
    """Return the lines of *text* that are not blank, without the spaces around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_pattern_files(folder: Path, form: TypeAdapter[File]) -> dict[str, File]:
    """Return the files of *folder* by language, which is the name of a file without its suffix.

    Args:
        folder: A folder of the package or of a user.
        form: What a file contains.

    Raises:
        ConfigError: If a file cannot be read, or does not match *form*.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return {path.stem: _read_file(path, form) for path in paths}


def _read_file(path: Path, form: TypeAdapter[File]) -> File:
    try:
        # `<months>` in a pattern is any of the months
        text = re.sub(r"(?<!\?P)<(months|weekdays)>", lambda name: "|".join(in_order(name[1])), path.read_text("utf-8"))
        return form.validate_python(load_yaml(text) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        details = "; ".join(map(str, field_errors(error, empty_path="the file")))
        raise ConfigError(f"{path}: {details}") from error
