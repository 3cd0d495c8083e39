"""Labelled conversations: which facts should, may and must not be learned from them.

A label is written as words: `lisbon live*|move* !berlin` matches a fact that contains Lisbon and a word starting with
live or move, but not Berlin. A list of labels matches if any of them does. Words are compared without case, width and
endings, so that "Plays tennis" equals "playing tennis"; Chinese words match anywhere in the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memgraph.analysis.normalize import HAN, fold, stem
from memgraph.models import CATEGORIES

LANGUAGES = {"en": "English", "zh": "Chinese"}
HERE = Path(__file__).parent
_ONE_HAN = re.compile(f"[{HAN}]")
_TOKEN = re.compile(r"[^\W_]+")


class Value(BaseModel, frozen=True):
    model_config = ConfigDict(extra="forbid")


def _spread(value: object) -> object:
    if isinstance(value, str):
        return {"any_of": [value]}
    return {"any_of": cast("list[object]", value)} if isinstance(value, list) else value


def _split(value: object) -> object:
    return value.split("|") if isinstance(value, str) else value


def _check_category(category: str) -> str:
    if category not in CATEGORIES:
        raise ValueError(f"{category!r} is not a category")
    return category


def _check_group(group: str) -> str:
    if not [word for word in group.split() if not word.startswith("!")]:
        raise ValueError(f"{group!r} has only excluded words: add one that a fact must contain")
    return group


class Label(Value, frozen=True):
    """A statement that a fact can make."""

    any_of: Annotated[tuple[Annotated[str, AfterValidator(_check_group)], ...], Field(min_length=1)]
    category: Annotated[tuple[Annotated[str, AfterValidator(_check_category)], ...], BeforeValidator(_split)] = ()
    """Allowed categories of such a fact; empty: any."""

    def matches(self, content: str) -> bool:
        """Return whether a fact with this *content* makes the statement."""
        return any(_matches_group(content, group) for group in self.any_of)


Labels = tuple[Annotated[Label, BeforeValidator(_spread)], ...]


def _matches_group(content: str, group: str) -> bool:
    return all(
        not _has_any(content, word[1:]) if word.startswith("!") else _has_any(content, word) for word in group.split()
    )


def _has_any(content: str, alternatives: str) -> bool:
    return any(_has(content, word) for word in alternatives.split("|"))


def _has(content: str, word: str) -> bool:
    text, word = fold(content), fold(word)
    if _ONE_HAN.search(word):
        return _remove_spaces(word) in _remove_spaces(text)
    if _pattern(word).search(text):
        return True
    return stem(word) in {stem(token) for token in _TOKEN.findall(text)}


def _remove_spaces(text: str) -> str:
    return "".join(text.split())


@functools.cache
def _pattern(word: str) -> re.Pattern[str]:
    inner = re.escape(word).replace(r"\*", "[a-z0-9]*")
    return re.compile(rf"(?<![a-z0-9]){inner}(?![a-z0-9])")


# -- conversations --------------------------------------------------------------------------------------


class Message(Value, frozen=True):
    """A message; `tool` is the result of a tool call."""

    role: Literal["human", "ai", "tool"]
    text: Annotated[str, Field(min_length=1)]


def _read_message(value: object) -> object:
    """Read a message of the form `human: text`."""
    message = cast("dict[str, object]", value if isinstance(value, dict) else {})
    if len(message) != 1:
        return cast("object", value)
    ((role, text),) = message.items()
    return {"role": role, "text": text}


class Known(Value, frozen=True):
    """A fact that was known before the conversation."""

    content: str
    category: Annotated[str, AfterValidator(_check_category)]


class Conversation(Value, frozen=True):
    """A conversation and its labels."""

    id: str
    language: str
    kind: str
    """The difficulty that it tests."""
    memory: tuple[Known, ...] = ()
    """Facts known before the conversation."""
    messages: Annotated[tuple[Annotated[Message, BeforeValidator(_read_message)], ...], Field(min_length=1)]
    should: Labels = ()
    may: Labels = ()
    """True of the user, but optional."""
    must_not: Labels = ()
    known: Labels = ()
    """Statements of the initial memory; storing one again is a duplicate."""
    outdated: Labels = ()
    """Statements of the initial memory that are no longer true."""
    never: tuple[str, ...] = ()
    """Secrets: texts that must not occur anywhere in the memory."""
    correction: bool = False
    """Whether the user corrects the assistant."""


def read_set(language: str) -> list[Conversation]:
    """Read the conversations in `en` or `zh`."""
    read = cast("Sequence[dict[str, Any]]", yaml.safe_load(path_of(language).read_text("utf-8")))
    return [Conversation.model_validate({**item, "language": language}) for item in read]


def path_of(language: str) -> Path:
    """Return the file of the conversations in *language*."""
    return HERE / f"extraction.{language}.yaml"


def all_conversations() -> Iterator[Conversation]:
    """Yield the conversations of every language."""
    for language in LANGUAGES:
        yield from read_set(language)
